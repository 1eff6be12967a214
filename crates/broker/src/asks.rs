//! Asks as surfaces see and answer them.

use std::collections::HashMap;
use std::time::Duration;

use countersign_core::answer::{Answer, Choice};
use countersign_core::ask::{Ask, AskState, Door, Subject};
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{AskId, SessionId, WorkspaceId};
use countersign_core::rule;
use countersign_store::{Answered, AnsweredOpen, AskFilter};

use crate::Broker;
use crate::acp;
use crate::error::BrokerError;

/// More open asks of one session than anybody looks at.
const SIBLING_LIMIT: i64 = 200;

/// An ask with what has to be known to answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct AskContext {
    /// The ask.
    pub ask: Ask,
    /// Other open asks that the engine drops if this one is denied.
    pub siblings: Vec<AskId>,
    /// Whether the caller may answer it.
    pub may_answer: bool,
}

impl Broker {
    /// The asks that `filter` lets through and the caller may see, newest first.
    pub async fn asks(
        &self,
        caller: &Caller,
        mut filter: AskFilter,
        limit: i64,
    ) -> Result<Vec<AskContext>, BrokerError> {
        caller.require(Grant::Read)?;
        if let Some(only) = caller.workspace() {
            if filter.workspace.is_some_and(|wanted| wanted != only) {
                return Ok(Vec::new());
            }
            filter.workspace = Some(only);
        }
        let asks = self.store.asks(filter, limit).await?;
        let mut open_of_session: HashMap<SessionId, Vec<Ask>> = HashMap::new();
        let mut contexts = Vec::with_capacity(asks.len());
        for ask in asks {
            if ask.state == AskState::Open && !open_of_session.contains_key(&ask.session) {
                let open = self.open_asks_of(ask.session).await?;
                open_of_session.insert(ask.session, open);
            }
            let open = open_of_session
                .get(&ask.session)
                .map_or(&[][..], Vec::as_slice);
            contexts.push(context(caller, ask, open));
        }
        Ok(contexts)
    }

    /// How many asks are open in all workspaces.
    pub async fn count_open_asks(&self, caller: &Caller) -> Result<i64, BrokerError> {
        caller.require_everywhere(Grant::Read)?;
        Ok(self.store.count_all_open_asks().await?)
    }

    /// One ask.
    pub async fn ask(&self, caller: &Caller, id: AskId) -> Result<AskContext, BrokerError> {
        caller.require(Grant::Read)?;
        let ask = self.visible_ask(caller, id).await?;
        self.context(caller, ask).await
    }

    /// An ask that the caller may answer.
    pub async fn answerable(&self, caller: &Caller, id: AskId) -> Result<Ask, BrokerError> {
        let ask = self.visible_ask(caller, id).await?;
        ask.check_answerer(caller)?;
        Ok(ask)
    }

    /// Answers an ask. Whether the answer stands is in the outcome; who may not answer, or answers
    /// something that cannot be, gets an error and changes nothing.
    pub async fn answer(
        &self,
        caller: &Caller,
        ask: &Ask,
        choice: Choice,
    ) -> Result<Answered, BrokerError> {
        ask.check_answerer(caller)?;
        choice.check(&ask.subject)?;
        match ask.door {
            Door::Acp | Door::AcpProxy => acp::check(ask, &choice)?,
            Door::Opencode | Door::OpencodePlugin | Door::Workspace => {}
        }
        if let Choice::AllowAlways { pattern, .. } = &choice {
            rule::always(&ask.subject, pattern.as_deref())?;
        }
        let now = self.clock.now();
        let answer = Answer {
            choice,
            by: caller.actor().clone(),
            surface: caller.surface(),
            at: now,
            rule: None,
        };
        let id = ask.id;
        let (state, unannounced) = match self.store.answer_open(ask, answer, now).await? {
            AnsweredOpen::Won { state, unannounced } => (state, unannounced),
            AnsweredOpen::Late(answered) => return Ok(answered),
        };
        if self.writers.awaited.hand_over(id, &state) {
            // Whoever waits for it has it, and goes on before everybody else hears of it.
            self.announce_later(unannounced);
        } else if let Some(number) = unannounced {
            self.store.announce(number);
        }
        tracing::info!(ask.id = %id, actor.id = %caller.actor().id, "ask `{id}` was answered");
        Ok(Answered::Won(Ask {
            state,
            ..ask.clone()
        }))
    }

    /// The ask that the engine of `workspace` calls `native_id`. Its announcement may be on its way: it is waited for, but
    /// for no longer than `limit`.
    pub async fn ask_of_engine(
        &self,
        caller: &Caller,
        workspace: WorkspaceId,
        native_id: &str,
        limit: Duration,
    ) -> Result<Option<Ask>, BrokerError> {
        caller.require_in(Grant::Answer, workspace)?;
        let supervisor = self.supervisor(workspace)?;
        supervisor.call();
        let deadline = tokio::time::Instant::now() + limit;
        let mut head = self.store.head();
        loop {
            head.mark_unchanged();
            if let Some(run) = supervisor.status().run
                && let Some(ask) = self.store.ask_by_native_id(run, native_id).await?
            {
                return Ok(Some(ask));
            }
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return Ok(None) },
                () = tokio::time::sleep_until(deadline) => return Ok(None),
                () = self.ending.cancelled() => return Ok(None),
            }
        }
    }

    /// The context of an ask that is at hand.
    pub async fn context(&self, caller: &Caller, ask: Ask) -> Result<AskContext, BrokerError> {
        let open = if ask.state == AskState::Open {
            self.open_asks_of(ask.session).await?
        } else {
            Vec::new()
        };
        Ok(context(caller, ask, &open))
    }

    /// Waits until an ask is over for good, or until `limit` has passed; returns it as it is then.
    pub async fn wait_until_settled(
        &self,
        caller: &Caller,
        id: AskId,
        limit: Duration,
    ) -> Result<AskContext, BrokerError> {
        let deadline = tokio::time::Instant::now() + limit;
        let mut head = self.store.head();
        loop {
            // What changes after this look is seen by the wait below.
            head.mark_unchanged();
            let context = self.ask(caller, id).await?;
            if context.ask.state.phase().is_terminal() {
                return Ok(context);
            }
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return Ok(context) },
                () = tokio::time::sleep_until(deadline) => return Ok(context),
                () = self.ending.cancelled() => return Ok(context),
            }
        }
    }

    async fn visible_ask(&self, caller: &Caller, id: AskId) -> Result<Ask, BrokerError> {
        let ask = self.store.ask(id).await?;
        // What a caller may not see does not exist for it.
        ask.filter(|ask| caller.sees(ask.workspace))
            .ok_or_else(|| BrokerError::missing("ask", id))
    }

    async fn open_asks_of(&self, session: SessionId) -> Result<Vec<Ask>, BrokerError> {
        Ok(self.store.open_asks(session, SIBLING_LIMIT).await?)
    }
}

fn context(caller: &Caller, ask: Ask, open: &[Ask]) -> AskContext {
    let is_permission = |ask: &Ask| matches!(ask.subject, Subject::Permission { .. });
    let falls_together =
        is_permission(&ask) && ask.state == AskState::Open && ask.door.denies_together();
    let siblings = if falls_together {
        open.iter()
            .filter(|other| other.id != ask.id && other.run == ask.run && is_permission(other))
            .map(|other| other.id)
            .collect()
    } else {
        Vec::new()
    };
    let may_answer = ask.check_answerer(caller).is_ok();
    AskContext {
        ask,
        siblings,
        may_answer,
    }
}
