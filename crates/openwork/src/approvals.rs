//! Writes that wait for somebody's word: asks in the ledger, and how OpenWork's clients see them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use countersign_broker::{Answered, BrokerError, Leave, Proposal, ProposedFile, Verdict};
use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, Subject};
use countersign_core::digest::Digest;
use countersign_core::id::AskId;
use countersign_workspace::FileChange;
use serde::{Deserialize as _, Serialize};
use serde_json::json;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};
use uuid::Uuid;

use crate::keys::{Caller, WireActor};
use crate::refusal::Refusal;
use crate::reply::{self, Items};
use crate::roster::Seat;
use crate::settings::Approval;
use crate::surface::OpenWork;
use crate::wire_time::millis;

/// What somebody else is asked before it is done.
pub(crate) struct Question {
    /// What kind of write, such as `plugins.add`.
    pub(crate) action: &'static str,
    /// What it is in words.
    pub(crate) summary: String,
    /// What it is about, as clients are told.
    pub(crate) paths: Vec<String>,
    /// What would become of which files.
    pub(crate) changes: Vec<FileChange>,
    /// Equal for the same wish, whatever else is in the files.
    pub(crate) fingerprint: Digest,
}

/// That something may be done.
pub(crate) enum Permit {
    /// Somebody said so, for this one time.
    Given(Leave),
    /// Nobody has to be asked.
    NotNeeded,
}

/// An open write as the host sees it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record<'a> {
    workspace_id: &'a str,
    action: &'a str,
    summary: &'a str,
    paths: &'a [String],
    actor: WireActor,
    id: String,
    created_at: i64,
}

/// Proposals that are on their way into the ledger. Whoever proposes holds it for reading until the proposal is there.
#[derive(Default)]
pub(crate) struct Coming(Arc<RwLock<()>>);

/// A proposal that is on its way into the ledger: whoever looks for it there waits until this is dropped.
pub(crate) struct OnItsWay {
    _held: OwnedRwLockReadGuard<()>,
}

impl Coming {
    /// Says that a proposal came.
    pub(crate) async fn announce(&self) -> OnItsWay {
        OnItsWay {
            _held: Arc::clone(&self.0).read_owned().await,
        }
    }

    /// Waits until every proposal that has come by now is in the ledger: a client that sent one before it looks finds
    /// it.
    async fn wait(&self) {
        drop(self.0.write().await);
    }
}

impl OpenWork {
    /// Whether nobody has to be asked.
    pub(crate) fn asks_nobody(&self) -> bool {
        self.settings.approval == Approval::Auto
    }

    /// Waits until somebody else allows what `caller` wants to do. Whoever stops waiting withdraws it.
    pub(crate) async fn permit(
        &self,
        caller: &Caller,
        seat: &Seat,
        question: Question,
    ) -> Result<Permit, Refusal> {
        let on_its_way = self.coming.announce().await;
        self.permit_coming(caller, seat, question, on_its_way).await
    }

    /// The same for what was announced before.
    pub(crate) async fn permit_coming(
        &self,
        caller: &Caller,
        seat: &Seat,
        question: Question,
        on_its_way: OnItsWay,
    ) -> Result<Permit, Refusal> {
        if self.asks_nobody() {
            return Ok(Permit::NotNeeded);
        }
        let proposal = Proposal {
            workspace: seat.ledger,
            action: question.action.to_owned(),
            summary: question.summary,
            paths: question.paths,
            changes: question
                .changes
                .into_iter()
                .map(|change| ProposedFile::of(&seat.files, change))
                .collect(),
            wire_actor: json!(caller.wire),
            expires_in: Duration::from_millis(self.settings.patience_ms),
            fingerprint: question.fingerprint,
        };
        let caller = caller.granted();
        let proposing = self.broker.propose(&caller, proposal, on_its_way);
        let (ask, reason) = match proposing.await {
            Ok(Verdict::Allowed(leave)) => return Ok(Permit::Given(leave)),
            Ok(Verdict::Denied { ask }) => (ask, "denied"),
            Ok(Verdict::Expired { ask }) => (ask, "timeout"),
            Err(BrokerError::Stopping) => {
                return Err(Refusal::new(
                    503,
                    "server_stopping",
                    "The server stops; nothing was written. Send it again when it is back",
                ));
            }
            Err(error) => return Err(error.into()),
        };
        let details = json!({ "requestId": wire_id(ask.id), "reason": reason });
        Err(Refusal::new(403, "write_denied", "Write request denied").with_details(details))
    }

    /// The writes that wait, in the order in which they came, as `GET /approvals` answers them.
    pub(crate) async fn open_writes(&self, host: &Caller) -> Result<Bytes, Refusal> {
        // What arrived together with this, and before it, may not have been taken up yet.
        tokio::task::yield_now().await;
        self.coming.wait().await;
        let seats = self.roster.all();
        let asks = self.broker.open_writes(&host.granted())?;
        let records = asks.iter().filter_map(|ask| {
            let seat = seats.iter().find(|seat| seat.ledger == ask.workspace)?;
            Record::of(ask, &seat.entry.id)
        });
        let items: Vec<Record<'_>> = records.collect();
        Ok(reply::compact(&Items { items }))
    }

    /// Answers the write called `id`. Of one that does not wait, or not any more, there is nothing to be said.
    pub(crate) async fn answer_write(
        &self,
        host: &Caller,
        id: &str,
        is_allowed: bool,
    ) -> Result<(), Refusal> {
        let choice = if is_allowed {
            Choice::AllowOnce
        } else {
            Choice::Deny { reason: None }
        };
        let id = Uuid::parse_str(id).map_err(|_| not_found())?;
        let host = host.granted();
        let answering = self
            .broker
            .answer_write(&host, AskId::from_uuid(id), choice);
        match answering.await {
            Ok(Answered::Won(_)) => Ok(()),
            Ok(
                Answered::Repeated(_) | Answered::Lost(_) | Answered::Over(_) | Answered::Missing,
            )
            | Err(BrokerError::Missing { .. }) => Err(not_found()),
            Err(error) => Err(error.into()),
        }
    }
}

impl<'a> Record<'a> {
    fn of(ask: &'a Ask, workspace_id: &'a str) -> Option<Self> {
        let Subject::WorkspaceWrite {
            action,
            summary,
            paths,
            wire_actor,
            ..
        } = &ask.subject
        else {
            return None;
        };
        Some(Self {
            workspace_id,
            action,
            summary,
            paths,
            actor: WireActor::deserialize(wire_actor).ok()?,
            id: wire_id(ask.id),
            created_at: millis(ask.opened_at),
        })
    }
}

fn wire_id(ask: AskId) -> String {
    ask.as_uuid().hyphenated().to_string()
}

fn not_found() -> Refusal {
    Refusal::new(404, "approval_not_found", "Approval request not found")
}
