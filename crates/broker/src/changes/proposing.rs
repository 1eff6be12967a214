//! A change on its way: looked at, proposed as it was seen, allowed, written, recorded.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::ask::Ask;
use countersign_core::delivery::Evidence;
use countersign_core::digest::Digest;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::session::FileDiff;
use countersign_engine::acp::tool_call::patience;
use countersign_store::Record;
use countersign_workspace::{Applied, ApplyError, Change, Plan, Prepared, Workspace};
use serde_json::json;
use tokio::sync::oneshot;

use super::wording;
use crate::Broker;
use crate::error::BrokerError;
use crate::settings::WriteMode;
use crate::writes::{Leave, Proposal, ProposedFile, Verdict};

/// How long a proposal stays open if the server is not told how long asks do.
const OPEN_FOR: Duration = Duration::from_hours(24);

/// What a change would come to, as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePreview {
    /// What it is called.
    pub action: &'static str,
    /// What it does, in a sentence.
    pub summary: String,
    /// The change of each file.
    pub files: Vec<FileDiff>,
    /// Identifies the files as they are and as they would be.
    pub digest: Digest,
    /// Whether anything would be different.
    pub is_changed: bool,
    /// The file as it is now, if it is another than the one that was read.
    pub newer: Option<NewerFile>,
    /// Whether somebody else has to allow it.
    pub is_asked: bool,
}

/// A file that changed since it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerFile {
    /// What is in it; nothing if it is gone, or no text.
    pub text: Option<String>,
    /// Identifies it; nothing if it is gone.
    pub digest: Option<Digest>,
}

/// What was read before somebody made a change of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Nobody says what was read.
    Unsaid,
    /// A file with this digest, or that there was none.
    Read(Option<Digest>),
}

/// What became of a proposal.
#[derive(Debug)]
pub enum Proposed {
    /// It waits for somebody else.
    Asked(Box<Ask>),
    /// It is written.
    Written(Written),
    /// There is nothing to write: the files say that already.
    Unchanged,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Identifies the bytes.
    pub digest: Digest,
}

impl Broker {
    /// Tells what a change would come to. Nothing is changed by it.
    pub async fn preview_change(
        &self,
        caller: &Caller,
        id: WorkspaceId,
        change: Change,
        basis: Basis,
    ) -> Result<ChangePreview, BrokerError> {
        self.require_writable(caller, id)?;
        let plan = self.look(id, move |files| files.plan(&change)).await?;
        let files = self.files_of(id)?;
        Ok(self.shown(caller, id, &files, &plan, basis))
    }

    /// Proposes a change whose preview has the digest `seen`: it is written when somebody else allows it, or at once
    /// where nobody has to be asked.
    pub async fn propose_change(
        &self,
        caller: &Caller,
        id: WorkspaceId,
        change: Change,
        seen: Digest,
    ) -> Result<Proposed, BrokerError> {
        self.require_writable(caller, id)?;
        let files = self.files_of(id)?;
        let plan = self.look(id, move |files| files.plan(&change)).await?;
        if binding(&plan) != seen {
            let shown = self.shown(caller, id, &files, &plan, Basis::Unsaid);
            return Err(BrokerError::Changed(Box::new(shown)));
        }
        if !plan.changed {
            return Ok(Proposed::Unchanged);
        }
        if self.is_asked(caller, id) {
            return self.ask_for(caller, id, files, plan).await;
        }
        let (broker, caller) = (self.clone(), caller.clone());
        // What is on the disk is in the ledger too, whoever waits for it.
        let writing = self.tasks.spawn(async move {
            let applied = broker.apply(&files, plan.clone()).await?;
            let records = vec![record(&plan, &applied)];
            let (by, now) = (caller.actor(), broker.clock.now());
            broker.store.record_write(id, by, records, now).await?;
            Ok(Proposed::Written(Written {
                digest: applied.digest,
            }))
        });
        writing.await.unwrap_or(Err(BrokerError::Stopping))
    }

    /// Opens the ask, and has a task of its own write the change when it is allowed.
    async fn ask_for(
        &self,
        caller: &Caller,
        id: WorkspaceId,
        files: Arc<Workspace>,
        plan: Plan,
    ) -> Result<Proposed, BrokerError> {
        let (action, summary) = wording::of(&plan.change);
        let changes: Vec<_> = plan
            .files
            .iter()
            .map(|it| ProposedFile::of(&files, it.clone()))
            .collect();
        let proposal = Proposal {
            workspace: id,
            action: action.to_owned(),
            summary,
            paths: plan
                .files
                .iter()
                .map(|file| file.absolute(files.path(), files.home().path()))
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
            changes,
            wire_actor: json!({ "type": "remote" }),
            expires_in: self.ask_expiry.unwrap_or(OPEN_FOR),
            fingerprint: plan.effect.digest(),
        };
        let (tell, told) = oneshot::channel::<Ask>();
        let (broker, caller) = (self.clone(), caller.clone());
        let seeing_through = self.tasks.spawn(async move {
            let opened = move |ask: &Ask| {
                // Whoever proposed it may be gone: it waits nevertheless.
                drop(tell.send(ask.clone()));
            };
            match broker.propose_telling(&caller, proposal, opened).await? {
                Verdict::Allowed(leave) => broker.write_allowed(&caller, &files, plan, leave).await,
                Verdict::Denied { .. } | Verdict::Expired { .. } => Ok(()),
            }
        });
        match told.await {
            Ok(ask) => {
                // Whoever is given its name goes away with it.
                self.store.sync().await?;
                Ok(Proposed::Asked(Box::new(ask)))
            }
            // It ended before it was open; it says why.
            Err(_) => match seeing_through.await {
                Ok(Err(error)) => Err(error),
                Ok(Ok(())) | Err(_) => Err(BrokerError::Stopping),
            },
        }
    }

    async fn write_allowed(
        &self,
        caller: &Caller,
        files: &Arc<Workspace>,
        plan: Plan,
        leave: Leave,
    ) -> Result<(), BrokerError> {
        match self.apply(files, plan.clone()).await {
            Ok(applied) => {
                let evidence = Evidence::FilesWritten {
                    digest: applied.digest,
                };
                let records = vec![record(&plan, &applied)];
                self.wrote(caller, leave, (evidence, None), records).await
            }
            Err(error) => self.could_not_write(leave, &error.to_string()).await,
        }
    }

    async fn apply(&self, files: &Arc<Workspace>, plan: Plan) -> Result<Applied, BrokerError> {
        let files = Arc::clone(files);
        let applying = self
            .tasks
            .spawn_blocking(move || files.apply(&plan, Prepared::default()));
        match applying.await.map_err(|_| BrokerError::Stopping)? {
            Ok(applied) => Ok(applied),
            Err(ApplyError::Refused(refusal)) => Err(refusal.into()),
            Err(error @ ApplyError::Changed) => Err(BrokerError::Conflict(error.to_string())),
            Err(error @ (ApplyError::Write { .. } | ApplyError::HalfDone { .. })) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "files of a workspace could not be written"
                );
                Err(BrokerError::Conflict(error.to_string()))
            }
        }
    }

    fn require_writable(&self, caller: &Caller, id: WorkspaceId) -> Result<(), BrokerError> {
        caller.require_in(Grant::Propose, id)?;
        if self.settings.changes.writes == WriteMode::ReadOnly {
            let message = "this server writes no files: it was started read-only";
            return Err(BrokerError::Conflict(message.to_owned()));
        }
        Ok(())
    }

    fn shown(
        &self,
        caller: &Caller,
        id: WorkspaceId,
        files: &Workspace,
        plan: &Plan,
        basis: Basis,
    ) -> ChangePreview {
        let (action, summary) = wording::of(&plan.change);
        let deadline = patience();
        let changes = plan.files.iter();
        ChangePreview {
            action,
            summary,
            files: changes
                .map(|file| ProposedFile::of(files, file.clone()).shown(deadline))
                .collect(),
            digest: binding(plan),
            is_changed: plan.changed,
            newer: newer(plan, basis),
            is_asked: self.is_asked(caller, id),
        }
    }
}

/// What is in the one file that a change is of, if that is something else than what was read.
fn newer(plan: &Plan, basis: Basis) -> Option<NewerFile> {
    let (Basis::Read(read), [file]) = (basis, plan.files.as_slice()) else {
        return None;
    };
    let now = file.before.as_deref();
    let digest = now.map(Digest::of_bytes);
    (digest != read).then(|| NewerFile {
        text: now.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()),
        digest,
    })
}

/// Identifies what files are and would be: what was shown is what is proposed.
fn binding(plan: &Plan) -> Digest {
    let is_there = |content: &Option<Vec<u8>>| -> &'static [u8] {
        if content.is_some() { b"is" } else { b"is not" }
    };
    let parts = plan.files.iter().flat_map(|file| {
        [
            file.path.as_os_str().as_encoded_bytes(),
            is_there(&file.before),
            file.before.as_deref().unwrap_or_default(),
            is_there(&file.after),
            file.after.as_deref().unwrap_or_default(),
        ]
    });
    Digest::of_parts(parts)
}

fn record(plan: &Plan, applied: &Applied) -> Record {
    let (action, summary) = wording::of(&plan.change);
    let paths = applied.files.iter().map(|file| file.path.to_string_lossy());
    let paths: Vec<_> = paths.collect();
    Record {
        action: action.to_owned(),
        subject: paths.join(", "),
        detail: json!({ "summary": summary, "digest": applied.digest }),
    }
}
