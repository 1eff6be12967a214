//! The door for programs that hand asks in by themselves: an opencode that somebody runs in a terminal, by
//! its plugin, and the proxy between an editor and its ACP agent.
//!
//! Whoever comes through it holds the grant `ask` and nothing else: it can open asks, fetch what people or
//! rules answered, and report what became of that. Nothing here answers. An answer is noted as perhaps sent
//! before it is handed out, and counts as delivered only when the program has announced it, or written it.

mod announce;
mod lives;
mod program;
mod reply;
mod report;
mod request;

pub use announce::Announced;
pub(crate) use lives::Lives;
pub use lives::Placed;
pub use program::Program;
pub use reply::EngineReply;
pub use report::Reported;
pub use request::{AskingSession, EngineRequest, HandedIn, NamedSession};

use std::time::Duration;

use countersign_core::ask::{Ask, AskPhase, Door};
use countersign_core::delivery::Undeliverable;
use countersign_core::digest::Digest;
use countersign_core::grant::Caller;
use countersign_core::id::{AskId, RunId, SessionId};
use countersign_core::session::{Session, Workspace};
use countersign_engine::opencode as native;
use countersign_store::{NewAsk, Opened};

use crate::Broker;
use crate::door::lives::Heard;
use crate::door::reply::reply_to;
use crate::error::BrokerError;
use crate::location::resolved;
use crate::supervisor::remember_session;

/// How an ask stands, and what the program is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where the ask stands.
    pub phase: AskPhase,
    /// What the program is to be told.
    pub reply: Option<EngineReply>,
}

impl Broker {
    /// Opens the ask that a program hands in, or finds it if it was handed in before.
    pub async fn hand_in(
        &self,
        caller: &Caller,
        run: RunId,
        handed_in: HandedIn,
    ) -> Result<Opened, BrokerError> {
        let Heard { workspace, program } = self.doors.hear(caller, run)?;
        let supervisor = self.supervisor(workspace)?;
        let workspace = supervisor.workspace();
        let HandedIn { request, session } = handed_in;
        let directory = match &session.directory {
            Some(directory) => self.directory_within(workspace.id, directory).await?,
            None => workspace.path.clone(),
        };
        let ask = request.into_ask(program, &session.named.native_id, &directory)?;
        let digest = Digest::of_json(&ask.raw);
        let session = self
            .asking_session(workspace, program, directory, session)
            .await?;
        let subject = resolved(ask.subject, &session.directory).await;
        let now = self.clock.now();
        let new = NewAsk {
            workspace: workspace.id,
            door: program.door(),
            run,
            session: session.id,
            native_id: ask.native_id,
            directory: session.directory,
            subject,
            arguments: ask.arguments,
            raw: ask.raw,
            options: ask.options,
            expires_at: self.ask_expiry.map(|life| now.after(life)),
        };
        match self.store.open_ask(new, now).await? {
            // An ACP agent chooses its ids itself: an answer to one request must never be one to another.
            Opened::Known(known) if known.door == Door::AcpProxy && known.digest != digest => {
                Err(BrokerError::Invalid {
                    field: "request",
                    problem: "has an id that another request of this life had".to_owned(),
                })
            }
            opened @ (Opened::Fresh(_) | Opened::Known(_)) => Ok(opened),
        }
    }

    /// Waits until the program is to be told something about an ask, or until `limit` has passed.
    pub async fn fetch_answer(
        &self,
        caller: &Caller,
        run: RunId,
        id: AskId,
        limit: Duration,
    ) -> Result<Fetched, BrokerError> {
        let deadline = tokio::time::Instant::now() + limit;
        let mut head = self.store.head();
        loop {
            // What changes after this look is seen by the wait below.
            head.mark_unchanged();
            let ask = self.handed_in_ask(caller, run, id).await?;
            let phase = ask.state.phase();
            let reply = self.hand_out(&ask).await?;
            if reply.is_some() || phase.is_terminal() {
                return Ok(Fetched { phase, reply });
            }
            let unchanged = Fetched { phase, reply: None };
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return Ok(unchanged) },
                () = tokio::time::sleep_until(deadline) => return Ok(unchanged),
                () = self.ending.cancelled() => return Ok(unchanged),
            }
        }
    }

    /// What the program is to be told, noted as perhaps sent; nothing if there is nothing to tell it.
    async fn hand_out(&self, ask: &Ask) -> Result<Option<EngineReply>, BrokerError> {
        let now = self.clock.now();
        let reply = if Digest::of_json(&ask.raw) == ask.digest {
            reply_to(ask)
        } else {
            Err("what was asked is not what is in the ledger".to_owned())
        };
        let reply = match reply {
            Ok(Some(reply)) => reply,
            Ok(None) => return Ok(None),
            Err(message) => {
                self.store
                    .give_up(ask.id, &Undeliverable::Refused { message }, now)
                    .await?;
                return Ok(None);
            }
        };
        Ok(self
            .store
            .begin_sending(ask.id, now, now)
            .await?
            .then_some(reply))
    }

    /// The ask, if the caller handed it in during that life.
    async fn handed_in_ask(
        &self,
        caller: &Caller,
        run: RunId,
        id: AskId,
    ) -> Result<Ask, BrokerError> {
        self.doors.hear(caller, run)?;
        let ask = self.store.ask(id).await?;
        ask.filter(|ask| ask.run == run)
            .ok_or_else(|| BrokerError::missing("ask", id))
    }

    /// The session that asks, with its parent, written down.
    async fn asking_session(
        &self,
        workspace: &Workspace,
        program: Program,
        directory: String,
        asking: AskingSession,
    ) -> Result<Session, BrokerError> {
        let engine = (workspace.id, program.session_engine());
        let remember = async |named: NamedSession, parent: Option<SessionId>| {
            let native = native::Session {
                id: named.native_id,
                title: named.title,
                parent_id: None,
                directory: directory.clone(),
                cost: None,
                permission: vec![],
            };
            let (store, clock) = (&self.store, &self.clock);
            remember_session(store, clock, engine, &directory, &native, parent).await
        };
        let parent = match asking.parent {
            Some(parent) => Some(remember(parent, None).await?.id),
            None => None,
        };
        let session = remember(asking.named, parent).await?;
        match asking.agent {
            Some(agent) if session.agent != agent => {
                let changed_at = self.clock.now();
                let named = Session {
                    agent,
                    changed_at,
                    ..session
                };
                Ok(self.store.put_session(&named).await?)
            }
            Some(_) | None => Ok(session),
        }
    }
}
