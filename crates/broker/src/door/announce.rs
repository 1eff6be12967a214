//! The programs that hand asks in announce themselves: where they work, and which process they are.

use std::path::Path;

use countersign_core::event::EnginePhase;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{RunId, WorkspaceId};
use countersign_core::session::Workspace;
use countersign_engine::process::{ProcessIdentity, tree};

use crate::Broker;
use crate::door::Program;
use crate::door::lives::Heard;
use crate::error::BrokerError;
use crate::supervisor::Supervisor;

/// The longest text that names a version.
const VERSION_LIMIT: usize = 80;

/// A program that is about to hand asks in.
#[derive(Debug, Clone)]
pub struct Announced {
    /// What it is.
    pub program: Program,
    /// The directory it works in.
    pub directory: String,
    /// Its version.
    pub version: String,
    /// Its process, if it is one of this machine.
    pub process: Option<u32>,
}

impl Broker {
    /// Begins a life of the caller's program.
    pub async fn begin_door_run(
        &self,
        caller: &Caller,
        announced: Announced,
    ) -> Result<RunId, BrokerError> {
        caller.require(Grant::Ask)?;
        let program = announced.program;
        let version = checked_version(announced.version)?;
        let (workspace, directory) = self.workspace_around(&announced.directory).await?;
        caller.require_in(Grant::Ask, workspace.id)?;
        let process = checked_process(announced.process)?;
        let name = program.engine_of(caller.actor());
        let now = self.clock.now();
        let engine = self.store.ensure_engine(workspace.id, &name, now).await?;
        let run = self.store.begin_run(&engine, now).await?.id;
        if let Some(process) = process {
            self.keep_process(run, process).await?;
        }
        let heard = Heard {
            workspace: workspace.id,
            program,
        };
        self.doors.begin(run, heard, name, process);
        let title = program.title();
        let message = format!("{title} {version} hands its asks in from {directory}");
        self.store
            .set_run_state(workspace.id, run, EnginePhase::Ready, &message, now)
            .await?;
        Ok(run)
    }

    /// Notes that a program is still there.
    pub async fn hear_door_run(
        &self,
        caller: &Caller,
        run: RunId,
        process: Option<u32>,
    ) -> Result<(), BrokerError> {
        self.doors.hear(caller, run)?;
        if let Some(process) = checked_process(process)?
            && self.doors.identify(run, process)
        {
            self.keep_process(run, process).await?;
        }
        Ok(())
    }

    /// Writes down which process a life is: the next server refuses what descends from it from its first moment on.
    async fn keep_process(&self, run: RunId, process: ProcessIdentity) -> Result<(), BrokerError> {
        let text = serde_json::json!(process).to_string();
        Ok(self.store.set_run_process(run, &text).await?)
    }

    /// Ends a life, and with it every ask of it.
    pub async fn end_door_run(&self, caller: &Caller, run: RunId) -> Result<(), BrokerError> {
        let Heard { workspace, program } = self.doors.hear(caller, run)?;
        self.doors.close(run, program.has_ended());
        self.store
            .end_run(workspace, run, program.has_ended(), self.clock.now())
            .await?;
        self.doors.forget(run);
        Ok(())
    }

    pub(super) async fn directory_within(
        &self,
        workspace: WorkspaceId,
        directory: &str,
    ) -> Result<String, BrokerError> {
        let (around, resolved) = self.workspace_around(directory).await?;
        if around.id == workspace {
            return Ok(resolved);
        }
        Err(BrokerError::Invalid {
            field: "directory",
            problem: "is in another workspace than the one that was announced".to_owned(),
        })
    }

    /// The innermost workspace around a directory, and the directory itself, resolved.
    async fn workspace_around(&self, directory: &str) -> Result<(Workspace, String), BrokerError> {
        let resolved = match Path::new(directory) {
            path if path.is_absolute() => tokio::fs::canonicalize(path).await.ok(),
            _ => None,
        };
        let all = self.supervisors.all();
        let around = resolved.as_deref().and_then(|path| {
            all.iter()
                .map(Supervisor::workspace)
                .filter(|workspace| path.starts_with(&workspace.path))
                .max_by_key(|workspace| workspace.path.len())
        });
        // Whether a directory exists that is not served is nothing to tell.
        match (around, resolved.as_deref().and_then(Path::to_str)) {
            (Some(workspace), Some(resolved)) => Ok((workspace.clone(), resolved.to_owned())),
            _ => Err(BrokerError::Invalid {
                field: "directory",
                problem: "is in no workspace of this server: start it with \
                    `countersign serve --workspace DIRECTORY`"
                    .to_owned(),
            }),
        }
    }
}

fn checked_version(version: String) -> Result<String, BrokerError> {
    let fits =
        version.len() <= VERSION_LIMIT && version.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        return Ok(version);
    }
    Err(BrokerError::Invalid {
        field: "version",
        problem: format!("is no version: at most {VERSION_LIMIT} plain characters"),
    })
}

/// The process that a program says it is. One that the server itself descends from is not an agent's: taking
/// it for one would lock out the person at this machine.
fn checked_process(pid: Option<u32>) -> Result<Option<ProcessIdentity>, BrokerError> {
    let Some(process) = pid.and_then(ProcessIdentity::of) else {
        return Ok(None);
    };
    if tree::descends_from(std::process::id(), process).unwrap_or(true) {
        return Err(BrokerError::Invalid {
            field: "process",
            problem: "is the server's own, or one that it descends from".to_owned(),
        });
    }
    Ok(Some(process))
}
