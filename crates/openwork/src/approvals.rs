//! Writes that wait for somebody's word: asks in the ledger, and how OpenWork's clients see them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
pub(crate) struct Record {
    workspace_id: String,
    action: String,
    summary: String,
    paths: Vec<String>,
    actor: WireActor,
    id: String,
    created_at: i64,
}

/// What `GET /approvals` answers. Clients look there again and again, as nobody tells them when to.
#[derive(Default)]
pub(crate) struct Listed {
    /// What was last answered, and as of when.
    last: Mutex<Option<(AsOf, Bytes)>>,
    /// How many proposals have come into the ledger, or have not and never will: that is announced later.
    come: Arc<AtomicU64>,
    /// Who proposes holds it for reading until the proposal is in the ledger.
    coming: Arc<RwLock<()>>,
}

/// The newest event, and how many proposals had come.
type AsOf = (i64, u64);

/// A proposal that is on its way into the ledger: whoever looks for it there waits until this is dropped.
pub(crate) struct OnItsWay {
    come: Arc<AtomicU64>,
    _held: OwnedRwLockReadGuard<()>,
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        // Before the lock is let go of, so whoever waited for that sees it.
        self.come.fetch_add(1, Ordering::Release);
    }
}

impl Listed {
    /// Says that a proposal came.
    pub(crate) async fn announce(&self) -> OnItsWay {
        OnItsWay {
            come: Arc::clone(&self.come),
            _held: Arc::clone(&self.coming).read_owned().await,
        }
    }

    /// Waits until every proposal that has come by now is in the ledger: a client that sent one before it looks finds
    /// it.
    async fn await_coming(&self) {
        drop(self.coming.write().await);
    }

    /// The answer, if nothing has happened since then.
    fn since(&self, then: AsOf) -> Option<Bytes> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, listing) = last.as_ref()?;
        (*at == then).then(|| listing.clone())
    }

    fn keep(&self, as_of: AsOf, listing: Bytes) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((as_of, listing));
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
        let on_its_way = self.approvals.announce().await;
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
        self.approvals.await_coming().await;
        // Before the ledger is read: what changes meanwhile raises one of them.
        let come = self.approvals.come.load(Ordering::Acquire);
        let as_of = (*self.broker.head().borrow(), come);
        if let Some(listing) = self.approvals.since(as_of) {
            return Ok(listing);
        }
        let seats = self.roster.all();
        let asks = self.broker.open_writes(&host.granted()).await?;
        let records = asks.into_iter().filter_map(|ask| {
            let seat = seats.iter().find(|seat| seat.ledger == ask.workspace)?;
            Record::of(ask, &seat.entry.id)
        });
        let items: Vec<Record> = records.collect();
        let listing = reply::compact(&Items { items });
        self.approvals.keep(as_of, listing.clone());
        Ok(listing)
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

impl Record {
    fn of(ask: Ask, workspace: &str) -> Option<Self> {
        let Subject::WorkspaceWrite {
            action,
            summary,
            paths,
            wire_actor,
            ..
        } = ask.subject
        else {
            return None;
        };
        Some(Self {
            workspace_id: workspace.to_owned(),
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
