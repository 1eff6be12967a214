//! Which workspaces are served: they are added, called otherwise and removed while the server runs, and their engines
//! are begun anew or told to read their configuration again.
//!
//! What somebody adds, on the page or by having something done there, is served by the next server too; what the command line names is served at every start. Removing
//! ends everything that runs in a workspace and keeps its ledger and its files.

use std::path::Path;
use std::time::Duration;

use countersign_core::actor::Actor;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::session::Workspace;
use countersign_store::{EngineStart, Record, StoreError};
use serde_json::json;

use crate::Broker;
use crate::error::BrokerError;
use crate::jobs::folder;
use crate::settings::WorkspaceList;
use crate::supervisor::Hold;

/// The longest name of a workspace, in characters.
const NAME: usize = 80;
/// Why the runs of a workspace end that is removed.
const REMOVED: &str = "the workspace was removed";
/// How long an engine is waited for that is to read its configuration.
const LINK_LIMIT: Duration = Duration::from_secs(5);

impl Broker {
    /// Serves the folder `path` from now on; it is called as its folder is, unless `name` says otherwise.
    pub async fn serve_workspace(
        &self,
        caller: &Caller,
        path: &str,
        name: Option<&str>,
    ) -> Result<Workspace, BrokerError> {
        // Whoever may act in one workspace alone brings no other.
        caller.require_everywhere(Grant::Administer)?;
        self.require_list(caller)?;
        let path = folder(path, "path")?;
        let data = &self.settings.data_directory;
        let data = data.canonicalize().unwrap_or_else(|_| data.clone());
        // An agent that works there could change what proves what it did.
        if path.starts_with(&data) || data.starts_with(&path) {
            let problem = "holds the ledger, or lies in its folder: no agent may work there";
            return Err(invalid("path", problem));
        }
        let usual = || {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let name = match name {
            Some(name) => checked(name)?,
            None => usual().unwrap_or_else(|| path.display().to_string()),
        };
        let path = path
            .to_str()
            .ok_or_else(|| invalid("path", "is not UTF-8"))?;
        let is_served = |(served, _): &(Workspace, _)| served.path == path;
        if self.workspaces().iter().any(is_served) {
            let message = format!("`{path}` is served already");
            return Err(BrokerError::Conflict(message));
        }
        let workspace = self.serve(path, &name).await?;
        // Whoever adds it wants to work in it.
        self.call_engine(workspace.id);
        let workspace = Workspace { name, ..workspace };
        self.call_it(&workspace, caller.actor()).await?;
        let now = self.clock.now();
        self.store
            .keep_workspace(&workspace, EngineStart::WithServer, caller.actor(), now)
            .await?;
        Ok(workspace)
    }

    /// Calls a workspace otherwise.
    pub async fn rename_workspace(
        &self,
        caller: &Caller,
        id: WorkspaceId,
        name: &str,
    ) -> Result<Workspace, BrokerError> {
        caller.require_in(Grant::Administer, id)?;
        self.require_list(caller)?;
        let known = self.supervisor(id)?.workspace().clone();
        let name = checked(name)?;
        let workspace = Workspace { name, ..known };
        self.call_it(&workspace, caller.actor()).await?;
        Ok(workspace)
    }

    /// Removes a workspace: everything that runs in it is ended, what waits there is withdrawn. Its files and its
    /// ledger stay.
    pub async fn remove_workspace(
        &self,
        caller: &Caller,
        id: WorkspaceId,
    ) -> Result<(), BrokerError> {
        caller.require_in(Grant::Administer, id)?;
        self.require_list(caller)?;
        let workspace = self.supervisor(id)?.workspace().clone();
        let with_jobs = self.store.workspaces_with_jobs().await?;
        if with_jobs.contains(&id) {
            let message = "jobs have not ended in this workspace; cancel them first";
            return Err(BrokerError::Conflict(message.to_owned()));
        }
        let (broker, by) = (self.clone(), caller.actor().clone());
        // Whoever asked may not wait for it; what was begun is brought to an end.
        let removing = self.tasks.spawn(async move {
            let now = broker.clock.now();
            broker.leave_workspace(id).await?;
            broker.store.release_workspace(&workspace, &by, now).await
        });
        Ok(removing.await.map_err(|_| BrokerError::Stopping)??)
    }

    /// Ends everything that runs in a workspace, and withdraws what waits there: it is served no more.
    pub async fn leave_workspace(&self, id: WorkspaceId) -> Result<(), StoreError> {
        let mut changing = self.supervisors.adding().await;
        let Some(supervisor) = self.supervisors.of(id) else {
            return Ok(());
        };
        changing.take(id);
        self.holdings.forget(id);
        // Whatever the ledger says to the rest, nothing is left running.
        supervisor.stop().await;
        self.withdraw_writes(id).await?;
        self.agents.leave_workspace(id).await?;
        // What somebody else runs goes on there; nobody listens to it here any more.
        for engine in self.store.engines(id).await? {
            for run in self.store.unended_runs(engine.id).await? {
                let now = self.clock.now();
                self.store.end_run(id, run.id, REMOVED, now).await?;
            }
        }
        Ok(())
    }

    /// Has the engine of a workspace end, with everything that it started, and begin another life.
    pub async fn restart_engine(
        &self,
        caller: &Caller,
        id: WorkspaceId,
    ) -> Result<(), BrokerError> {
        caller.require_in(Grant::Administer, id)?;
        let supervisor = self.supervisor(id)?;
        match supervisor.hold() {
            Hold::Ours => {}
            Hold::None => {
                return Err(BrokerError::Unable(
                    "this workspace has no engine of its own".to_owned(),
                ));
            }
            Hold::Foreign => {
                return Err(BrokerError::Unable(
                    "somebody else runs this opencode: it can be reloaded here, and restarted there"
                        .to_owned(),
                ));
            }
        }
        self.note_deed(caller, id, "engine.restart").await?;
        supervisor.restart();
        Ok(())
    }

    /// Has the engine of a workspace read its configuration anew. What it is doing there ends.
    pub async fn reload_engine(&self, caller: &Caller, id: WorkspaceId) -> Result<(), BrokerError> {
        caller.require_in(Grant::Administer, id)?;
        let supervisor = self.supervisor(id)?;
        if supervisor.hold() == Hold::None {
            return Err(BrokerError::Unable(
                "this workspace has no engine of its own".to_owned(),
            ));
        }
        let link = supervisor.await_link(LINK_LIMIT).await?;
        let path = &supervisor.workspace().path;
        link.client
            .dispose(path)
            .await
            .map_err(BrokerError::Engine)?;
        supervisor.look_again();
        self.note_deed(caller, id, "engine.reload").await
    }

    /// Serves the workspaces that somebody added.
    pub(crate) async fn serve_kept(&self) -> Result<(), StoreError> {
        if self.settings.changes.workspaces == WorkspaceList::Elsewhere {
            return Ok(());
        }
        // A server that commands started is for their jobs alone: each engine waits until it is needed.
        let is_attended = !self.settings.workspaces.is_empty();
        for (workspace, start) in self.store.kept_workspaces().await? {
            if Path::new(&workspace.path).is_dir() {
                self.serve(&workspace.path, &workspace.name).await?;
                if is_attended && start == EngineStart::WithServer {
                    self.call_engine(workspace.id);
                }
            } else {
                tracing::warn!(
                    workspace.id = %workspace.id,
                    "`{}` is not there: its workspace is not served",
                    workspace.path
                );
            }
        }
        Ok(())
    }

    async fn call_it(&self, workspace: &Workspace, by: &Actor) -> Result<(), BrokerError> {
        let mut changing = self.supervisors.adding().await;
        let known = self.supervisor(workspace.id)?;
        if known.workspace().name == workspace.name {
            return Ok(());
        }
        let now = self.clock.now();
        self.store.rename_workspace(workspace, by, now).await?;
        changing.rename(workspace);
        Ok(())
    }

    fn require_list(&self, caller: &Caller) -> Result<(), BrokerError> {
        caller.require(Grant::Administer)?;
        match self.settings.changes.workspaces {
            WorkspaceList::Ours => Ok(()),
            WorkspaceList::Elsewhere => Err(BrokerError::Conflict(
                "the workspaces of this server are those of its OpenWork configuration: change them there"
                    .to_owned(),
            )),
        }
    }

    async fn note_deed(
        &self,
        caller: &Caller,
        workspace: WorkspaceId,
        action: &str,
    ) -> Result<(), BrokerError> {
        let record = Record {
            action: action.to_owned(),
            subject: workspace.to_string(),
            detail: json!({}),
        };
        let now = self.clock.now();
        self.store
            .record(workspace, caller.actor(), vec![record], now)
            .await?;
        Ok(())
    }
}

/// A name that a workspace can have.
fn checked(name: &str) -> Result<String, BrokerError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > NAME || name.chars().any(char::is_control) {
        let problem = "must be 1 to 80 characters on one line";
        return Err(invalid("name", problem));
    }
    Ok(name.to_owned())
}

fn invalid(field: &'static str, problem: &str) -> BrokerError {
    BrokerError::Invalid {
        field,
        problem: problem.to_owned(),
    }
}
