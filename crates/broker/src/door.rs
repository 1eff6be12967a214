//! The door for programs that hand asks in by themselves: an opencode that somebody runs in a terminal, by
//! its plugin.
//!
//! Whoever comes through it holds the grant `ask` and nothing else: it can open asks, fetch what people or
//! rules answered, and report what became of that. Nothing here answers. An answer is noted as perhaps sent
//! before it is handed out, and counts as delivered only when the program has announced it.

mod announce;
mod lives;
mod request;

pub use announce::Plugin;
pub(crate) use lives::Lives;
pub use request::{AskingSession, EngineRequest, HandedIn, NamedSession};

use std::time::Duration;

use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskPhase, AskState, Door, Subject, Withdrawal};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::digest::Digest;
use countersign_core::grant::Caller;
use countersign_core::id::{AskId, RunId, SessionId};
use countersign_core::session::{Session, Workspace};
use countersign_engine::opencode as native;
use countersign_store::{NewAsk, Opened};

use crate::Broker;
use crate::error::BrokerError;
use crate::supervisor::{
    DENIED, NOBODY_ANSWERED, announcement, fell_with, remember_session, wording,
};

/// How an ask stands, and what the program is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where the ask stands.
    pub phase: AskPhase,
    /// What the program is to be told.
    pub reply: Option<EngineReply>,
}

/// What a program is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineReply {
    /// Go on, this once.
    Once,
    /// No, and this is what the model gets to read.
    Reject(String),
    /// The answers to a question.
    Answers(Vec<Vec<String>>),
    /// The question is not answered.
    Decline,
}

/// What a program reports about an ask; its words are as it announces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// It announced the reply that it had fetched here.
    Announced(&'static str),
    /// It announced a reply that it had not fetched here.
    AnsweredHere(&'static str),
    /// It does not know the request any more.
    Gone,
}

impl Broker {
    /// Opens the ask that a program hands in, or finds it if it was handed in before.
    pub async fn hand_in(
        &self,
        caller: &Caller,
        run: RunId,
        handed_in: HandedIn,
    ) -> Result<Opened, BrokerError> {
        let workspace = self.doors.hear(caller, run)?;
        let workspace = self.supervisor(workspace)?.workspace();
        let HandedIn { request, session } = handed_in;
        let ask = request.into_ask(&session.named.native_id)?;
        let session = self.asking_session(workspace, session).await?;
        let now = self.clock.now();
        let new = NewAsk {
            workspace: workspace.id,
            door: Door::OpencodePlugin,
            run,
            session: session.id,
            native_id: ask.native_id,
            directory: session.directory,
            subject: ask.subject,
            arguments: ask.arguments,
            raw: ask.raw,
            options: ask.options,
            expires_at: self.ask_expiry.map(|life| now.after(life)),
        };
        Ok(self.store.open_ask(new, now).await?)
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

    /// Takes in what became of an ask at the program, and returns where it stands then.
    pub async fn take_report(
        &self,
        caller: &Caller,
        run: RunId,
        id: AskId,
        reported: Reported,
    ) -> Result<AskPhase, BrokerError> {
        let ask = self.handed_in_ask(caller, run, id).await?;
        let now = self.clock.now();
        match reported {
            Reported::Announced(reply) if self.is_proof(&ask, reply).await? => {
                let event = announcement(&ask).to_owned();
                let evidence = Evidence::Reported { event };
                self.store.mark_delivered(id, &evidence, now).await?;
            }
            Reported::Announced(reply) | Reported::AnsweredHere(reply) => {
                self.end_as_answered_there(&ask, reply).await?;
            }
            Reported::Gone => {
                if !self
                    .store
                    .withdraw(id, &Withdrawal::SessionEnded, now)
                    .await?
                {
                    self.store
                        .give_up(id, &Undeliverable::Forgotten, now)
                        .await?;
                }
            }
        }
        Ok(self.handed_in_ask(caller, run, id).await?.state.phase())
    }

    /// Whether `reply` is what was handed out: what never left cannot have arrived.
    async fn is_proof(&self, ask: &Ask, reply: &str) -> Result<bool, BrokerError> {
        let left = self.store.is_perhaps_sent(ask.id).await?;
        Ok(left && wording(ask) == Some(reply))
    }

    /// Somebody answered in the terminal: that is his right, and it is written down.
    async fn end_as_answered_there(&self, ask: &Ask, reply: &str) -> Result<(), BrokerError> {
        let why = match fell_with(&self.store, ask, reply).await? {
            Some(sibling) => Withdrawal::SiblingDenied { sibling },
            None => Withdrawal::AnsweredElsewhere {
                reply: reply.to_owned(),
            },
        };
        let now = self.clock.now();
        if !self.store.withdraw(ask.id, &why, now).await? {
            let why = Undeliverable::AnsweredElsewhere {
                reply: reply.to_owned(),
            };
            self.store.give_up(ask.id, &why, now).await?;
        }
        Ok(())
    }

    /// What the program is to be told, noted as perhaps sent; nothing if there is nothing to tell it.
    async fn hand_out(&self, ask: &Ask) -> Result<Option<EngineReply>, BrokerError> {
        let Some(reply) = reply_to(ask) else {
            return Ok(None);
        };
        let now = self.clock.now();
        if Digest::of_json(&ask.raw) != ask.digest {
            let message = "what was asked is not what is in the ledger".to_owned();
            self.store
                .give_up(ask.id, &Undeliverable::Refused { message }, now)
                .await?;
            return Ok(None);
        }
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
        asking: AskingSession,
    ) -> Result<Session, BrokerError> {
        let directory = match &asking.directory {
            Some(directory) => self.directory_within(workspace.id, directory).await?,
            None => workspace.path.clone(),
        };
        let remember = async |named: NamedSession, parent: Option<SessionId>| {
            let native = native::Session {
                id: named.native_id,
                title: named.title,
                parent_id: None,
                directory: directory.clone(),
            };
            let (store, clock) = (&self.store, &self.clock);
            remember_session(store, clock, workspace.id, &directory, &native, parent).await
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

/// What the program is to be told about an ask that is answered, or that nobody answered in time.
fn reply_to(ask: &Ask) -> Option<EngineReply> {
    let choice = match &ask.state {
        AskState::Answered(answer, _) => Some(&answer.choice),
        AskState::Expired { .. } => None,
        AskState::Open
        | AskState::Delivered(..)
        | AskState::Undeliverable(..)
        | AskState::Withdrawn { .. } => return None,
    };
    Some(match (&ask.subject, choice) {
        (_, Some(Choice::Choices { choices })) => EngineReply::Answers(choices.clone()),
        (Subject::Question { .. }, _) => EngineReply::Decline,
        (Subject::Permission { .. }, Some(Choice::AllowOnce | Choice::AllowAlways { .. })) => {
            EngineReply::Once
        }
        (Subject::Permission { .. }, Some(Choice::Deny { reason })) => {
            EngineReply::Reject(reason.clone().unwrap_or_else(|| DENIED.to_owned()))
        }
        // This engine's options are never picked by their ids; what cannot be is a no.
        (Subject::Permission { .. }, Some(Choice::Option { .. })) => {
            EngineReply::Reject(DENIED.to_owned())
        }
        (Subject::Permission { .. }, None) => EngineReply::Reject(NOBODY_ANSWERED.to_owned()),
    })
}
