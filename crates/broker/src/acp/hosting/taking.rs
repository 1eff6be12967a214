//! Requests for something that the host is to do, taken in: what is not right is refused, the rest begun.

use countersign_engine::acp::hosted::{HostMethod, HostRequest, Refusal};
use countersign_engine::acp::lines::Line;
use countersign_engine::acp::message::{self, Params, RpcId};
use countersign_engine::keeper::Waiting;
use countersign_store::StoreError;
use serde_json::Value;

use super::record::Deed;
use super::{Request, tag};
use crate::acp::driver::Driver;

/// How many wait for the ends of commands at a time.
const MOST_WAITING: usize = 64;
/// The longest id of a request that is taken for one.
const ID_LIMIT: usize = 500;

impl Driver {
    /// Takes in a request for something that the host is to do.
    pub(in crate::acp) async fn take_hosted(
        &mut self,
        line: &Line,
        id: &RpcId,
        method: HostMethod,
        params: &Params,
    ) -> Result<(), StoreError> {
        let at = line.start;
        if !method.is_offered(self.agent.abilities) {
            self.reply(at, message::unknown_method(id, method.name()));
            return Ok(());
        }
        if self.out.was_accepted(&tag(at)) {
            // An earlier server has answered it.
            return Ok(());
        }
        if id.text().len() > ID_LIMIT {
            self.refuse(at, id, "the id of the request is too long");
            return Ok(());
        }
        let params = params.value();
        let read = params.and_then(|params| Ok((HostRequest::read(method, &params)?, params)));
        let ((session, wanted), params) = match read {
            Ok(read) => read,
            Err(error) => {
                self.refuse(at, id, &error.to_string());
                return Ok(());
            }
        };
        if session != self.session.native_id {
            self.refuse(at, id, "there is no such session here");
            return self.note_foreign().await;
        }
        self.finish_words().await?;
        let request = Request {
            at,
            id: id.clone(),
            turn: self.turn,
            ask: None,
        };
        self.begin(request, wanted, params);
        Ok(())
    }

    /// Has a request looked into, or done.
    fn begin(&mut self, request: Request, wanted: HostRequest, params: Value) {
        let tools = self.hosting.tools.clone();
        let (at, id) = (request.at, request.id.text().to_owned());
        self.hosting.under_way.insert(at);
        let deed = Deed::of(&wanted);
        self.hosting.spawn(request, deed, async move {
            match wanted {
                HostRequest::Read(read) => tools.read(read).await,
                HostRequest::Write(write) => tools.look_at_write(at, write, params).await,
                HostRequest::Create(create) => tools.look_at_command(at, create, params).await,
                HostRequest::Output(terminal) => tools.output(&terminal).await,
                HostRequest::Kill(terminal) => tools.kill(&terminal).await,
                HostRequest::Release(terminal) => tools.release(&terminal).await,
                HostRequest::Wait(terminal) => {
                    // For as long as it takes nobody but the keeper has to know who waits.
                    let waiting = Waiting {
                        request: id,
                        tag: tag(at),
                    };
                    tools.expect(terminal, waiting).await
                }
            }
        });
    }

    /// Waits for the end of a command, which the keeper knows.
    pub(super) fn wait_for(&mut self, request: Request, terminal: String) {
        let Request { at, id, .. } = &request;
        if self.hosting.waiting.len() >= MOST_WAITING {
            let refusal = Refusal::failed("too many wait for the ends of commands already");
            return self.reply(*at, refusal.line(id));
        }
        if self.hosting.waiting.insert(*at, id.clone()).is_some() {
            // It was found with the keeper before it was read again.
            return;
        }
        let tools = self.hosting.tools.clone();
        self.hosting
            .spawn(request, None, async move { tools.wait(&terminal).await });
    }

    /// The agent does not want to know the end of a command any more. What comes of it later is not told twice.
    pub(in crate::acp) fn stop_waiting(&mut self, request: &str) {
        let waiting = self.hosting.waiting.iter();
        let same = waiting.filter(|(_, id)| id.is_same(request));
        let found: Vec<_> = same
            .map(|(at, id)| (*at, Refusal::cancelled().line(id)))
            .collect();
        for (at, line) in found {
            self.reply(at, line);
        }
    }

    /// Has those wait again who waited under an earlier server.
    pub(in crate::acp) async fn resume_hosting(&mut self) {
        if std::mem::replace(&mut self.hosting.is_resumed, true)
            || self.replayed_until == 0
            || !self.agent.abilities.terminal
        {
            return;
        }
        let all = match self.hosting.tools.waiting().await {
            Ok(all) => all,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "who waits for commands is not known"
                );
                return;
            }
        };
        for (terminal, waiting) in all {
            let at = waiting.tag.rsplit('-').next();
            let (Some(at), Some(id)) = (
                at.and_then(|at| at.parse().ok()),
                RpcId::from_text(&waiting.request),
            ) else {
                continue;
            };
            if !self.out.was_accepted(&waiting.tag) {
                let request = Request {
                    at,
                    id,
                    turn: self.turn,
                    ask: None,
                };
                self.wait_for(request, terminal);
            }
        }
    }
}
