//! Where jobs and sessions work: which workspace a directory lies in, and workspaces that are served because somebody has
//! something done there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_core::actor::Surface;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::session::Workspace;
use countersign_store::{EngineStart, StoreError};

use crate::Broker;
use crate::error::BrokerError;
use crate::jobs::handing_in::JobWish;
use crate::settings::{EngineChoice, Settings, WorkspaceList};
use crate::supervisor::Supervisor;

impl Broker {
    /// The workspace that a job is handed in for.
    pub(super) async fn place_of_job(
        &self,
        caller: &Caller,
        wish: &JobWish,
    ) -> Result<Workspace, BrokerError> {
        let directory = wish.directory.as_deref();
        self.meant_place(caller, directory, wish.workspace).await
    }

    /// The workspace that is meant by a directory in it, or by its id, else the caller's own, else the first. A directory
    /// that is not served yet is from now on, by the next server too, if the owner at this machine wants it.
    pub(crate) async fn meant_place(
        &self,
        caller: &Caller,
        directory: Option<&str>,
        named: Option<WorkspaceId>,
    ) -> Result<Workspace, BrokerError> {
        let Some(directory) = directory else {
            let id = self.meant_workspace(caller, named)?;
            return Ok(self.supervisor(id)?.workspace().clone());
        };
        let directory = resolved(directory)?;
        if let Some(workspace) = self.served_around(&directory) {
            return Ok(workspace);
        }
        // To serve a folder is to let agents work in it: that is the owner's, and from this machine.
        caller.require(Grant::Administer)?;
        if caller.surface() != Surface::Cli || caller.workspace().is_some() {
            return Err(BrokerError::Invalid {
                field: "directory",
                problem: format!(
                    "lies in no workspace that this server serves: {}; only the owner at this machine can add one",
                    directory.display()
                ),
            });
        }
        let root = repository_around(&directory);
        let path = root.to_str().ok_or_else(|| BrokerError::Invalid {
            field: "directory",
            problem: "is not UTF-8".to_owned(),
        })?;
        let name = root
            .file_name()
            .map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into());
        let workspace = self.serve(path, &name).await?;
        match self.settings.changes.workspaces {
            WorkspaceList::Ours => {
                let (by, now) = (caller.actor(), self.clock.now());
                self.store
                    .keep_workspace(&workspace, EngineStart::WhenNeeded, by, now)
                    .await?;
            }
            // What is served at the next start is said there.
            WorkspaceList::Elsewhere => {}
        }
        Ok(workspace)
    }

    /// The workspace around a directory that is served, the nearest if there are several.
    pub(super) fn served_around(&self, directory: &Path) -> Option<Workspace> {
        let all = self.supervisors.all();
        all.iter()
            .map(Supervisor::workspace)
            .filter(|workspace| directory.starts_with(&workspace.path))
            .max_by_key(|workspace| workspace.path.len())
            .cloned()
    }

    /// The workspace around a directory that somebody names, served now or once, if the caller may see it.
    pub async fn workspace_of_directory(
        &self,
        caller: &Caller,
        directory: &str,
    ) -> Result<Option<WorkspaceId>, BrokerError> {
        caller.require(Grant::Read)?;
        let Ok(directory) = resolved(directory) else {
            return Ok(None);
        };
        let mut found = self.served_around(&directory).map(|workspace| workspace.id);
        if found.is_none() {
            for ancestor in directory.ancestors().filter_map(Path::to_str) {
                found = self.store.workspace_at(ancestor).await?;
                if found.is_some() {
                    break;
                }
            }
        }
        Ok(found.filter(|workspace| caller.sees(*workspace)))
    }

    /// A workspace that the ledger knows, served from now on if it was not.
    pub(super) async fn serve_known(&self, id: WorkspaceId) -> Result<Workspace, BrokerError> {
        if let Some(supervisor) = self.supervisors.of(id) {
            return Ok(supervisor.workspace().clone());
        }
        let workspace = self.store.workspace(id).await?;
        let workspace = workspace.ok_or_else(|| BrokerError::missing("workspace", id))?;
        Ok(self.serve(&workspace.path, &workspace.name).await?)
    }

    /// Serves the workspaces in which jobs have not ended.
    pub(crate) async fn serve_jobs(&self) -> Result<(), StoreError> {
        for id in self.store.workspaces_with_jobs().await? {
            if self.supervisors.of(id).is_none()
                && let Some(workspace) = self.store.workspace(id).await?
            {
                self.serve(&workspace.path, &workspace.name).await?;
            }
        }
        Ok(())
    }

    /// Serves a workspace; an engine of ours is started in it when it is needed.
    pub(crate) async fn serve(&self, path: &str, name: &str) -> Result<Workspace, StoreError> {
        let engine = match &self.settings.engine {
            EngineChoice::Start { program, inherit } => EngineChoice::StartWhenCalled {
                program: program.clone(),
                inherit: inherit.clone(),
            },
            other @ (EngineChoice::None
            | EngineChoice::StartWhenCalled { .. }
            | EngineChoice::Attach(_)
            | EngineChoice::AttachWhenCalled(_)) => other.clone(),
        };
        let settings = Settings {
            engine,
            ..Settings::clone(&self.settings)
        };
        self.begin_workspace(path, name, &Arc::new(settings)).await
    }
}

fn resolved(directory: &str) -> Result<PathBuf, BrokerError> {
    folder(directory, "directory")
}

/// The folder that `directory` leads to, which is there; `field` is where it was said.
pub(crate) fn folder(directory: &str, field: &'static str) -> Result<PathBuf, BrokerError> {
    let path = Path::new(directory);
    let problem = |problem: String| BrokerError::Invalid { field, problem };
    if !path.is_absolute() {
        return Err(problem("must be an absolute path".to_owned()));
    }
    let resolved = path
        .canonicalize()
        .map_err(|error| problem(format!("cannot be used: {error}")))?;
    if resolved.is_dir() {
        Ok(resolved)
    } else {
        Err(problem("is not a directory".to_owned()))
    }
}

/// The root of the git repository around a directory, or the directory itself.
fn repository_around(directory: &Path) -> PathBuf {
    directory
        .ancestors()
        .find(|ancestor| ancestor.join(".git").exists())
        .unwrap_or(directory)
        .to_owned()
}
