//! What becomes of requests that were looked into: asked for, done, and told.

use std::path::Path;

use countersign_core::ask::Ask;
use countersign_engine::acp::hosted::leave::Leave;
use countersign_engine::acp::hosted::{
    HostResponse, Hosted, HostedAct, Refusal, command_ask, write_ask,
};
use countersign_engine::acp::message::RpcId;
use countersign_engine::ask::EngineAsk;
use countersign_store::StoreError;

use super::deeds::Came;
use super::record::Deed;
use super::{Done, Request, tag};
use crate::acp::driver::Driver;
use crate::acp::wire::Purpose;

impl Driver {
    /// Tells what came of work, or goes on with it.
    pub(in crate::acp) async fn settle_hosting(&mut self) -> Result<(), StoreError> {
        while let Some(done) = self.hosting.finished.front().cloned() {
            self.take_done(done).await?;
            self.hosting.finished.pop_front();
        }
        Ok(())
    }

    async fn take_done(&mut self, done: Done) -> Result<(), StoreError> {
        self.tell_deed(&done).await?;
        let Done { request, came, .. } = done;
        let directory = Path::new(&self.session.directory);
        let session = &self.session.native_id;
        match came {
            Came::Answer(response, _) => {
                if matches!(response, HostResponse::Created(_)) && self.cancelled_until.is_some() {
                    // It came too late to be ended with the others.
                    self.cancel_hosting();
                }
                self.tell(&request, response.line(&request.id));
            }
            Came::Refused(refusal) => self.tell(&request, refusal.line(&request.id)),
            Came::Expected(terminal) => {
                self.hosting.under_way.remove(&request.at);
                self.wait_for(request, terminal);
            }
            // The turn that wanted it has ended meanwhile.
            Came::Write(_) | Came::Command(_) if request.turn != self.turn => {
                self.tell(&request, Refusal::cancelled().line(&request.id));
            }
            Came::Write(wanted) => {
                let asked = write_ask(&request.id, &wanted, session, directory);
                let is_allowed = self.use_leave(|leave| leave.use_for_write(&wanted));
                self.go_on(request, is_allowed, wanted.act(), asked).await?;
            }
            Came::Command(wanted) => {
                let asked = command_ask(&request.id, &wanted, session, directory);
                let is_allowed = self.use_leave(|leave| leave.use_for_command(&wanted));
                self.go_on(request, is_allowed, wanted.act(), asked).await?;
            }
        }
        Ok(())
    }

    /// Puts the reply to a request on its way.
    fn tell(&mut self, request: &Request, reply: Vec<u8>) {
        let at = request.at;
        self.hosting.under_way.remove(&at);
        self.hosting.waiting.remove(&at);
        let purpose = match request.ask {
            Some(ask) => {
                self.hosting.performing.remove(&ask);
                Purpose::Answer(ask)
            }
            None => Purpose::Reply { start: at },
        };
        self.out.push(purpose, tag(at), reply);
    }

    /// Whether the agent was just allowed this; then that leave is used.
    fn use_leave(&mut self, covers: impl FnMut(&mut Leave) -> bool) -> bool {
        let calls = &self.calls;
        let leaves = &mut self.hosting.leaves;
        leaves.retain(|leave| {
            let call = calls.get(&leave.tool_call);
            call.is_some_and(|call| !call.has_ended())
        });
        let covered = self.cancelled_until.is_none() && leaves.iter_mut().any(covers);
        leaves.retain(|leave| !leave.is_used_up());
        covered
    }

    /// Does what is allowed, and asks for the rest.
    async fn go_on(
        &mut self,
        request: Request,
        is_allowed: bool,
        act: HostedAct,
        asked: EngineAsk,
    ) -> Result<(), StoreError> {
        if is_allowed {
            self.act(request, act);
            return Ok(());
        }
        self.open_ask(request.at, &request.id, asked).await?;
        // It is in the ledger now.
        self.hosting.under_way.remove(&request.at);
        Ok(())
    }

    fn act(&mut self, request: Request, act: HostedAct) {
        let (tools, at) = (self.hosting.tools.clone(), request.at);
        let deed = Deed::act(&act);
        self.hosting
            .spawn(request, Some(deed), async move { tools.act(at, act).await });
    }

    /// Does what was asked for and allowed, or says why not. What came of it is the answer's delivery.
    pub(in crate::acp) fn perform(&mut self, ask: &Ask, id: &RpcId, hosted: Hosted) {
        let Hosted { at, act } = hosted;
        let request = Request {
            at,
            id: id.clone(),
            turn: self.turn,
            ask: Some(ask.id),
        };
        let refusal = match (ask.state.answer(), act) {
            (None, _) => Refusal::unanswered(),
            (Some(answer), _) if !answer.choice.is_yes() => Refusal::denied(answer.choice.reason()),
            (Some(_), None) => Refusal::failed("what was asked is not what is in the ledger"),
            (Some(_), Some(act)) => {
                self.hosting.performing.insert(ask.id);
                return self.act(request, act);
            }
        };
        self.has_denied = true;
        self.tell(&request, refusal.line(id));
    }

    /// Ends the commands of a turn that was cancelled. They can still be looked at.
    pub(in crate::acp) fn cancel_hosting(&mut self) {
        self.hosting.leaves.clear();
        if !self.agent.abilities.terminal {
            return;
        }
        let tools = self.hosting.tools.clone();
        self.hosting.work.spawn(async move {
            tools.kill_all().await;
            None
        });
    }
}
