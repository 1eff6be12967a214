//! What an agent asks for becomes an ask; what it changes is asked anew, and what it takes back is withdrawn.

use std::path::Path;

use countersign_core::ask::{Ask, AskState, Door, Withdrawal};
use countersign_engine::acp::ask::permission_ask_again;
use countersign_engine::acp::message::{Params, RpcId};
use countersign_engine::ask::EngineAsk;
use countersign_store::{NewAsk, Opened, StoreError};
use serde_json::Value;

use crate::acp::answers;
use crate::acp::driver::Driver;
use crate::location::resolved;
use crate::standstill::{self, Step};

/// How often an agent may change what one request asks for.
const CHANGES: u32 = 20;

impl Driver {
    pub(super) async fn open_ask(
        &mut self,
        at: u64,
        id: &RpcId,
        asked: EngineAsk,
    ) -> Result<(), StoreError> {
        self.finish_words().await?;
        match self.hand_in(asked).await? {
            Opened::Fresh(ask) => self.take_fresh(ask).await,
            Opened::Known(ask) => {
                self.take_known(at, id, &ask);
                Ok(())
            }
        }
    }

    async fn hand_in(&mut self, asked: EngineAsk) -> Result<Opened, StoreError> {
        self.catch_up().await?;
        let subject = resolved(asked.subject, &self.session.directory).await;
        let shared = self.agents.shared();
        let now = shared.clock.now();
        let new = NewAsk {
            workspace: self.session.workspace,
            door: Door::Acp,
            run: self.run.id,
            session: self.session.id,
            native_id: asked.native_id,
            directory: self.session.directory.clone(),
            subject,
            arguments: asked.arguments,
            raw: asked.raw,
            options: asked.options,
            expires_at: shared.settings.ask_expiry.map(|life| now.after(life)),
        };
        standstill::before(Step::Ask).await;
        let opened = shared.store.open_ask(new, now).await;
        standstill::after(Step::Ask).await;
        opened
    }

    async fn take_fresh(&mut self, ask: Ask) -> Result<(), StoreError> {
        tracing::info!(ask.id = %ask.id, session.id = %self.session.id, "ask `{}` was opened", ask.id);
        self.has_parcels |= ask.state != AskState::Open;
        self.asks.insert(ask.id);
        if let Some(call) = answers::tool_call(&ask) {
            self.asking.insert(call.to_owned(), ask.id);
        }
        if self.cancelled_until.is_some() {
            // The agent wrote it before it read that the turn is cancelled: some run a tool on a late leave.
            self.withdraw(&ask, &Withdrawal::TurnCancelled).await?;
        }
        Ok(())
    }

    /// A request that is in the ledger: said again to this server, or an id that the agent uses twice.
    fn take_known(&mut self, at: u64, id: &RpcId, ask: &Ask) {
        match ask.state {
            // It waits for its answer as before.
            AskState::Open | AskState::Answered(..) => {}
            // An earlier server may have gone before it could say so.
            AskState::Withdrawn { .. }
            | AskState::Delivered(..)
            | AskState::Undeliverable(..)
            | AskState::Expired { .. }
                if at < self.replayed_until => {}
            AskState::Delivered(..)
            | AskState::Undeliverable(..)
            | AskState::Expired { .. }
            | AskState::Withdrawn { .. } => {
                self.refuse(at, id, "the id of the request was used before");
            }
        }
    }

    /// What a person is shown is what will run: if the agent changes what it has asked for, it is asked anew.
    pub(super) async fn ask_anew(&mut self, call: &str) -> Result<(), StoreError> {
        let Some(id) = self.asking.get(call).copied() else {
            return Ok(());
        };
        let Some(ask) = self.shared().store.ask(id).await? else {
            return Ok(());
        };
        let is_live = matches!(ask.state, AskState::Open | AskState::Answered(..));
        let leaves = self.out.is_leaving(id) || self.out.was_accepted(&id.to_string());
        let Some(request) = RpcId::of_ask(&ask.native_id).filter(|_| is_live && !leaves) else {
            return Ok(());
        };
        let params = Params::of(&ask.raw["request"]);
        let directory = Path::new(&self.session.directory);
        let again = permission_ask_again(&request, &params, &self.calls, &self.agent, directory);
        let Ok(mut again) = again else {
            return Ok(());
        };
        if answers::asks_the_same(&ask.raw, &again.raw) {
            return Ok(());
        }
        let number = answers::number(&ask) + 1;
        if number > CHANGES {
            let text = "The agent kept changing what it asked for. It was refused.".to_owned();
            self.note("changing ask", text).await?;
            return self.withdraw(&ask, &Withdrawal::SessionEnded).await;
        }
        again.native_id = request.for_ask(number);
        self.settle_calls().await?;
        // The new one first: a server that ends in between leaves two, of which the next keeps this one.
        let opened = self.hand_in(again).await?.into_ask();
        self.give_way(&ask).await?;
        self.take_fresh(opened).await
    }

    /// Asks anew for what the agent changed while no server was there.
    pub(super) async fn compare_asks(&mut self) -> Result<(), StoreError> {
        while let Some(call) = self.retold_calls.first().cloned() {
            self.ask_anew(&call).await?;
            self.retold_calls.remove(&call);
        }
        Ok(())
    }

    /// The agent does not want to know any more.
    pub(super) async fn take_withdrawal(&mut self, params: &Params) -> Result<(), StoreError> {
        let request = params.value().ok();
        let request = request.as_ref().and_then(|params| params.get("requestId"));
        let Some(request) = request.map(Value::to_string) else {
            return Ok(());
        };
        self.stop_waiting(&request);
        let live = self.shared().store.live_asks(self.run.id).await?;
        for ask in live {
            let id = RpcId::of_ask(&ask.native_id);
            if id.is_some_and(|id| id.is_same(&request)) {
                self.withdraw(&ask, &Withdrawal::SessionEnded).await?;
            }
        }
        Ok(())
    }
}
