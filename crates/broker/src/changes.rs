//! What a workspace holds for its agents, read and changed by people: configuration, skills, commands, plugins and MCP
//! servers.
//!
//! Reading never writes. A change is looked at first (`preview`), and proposed by the digest of what was shown; it is
//! written when somebody else allows it, or at once where nobody has to be asked.

mod place;
mod proposing;
mod wording;

pub use place::{Problem, problems_of};
pub use proposing::{Basis, ChangePreview, NewerFile, Proposed, Written};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_core::digest::Digest;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_workspace::export::Export;
use countersign_workspace::secrets::{self, Warning};
use countersign_workspace::{
    Command, Home, Listing, McpServer, Plugin, Reach, Refusal, Scope, Skill, SkillText, Workspace,
};

use crate::Broker;
use crate::error::BrokerError;
use crate::settings::WriteMode;

/// The files of the workspaces that somebody looked into; each remembers what it read.
#[derive(Clone, Default)]
pub(crate) struct FilesOfAll(Arc<Mutex<HashMap<WorkspaceId, Arc<Workspace>>>>);

/// What a workspace holds for its agents.
#[derive(Debug)]
pub struct Holdings {
    /// opencode's configuration.
    pub config: ConfigHeld,
    /// The skills that count there.
    pub skills: Listing<Skill>,
    /// The commands of the workspace.
    pub commands: Listing<Command>,
    /// The plugins that count there; nothing if the configuration cannot be read.
    pub plugins: Vec<Plugin>,
    /// The MCP servers that count there; nothing if the configuration cannot be read.
    pub mcp: Vec<McpServer>,
    /// Who is asked before files are written.
    pub mode: WriteMode,
    /// Whether the caller's own writes wait for somebody else.
    pub is_asked: bool,
}

/// opencode's configuration as it is written.
#[derive(Debug)]
pub struct ConfigHeld {
    /// Where it is, or would be.
    pub path: String,
    /// The whole file; nothing if there is none.
    pub text: Option<String>,
    /// Identifies it; nothing if there is none.
    pub digest: Option<Digest>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

/// Everything of a workspace that another one could take in.
#[derive(Debug)]
pub struct Exported {
    /// All of it.
    pub export: Export,
    /// What in it looks like a secret.
    pub warnings: Vec<Warning>,
}

impl FilesOfAll {
    fn of(&self, id: WorkspaceId, make: impl FnOnce() -> Workspace) -> Arc<Workspace> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(id).or_insert_with(|| Arc::new(make())))
    }

    /// Forgets what was read of a workspace.
    pub(crate) fn forget(&self, id: WorkspaceId) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&id);
    }
}

impl Broker {
    /// What a workspace holds for its agents.
    pub async fn holdings(
        &self,
        caller: &Caller,
        id: WorkspaceId,
    ) -> Result<Holdings, BrokerError> {
        caller.require_in(Grant::Read, id)?;
        let mode = self.settings.changes.writes;
        let is_asked = self.is_asked(caller, id);
        self.look(id, move |files| {
            let config = config_of(files)?;
            // What cannot be read is said once, with its place.
            let is_sound = config.problems.is_empty();
            Ok(Holdings {
                skills: files.skills(Reach::Everything)?,
                commands: files.commands(Scope::Project)?,
                plugins: if is_sound {
                    files.plugins(Reach::Everything)?
                } else {
                    Vec::new()
                },
                mcp: if is_sound {
                    files.mcp_in(Reach::Everything)?
                } else {
                    Vec::new()
                },
                config,
                mode,
                is_asked,
            })
        })
        .await
    }

    /// A skill with its text.
    pub async fn skill(
        &self,
        caller: &Caller,
        id: WorkspaceId,
        name: &str,
    ) -> Result<SkillText, BrokerError> {
        caller.require_in(Grant::Read, id)?;
        let name = name.to_owned();
        self.look(id, move |files| files.skill(&name, Reach::Everything))
            .await
    }

    /// Everything of a workspace that another one could take in.
    pub async fn export_workspace(
        &self,
        caller: &Caller,
        id: WorkspaceId,
    ) -> Result<Exported, BrokerError> {
        caller.require_in(Grant::Read, id)?;
        self.look(id, |files| {
            let export = files.export()?;
            let warnings = [&export.opencode, &export.openwork];
            let warnings = warnings
                .into_iter()
                .flat_map(|config| secrets::warnings(config));
            Ok(Exported {
                warnings: warnings.collect(),
                export,
            })
        })
        .await
    }

    /// Whether what the caller writes waits for somebody else.
    fn is_asked(&self, caller: &Caller, id: WorkspaceId) -> bool {
        match self.settings.changes.writes {
            WriteMode::Ask | WriteMode::ReadOnly => true,
            // Whoever may only propose is asked for: somebody is there who may approve.
            WriteMode::Auto => caller.require_in(Grant::Approve, id).is_err(),
        }
    }

    /// The files of a workspace that is served.
    fn files_of(&self, id: WorkspaceId) -> Result<Arc<Workspace>, BrokerError> {
        let supervisor = self.supervisor(id)?;
        let home = &self.settings.changes.home;
        Ok(self.holdings.of(id, || {
            Workspace::new(&supervisor.workspace().path, Home::new(home))
        }))
    }

    /// Looks at the files of a workspace where waiting for the disk is allowed.
    async fn look<T: Send + 'static>(
        &self,
        id: WorkspaceId,
        look: impl FnOnce(&Workspace) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, BrokerError> {
        let files = self.files_of(id)?;
        let looked = self.tasks.spawn_blocking(move || look(&files)).await;
        // It fails only by panicking, or with the runtime.
        Ok(looked.map_err(|_| BrokerError::Stopping)??)
    }
}

fn config_of(files: &Workspace) -> Result<ConfigHeld, Refusal> {
    let held = files.config_text(Scope::Project)?;
    let problems = match &held.text {
        Some(text) => place::problems_in(text),
        None => Vec::new(),
    };
    Ok(ConfigHeld {
        path: held.path.to_string_lossy().into_owned(),
        digest: held
            .text
            .as_ref()
            .map(|text| Digest::of_bytes(text.as_bytes())),
        text: held.text,
        problems,
    })
}
