//! One proposal on its way: opened, waited for, and ended whatever becomes of its client.

use std::time::Duration;

use countersign_core::actor::Actor;
use countersign_core::ask::{Ask, AskState, Withdrawal};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::id::AskId;
use countersign_core::session::Workspace;
use countersign_store::{StoreError, Writer};
use tokio::sync::{oneshot, watch};

use crate::Broker;
use crate::error::BrokerError;
use crate::writes::{Leave, Proposal, Verdict};

/// How soon it is tried again to end an ask, while the ledger does not answer.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Whom a proposal's outcome is told.
type Tell = oneshot::Sender<Result<Verdict, BrokerError>>;

/// A proposal that waits for its answer.
pub(super) struct Waiting {
    broker: Broker,
    workspace: Workspace,
    by: Actor,
    proposal: Proposal,
}

impl Waiting {
    pub(super) fn new(broker: Broker, workspace: Workspace, by: Actor, proposal: Proposal) -> Self {
        Self {
            broker,
            workspace,
            by,
            proposal,
        }
    }

    /// Sees the proposal through to its end, and tells it whoever is still there.
    pub(super) async fn see_through(self, mut tell: Tell, opened: impl FnOnce(&Ask) + Send) {
        let broker = self.broker.clone();
        if broker.writers.ending.is_cancelled() {
            // Nobody is left to be told if this fails.
            drop(tell.send(Err(BrokerError::Stopping)));
            return;
        }
        // From before it can be seen: an answer cannot come too early to be noticed.
        let mut head = broker.store.head();
        let ask = match self.open().await {
            Ok((ask, opened_at)) => {
                // If nothing has happened since, nothing has happened to it.
                if opened_at != Some(*head.borrow_and_update()) {
                    head.mark_changed();
                }
                ask
            }
            Err(error) => {
                drop(tell.send(Err(error)));
                return;
            }
        };
        opened(&ask);
        let id = ask.id;
        let verdict = broker.await_verdict(ask, head, &mut tell).await;
        let is_lost = verdict.is_err();
        // Leave that nobody takes is given back as it is dropped.
        drop(tell.send(verdict));
        if is_lost {
            broker.let_go(id, &Withdrawal::ClientGone).await;
        }
    }

    /// Writes the ask down, and tells the number of the event that says so.
    async fn open(self) -> Result<(Ask, Option<i64>), BrokerError> {
        let broker = self.broker;
        let key = (self.workspace.id, self.by.id);
        let now = broker.clock.now();
        let known = broker.writers.known().get(&key).copied();
        let writer: Writer = match known {
            Some(writer) => writer,
            None => broker.store.writer(&self.workspace, &self.by, now).await?,
        };
        broker.writers.known().insert(key, writer);
        let new = self
            .proposal
            .into_ask(self.by, &self.workspace, writer, now);
        let (opened, head) = broker.store.open_ask_at(new, now).await?;
        let ask = opened.into_ask();
        if matches!(ask.state, AskState::Withdrawn { .. }) {
            // Another server took this life for ended: the next proposal begins another.
            broker.writers.known().remove(&key);
        }
        Ok((ask, head))
    }
}

impl Broker {
    /// Waits until an ask is answered or over, or its client is gone. Whatever changed since it was opened is seen by
    /// `head`.
    async fn await_verdict(
        &self,
        mut ask: Ask,
        mut head: watch::Receiver<i64>,
        tell: &mut Tell,
    ) -> Result<Verdict, BrokerError> {
        let id = ask.id;
        loop {
            match &ask.state {
                AskState::Open => {}
                AskState::Answered(answer, _) if answer.choice.is_yes() => {
                    return Ok(Verdict::Allowed(Leave::new(ask, self.clone())));
                }
                AskState::Answered(..) => {
                    self.note_unwritten(id).await?;
                    return Ok(Verdict::Denied { ask });
                }
                AskState::Expired { .. } => {
                    self.note_unwritten(id).await?;
                    return Ok(Verdict::Expired { ask });
                }
                AskState::Withdrawn { .. }
                | AskState::Delivered(..)
                | AskState::Undeliverable(..) => return Err(BrokerError::Stopping),
            }
            let left = ask
                .expires_at
                .map_or(Duration::MAX, |end| end.since(self.clock.now()));
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return Err(BrokerError::Stopping) },
                () = tell.closed() => self.let_go(id, &Withdrawal::ClientGone).await,
                () = self.writers.ending.cancelled() => {
                    self.let_go(id, &Withdrawal::ServerRestarted).await;
                }
                () = tokio::time::sleep(left) => {
                    self.store.expire_due(self.clock.now()).await?;
                }
            }
            // What changes after this look is seen by the next wait.
            head.mark_unchanged();
            ask = self.ask_in_ledger(id).await?;
        }
    }

    async fn ask_in_ledger(&self, id: AskId) -> Result<Ask, BrokerError> {
        let ask = self.store.ask(id).await?;
        ask.ok_or_else(|| BrokerError::missing("ask", id))
    }

    /// A no is in force as soon as it is written down: nothing is written.
    async fn note_unwritten(&self, id: AskId) -> Result<(), StoreError> {
        let now = self.clock.now();
        self.store
            .mark_delivered(id, &Evidence::NothingWritten, now)
            .await?;
        Ok(())
    }

    /// Ends an ask that nobody waits for, also when the ledger comes back only later. Whatever was answered in the
    /// meantime is not carried out.
    async fn let_go(&self, id: AskId, why: &Withdrawal) {
        loop {
            match self.try_to_let_go(id, why).await {
                Ok(()) => return,
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    ask.id = %id,
                    "`{id}`, which nobody waits for, could not be ended"
                ),
            }
            tokio::select! {
                // The next server ends it.
                () = self.ending.cancelled() => return,
                () = tokio::time::sleep(TRY_AGAIN) => {}
            }
        }
    }

    async fn try_to_let_go(&self, id: AskId, why: &Withdrawal) -> Result<(), StoreError> {
        let now = self.clock.now();
        if self.store.withdraw(id, why, now).await? {
            return Ok(());
        }
        match self.store.ask(id).await?.map(|ask| ask.state) {
            Some(AskState::Answered(answer, _)) if answer.choice.is_yes() => {
                let late = Undeliverable::ClientGone;
                self.store.give_up(id, &late, now).await?;
            }
            Some(AskState::Answered(..) | AskState::Expired { .. }) => {
                self.note_unwritten(id).await?;
            }
            Some(
                AskState::Open
                | AskState::Delivered(..)
                | AskState::Undeliverable(..)
                | AskState::Withdrawn { .. },
            )
            | None => {}
        }
        Ok(())
    }
}
