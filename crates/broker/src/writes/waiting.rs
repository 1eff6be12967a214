//! One proposal on its way: opened, waited for, and ended whatever becomes of its client.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::actor::Actor;
use countersign_core::ask::{Ask, AskState, Withdrawal};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::id::AskId;
use countersign_core::session::Workspace;
use countersign_store::{StoreError, Writer};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::Broker;
use crate::error::BrokerError;
use crate::writes::awaited::Answered;
use crate::writes::{Leave, Proposal, Verdict};

/// How soon it is tried again to end an ask, while the ledger does not answer.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// A proposal that is in the ledger, on behalf of a client. If it is dropped before it is over, the client went away.
pub(super) struct Waiting {
    broker: Broker,
    /// Nothing once somebody else sees to it.
    ask: Option<AskId>,
}

impl Waiting {
    fn new(broker: Broker, ask: AskId) -> Self {
        let ask = Some(ask);
        Self { broker, ask }
    }

    /// Says that whatever has to be done is done.
    pub(super) fn end(mut self) {
        if let Some(id) = self.ask.take() {
            self.broker.writers.awaited.end(id);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(id) = self.ask else { return };
        self.broker.writers.awaited.end(id);
        let broker = self.broker.clone();
        // Where nothing runs any more, the next server ends it.
        if let Ok(runtime) = Handle::try_current() {
            let letting_go = async move { broker.let_go(id, &Withdrawal::ClientGone).await };
            drop(self.broker.tasks.spawn_on(letting_go, &runtime));
        }
    }
}

/// A proposal that was written down.
pub(super) struct Written {
    pub(super) waiting: Waiting,
    pub(super) ask: Arc<Ask>,
    /// Where it is heard of first, if it is answered here.
    pub(super) answered: Answered,
}

impl Broker {
    /// Writes a proposal down. `told` hears of it when everybody can see it.
    pub(super) async fn open_write(
        self,
        workspace: Workspace,
        by: Actor,
        proposal: Proposal,
        told: impl FnOnce(&Ask) + Send,
    ) -> Result<Written, BrokerError> {
        let key = (workspace.id, by.id);
        let now = self.clock.now();
        let known = self.writers.known().get(&key).copied();
        let writer: Writer = match known {
            Some(writer) => writer,
            None => self.store.writer(&workspace, &by, now).await?,
        };
        self.writers.known().insert(key, writer);
        let new = proposal.into_ask(by, &workspace, writer, now);
        let (opened, unannounced) = self.store.open_ask_unannounced(new, now).await?;
        let ask = Arc::new(opened.into_ask());
        let answered = self.writers.awaited.begin(&ask);
        let waiting = Waiting::new(self.clone(), ask.id);
        self.announce_later(unannounced);
        told(&ask);
        if matches!(ask.state, AskState::Withdrawn { .. }) {
            // Another server took this life for ended: the next proposal begins another.
            self.writers.known().remove(&key);
        }
        Ok(Written {
            waiting,
            ask,
            answered,
        })
    }

    /// Waits until an ask is answered or over. Whatever changed since it was opened is seen by `head`, and if it is answered
    /// here, that is told before.
    pub(super) async fn await_verdict(
        &self,
        mut ask: Arc<Ask>,
        mut answered: Answered,
        mut head: watch::Receiver<i64>,
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
                    let ask = Arc::unwrap_or_clone(ask);
                    return Ok(Verdict::Denied { ask });
                }
                AskState::Expired { .. } => {
                    self.note_unwritten(id).await?;
                    let ask = Arc::unwrap_or_clone(ask);
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
                biased;
                Ok(state) = &mut answered, if !answered.is_terminated() => {
                    Arc::make_mut(&mut ask).state = state;
                    continue;
                }
                changed = head.changed() => if changed.is_err() { return Err(BrokerError::Stopping) },
                () = self.writers.ending.cancelled() => {
                    self.let_go(id, &Withdrawal::ServerRestarted).await;
                }
                () = tokio::time::sleep(left) => {
                    self.store.expire_due(self.clock.now()).await?;
                }
            }
            // What changes after this look is seen by the next wait.
            head.mark_unchanged();
            // Most of what happens meanwhile happens to others.
            if !self.store.is_open(id).await? {
                ask = Arc::new(self.ask_in_ledger(id).await?);
            }
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
