//! Sessions as surfaces see them, and what can be said in them.

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{SessionId, TurnId, WorkspaceId};
use countersign_core::session::{Activity, Item, Session, TranscriptItem, Turn, TurnOutcome};
use countersign_engine::opencode::PromptText;
use countersign_store::NewTurn;

use crate::Broker;
use crate::error::BrokerError;
use crate::supervisor::{Link, cancel_turn, message_id, part_id, remember_session};

/// More sessions than anybody looks at.
const SESSION_LIMIT: i64 = 500;
/// The longest prompt, in bytes.
const PROMPT_LIMIT: usize = 1 << 20;

/// A session with what has to be known to talk in it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionContext {
    /// The session.
    pub session: Session,
    /// Its newest turn.
    pub turn: Option<Turn>,
    /// How many of its asks are open.
    pub open_asks: i64,
    /// Whether the caller may talk in it.
    pub may_prompt: bool,
}

impl Broker {
    /// The sessions that the caller may see, the one that changed last first.
    pub async fn sessions(
        &self,
        caller: &Caller,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<SessionContext>, BrokerError> {
        caller.require(Grant::Read)?;
        let only = match (caller.workspace(), workspace) {
            (Some(only), Some(wanted)) if only != wanted => return Ok(Vec::new()),
            (only, wanted) => only.or(wanted),
        };
        let mut contexts = Vec::new();
        for session in self.store.sessions(only, SESSION_LIMIT).await? {
            contexts.push(self.session_context(caller, session).await?);
        }
        Ok(contexts)
    }

    /// One session.
    pub async fn session(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<SessionContext, BrokerError> {
        caller.require(Grant::Read)?;
        let session = self.visible_session(caller, id).await?;
        self.session_context(caller, session).await
    }

    /// What was said and done after place `after`; what is still being said comes last.
    pub async fn items(
        &self,
        caller: &Caller,
        id: SessionId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<TranscriptItem>, BrokerError> {
        caller.require(Grant::Read)?;
        self.visible_session(caller, id).await?;
        let growing = self.live.growing(id);
        let mut items = self.store.items(id, after, limit).await?;
        let mut next = items.last().map_or(after, |item| item.seq) + 1;
        for (native_id, piece) in growing {
            if items.iter().any(|item| item.native_id == native_id) {
                continue;
            }
            let text = piece.text;
            let item = if piece.thought {
                Item::Thought { text }
            } else {
                Item::Text { text }
            };
            items.push(TranscriptItem {
                seq: next,
                native_id,
                at: self.clock.now(),
                item,
            });
            next += 1;
        }
        Ok(items)
    }

    /// Starts a session with the workspace's engine.
    pub async fn start_session(
        &self,
        caller: &Caller,
        workspace: Option<WorkspaceId>,
        title: Option<&str>,
    ) -> Result<SessionContext, BrokerError> {
        let workspace = match workspace.or(caller.workspace()) {
            Some(workspace) => workspace,
            None => self.first_workspace()?,
        };
        caller.require_in(Grant::Prompt, workspace)?;
        let supervisor = self.supervisor(workspace)?;
        let link = supervisor.link()?;
        let directory = &supervisor.workspace().path;
        let rules = link
            .client
            .ask_rules(directory)
            .await
            .map_err(BrokerError::Engine)?;
        let making = link.making.lock().await;
        let native = link
            .client
            .create_session(directory, title, &rules)
            .await
            .map_err(BrokerError::Engine)?;
        let session = remember_session(
            &self.store,
            &self.clock,
            workspace,
            directory,
            &native,
            None,
        )
        .await?;
        drop(making);
        self.session_context(caller, session).await
    }

    /// Says something in a session. The turn is durable before the engine hears of it; the same turn id
    /// again says nothing twice.
    pub async fn prompt(
        &self,
        caller: &Caller,
        id: SessionId,
        turn: Option<TurnId>,
        text: String,
        model: Option<(String, String)>,
        agent: Option<String>,
    ) -> Result<Turn, BrokerError> {
        let session = self.visible_session(caller, id).await?;
        caller.require_in(Grant::Prompt, session.workspace)?;
        if text.trim().is_empty() || text.len() > PROMPT_LIMIT {
            return Err(BrokerError::Invalid {
                field: "text",
                problem: format!("must not be empty, nor longer than {PROMPT_LIMIT} bytes"),
            });
        }
        let link = self.supervisor(session.workspace)?.link()?;
        let now = self.clock.now();
        let turn_id = turn.unwrap_or_else(|| TurnId::generate(now));
        let new = NewTurn {
            id: turn_id,
            session: id,
            native_id: message_id(turn_id),
            prompt: text,
        };
        let (turn, fresh) = self
            .store
            .begin_turn(session.workspace, new, caller.actor(), now)
            .await?;
        if turn.session != id {
            return Err(BrokerError::Invalid {
                field: "turn",
                problem: "belongs to another session".to_owned(),
            });
        }
        if fresh {
            self.send_turn(&session, &turn, &link, model, agent).await?;
        }
        Ok(turn)
    }

    async fn send_turn(
        &self,
        session: &Session,
        turn: &Turn,
        link: &Link,
        model: Option<(String, String)>,
        agent: Option<String>,
    ) -> Result<(), BrokerError> {
        let item = Item::Prompt {
            text: turn.prompt.clone(),
        };
        let part = part_id(turn.id);
        self.store
            .put_item(
                session.workspace,
                session.id,
                &part,
                &item,
                self.clock.now(),
            )
            .await?;
        let prompt = PromptText {
            message_id: turn.native_id.clone(),
            text: turn.prompt.clone(),
            model,
            agent,
        };
        if let Err(error) = link
            .client
            .prompt(&session.directory, &session.native_id, &prompt)
            .await
        {
            let outcome = TurnOutcome::Failed {
                reason: error.to_string(),
            };
            self.store
                .end_turn(session.workspace, turn.id, &outcome, self.clock.now())
                .await?;
            return Err(BrokerError::Engine(error));
        }
        self.store.mark_turn_sent(turn.id, self.clock.now()).await?;
        self.store
            .set_activity(session.id, Activity::Busy, self.clock.now())
            .await?;
        Ok(())
    }

    /// Stops what a session is doing; its open asks are withdrawn.
    pub async fn cancel(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<SessionContext, BrokerError> {
        let session = self.visible_session(caller, id).await?;
        caller.require_in(Grant::Prompt, session.workspace)?;
        let link = self.supervisor(session.workspace)?.link()?;
        cancel_turn(&self.store, &self.clock, &link, &session).await?;
        self.session(caller, id).await
    }

    async fn visible_session(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<Session, BrokerError> {
        let session = self.store.session(id).await?;
        session
            .filter(|session| caller.sees(session.workspace))
            .ok_or_else(|| BrokerError::missing("session", id))
    }

    async fn session_context(
        &self,
        caller: &Caller,
        session: Session,
    ) -> Result<SessionContext, BrokerError> {
        Ok(SessionContext {
            turn: self.store.newest_turn(session.id).await?,
            open_asks: self.store.count_open_asks(session.id).await?,
            may_prompt: caller.require_in(Grant::Prompt, session.workspace).is_ok(),
            session,
        })
    }
}
