//! Answers on their way to an agent, each sent once and taken back in time; what became of what was sent.

use std::time::Duration;

use countersign_core::ask::{Ask, AskState, Withdrawal};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::digest::Digest;
use countersign_core::id::AskId;
use countersign_engine::acp::hosted::Hosted;
use countersign_engine::acp::message::RpcId;
use countersign_engine::keeper::KeeperError;
use countersign_store::{Parcel, StoreError};
use tokio::time::Instant;

use crate::acp::driver::Driver;
use crate::acp::wire::{Outgoing, Purpose};
use crate::acp::{answers, failed, hosting};
use crate::standstill::{self, Step};

/// How long an answer that is on its way may take to be with an agent that ends its turn.
const ANSWERS_LIMIT: Duration = Duration::from_secs(2);
/// How long after a try an answer is due again; within one life of the agent it is never sent twice.
const DUE_AGAIN: Duration = Duration::from_secs(1);

impl Driver {
    /// Puts what the ledger has for the agent on its way.
    pub(super) async fn carry(&mut self) -> Result<(), StoreError> {
        self.has_parcels = false;
        for parcel in self.shared().store.parcels(self.run.id).await? {
            let id = parcel.ask.id;
            if !self.out.is_answering(id) && !self.hosting.is_performing(id) {
                self.send(&parcel).await?;
            }
        }
        Ok(())
    }

    async fn send(&mut self, parcel: &Parcel) -> Result<(), StoreError> {
        let ask = &parcel.ask;
        let shared = self.agents.shared();
        let now = shared.clock.now();
        let id = RpcId::of_ask(&ask.native_id);
        let Some(id) = id.filter(|_| Digest::of_json(&ask.raw) == ask.digest) else {
            let message = "what was asked is not what is in the ledger".to_owned();
            return self
                .give_up(ask.id, &Undeliverable::Refused { message })
                .await;
        };
        let due = now.after(DUE_AGAIN);
        if let Some(hosted) = Hosted::of(ask) {
            if shared.store.begin_sending(ask.id, due, now).await? {
                self.perform(ask, &id, hosted);
            }
            return Ok(());
        }
        match answers::reply(ask, &id) {
            Ok(line) => {
                if shared.store.begin_sending(ask.id, due, now).await? {
                    self.has_denied |= answers::is_no(ask);
                    self.hosting.grant(ask, &self.session);
                    standstill::before(Step::Answer).await;
                    let purpose = Purpose::Answer(ask.id);
                    self.out.push(purpose, ask.id.to_string(), line);
                }
                Ok(())
            }
            // A rule can say what names nothing that the agent offers. Then it is a no.
            Err(message) => {
                let line = answers::unanswered(ask, &id);
                self.out.push(Purpose::Other, ask.id.to_string(), line);
                self.has_denied = true;
                self.give_up(ask.id, &Undeliverable::Refused { message })
                    .await
            }
        }
    }

    /// Learns what became of a frame.
    pub(super) async fn take_written(
        &mut self,
        purpose: Purpose,
        written: Result<(), KeeperError>,
    ) -> Result<(), StoreError> {
        let shared = self.agents.shared();
        let now = shared.clock.now();
        match (purpose, written) {
            (Purpose::Prompt(turn), Ok(())) => {
                standstill::after(Step::Prompt).await;
                shared.store.mark_turn_sent(turn, now).await
            }
            (Purpose::Answer(ask), Ok(())) => {
                standstill::after(Step::Answer).await;
                self.prove(ask).await
            }
            (Purpose::Reply { .. } | Purpose::Other, Ok(())) => Ok(()),
            (Purpose::Prompt(turn), Err(KeeperError::InputOver)) => {
                self.is_unsaid |= self.turn == Some(turn);
                Ok(())
            }
            // The agent or its keeper is gone, and what follows from that follows from the end of its output.
            (
                _,
                Err(error @ (KeeperError::Lost | KeeperError::InputOver | KeeperError::Displaced)),
            ) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "an agent was not told something"
                );
                Ok(())
            }
            (Purpose::Prompt(_), Err(error)) => self.end_turn(&failed(error.to_string())).await,
            (Purpose::Answer(ask), Err(error)) => {
                let message = error.to_string();
                self.give_up(ask, &Undeliverable::Refused { message }).await
            }
            (Purpose::Reply { .. } | Purpose::Other, Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "an agent was not told something"
                );
                Ok(())
            }
        }
    }

    /// The reply is in the agent's input: that is all that can be proved, for the agent acknowledges nothing.
    async fn prove(&mut self, id: AskId) -> Result<(), StoreError> {
        self.forget_ask(id);
        let Some(ask) = self.shared().store.ask(id).await? else {
            return Ok(());
        };
        // What the host did not do was answered with the reason.
        let tells_why = Hosted::of(&ask).is_some();
        // Before it counts as delivered, so that the reason is not lost with a server that ends in between.
        if !tells_why {
            self.follow_up(&ask).await?;
        }
        let evidence = Evidence::Written {
            request: ask.native_id.clone(),
        };
        let shared = self.agents.shared();
        if shared
            .store
            .mark_delivered(id, &evidence, shared.clock.now())
            .await?
        {
            tracing::info!(ask.id = %id, "the answer to `{id}` was delivered");
        }
        Ok(())
    }

    async fn give_up(&mut self, ask: AskId, why: &Undeliverable) -> Result<(), StoreError> {
        self.forget_ask(ask);
        let shared = self.agents.shared();
        shared.store.give_up(ask, why, shared.clock.now()).await?;
        Ok(())
    }

    pub(super) async fn withdraw_all(&mut self, why: &Withdrawal) -> Result<(), StoreError> {
        if self.asks.is_empty() {
            return Ok(());
        }
        for ask in self.shared().store.live_asks(self.run.id).await? {
            self.withdraw(&ask, why).await?;
        }
        Ok(())
    }

    /// Ends an ask that is not wanted any more, answered or not, and lets the agent know. An answer that has not
    /// begun to leave never does.
    pub(super) async fn withdraw(&mut self, ask: &Ask, why: &Withdrawal) -> Result<(), StoreError> {
        if let AskState::Answered(..) = ask.state
            && (self.out.was_accepted(&hosting::tag_of(ask)) || self.hosting.is_performing(ask.id))
        {
            return Ok(());
        }
        let shared = self.agents.shared();
        let now = shared.clock.now();
        let ended = shared.store.withdraw(ask.id, why, now).await?;
        self.out.take_back(ask.id);
        self.hosting.revoke(ask.id);
        if self.out.is_answering(ask.id) {
            // It is being written: what becomes of that is what became of it.
            return Ok(());
        }
        if !ended {
            let why = match why {
                Withdrawal::TurnCancelled => Undeliverable::TurnCancelled,
                Withdrawal::Changed => Undeliverable::Changed,
                Withdrawal::SessionEnded
                | Withdrawal::EngineGone
                | Withdrawal::EngineReloaded { .. }
                | Withdrawal::SiblingDenied { .. }
                | Withdrawal::AnsweredElsewhere { .. }
                | Withdrawal::Lost { .. }
                | Withdrawal::ClientGone
                | Withdrawal::ServerRestarted
                | Withdrawal::WorkspaceRemoved => Undeliverable::Forgotten,
            };
            self.shared().store.give_up(ask.id, &why, now).await?;
        }
        self.forget_ask(ask.id);
        if *why != Withdrawal::Changed
            && let Some(id) = RpcId::of_ask(&ask.native_id)
        {
            let line = answers::cancelled(ask, &id);
            self.out.push(Purpose::Other, hosting::tag_of(ask), line);
        }
        Ok(())
    }

    /// Ends an ask in whose place another stands: the request itself goes on.
    pub(super) async fn give_way(&mut self, ask: &Ask) -> Result<(), StoreError> {
        self.withdraw(ask, &Withdrawal::Changed).await
    }

    fn forget_ask(&mut self, ask: AskId) {
        self.asks.remove(&ask);
        self.asking.retain(|_, asking| *asking != ask);
    }

    /// Waits for what is on its way to an agent that has gone on: the reason of a denial goes before what comes next.
    pub(super) async fn await_answers(&mut self) -> Result<(), StoreError> {
        self.write_out(ANSWERS_LIMIT, |out| !out.is_answering_any())
            .await
    }

    /// Writes what is on its way until it is enough, or for so long.
    pub(super) async fn write_out(
        &mut self,
        limit: Duration,
        is_enough: fn(&Outgoing) -> bool,
    ) -> Result<(), StoreError> {
        let until = Instant::now() + limit;
        while !is_enough(&self.out) {
            match tokio::time::timeout_at(until, self.out.progress()).await {
                Ok(Some((purpose, written))) => self.take_written(purpose, written).await?,
                Ok(None) => {}
                Err(_) => break,
            }
        }
        Ok(())
    }
}
