//! Sessions as surfaces see them, and what can be said in them.

use countersign_core::attachment::Takes;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{SessionId, TurnId, WorkspaceId};
use countersign_core::session::{Session, TranscriptItem, Turn};
use countersign_store::{NewTurn, QueuedTurn};
use tokio_util::sync::CancellationToken;

use crate::Broker;
use crate::acp::EngineListing;
use crate::attachments::AttachmentWish;
use crate::error::BrokerError;
use crate::supervisor::{cancel_turn, message_id, remember_session, send_or_hold};

/// More sessions than anybody looks at.
const SESSION_LIMIT: i64 = 500;
/// The longest prompt, in bytes.
const PROMPT_LIMIT: usize = 1 << 20;
/// What somebody is told who names no engine where there is no usual one.
pub(crate) const NO_ENGINE: &str = "this workspace has no engine of its own. Name an agent with `--engine`; \
     `countersign engines` lists them";

/// A session with what has to be known to talk in it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionContext {
    /// The session.
    pub session: Session,
    /// Its newest turn.
    pub turn: Option<Turn>,
    /// The prompts that wait until its agent has come to the end of what it is doing.
    pub queued: Vec<QueuedTurn>,
    /// How many of its asks are open.
    pub open_asks: i64,
    /// Whether the caller may talk in it.
    pub may_prompt: bool,
    /// What its agent takes along with a prompt, if that is known.
    pub takes: Option<Takes>,
}

/// A session that somebody wishes to begin.
#[derive(Debug, Clone, Default)]
pub struct NewSessionWish {
    /// Where.
    pub workspace: Option<WorkspaceId>,
    /// In the workspace around this directory; one that is not served is from now on.
    pub directory: Option<String>,
    /// With which engine; the workspace's own, or the usual agent, if it is not said.
    pub engine: Option<String>,
    /// What it is about.
    pub title: Option<String>,
}

/// Something that somebody wishes to say.
#[derive(Debug, Clone)]
pub struct PromptWish {
    /// Makes a repetition harmless.
    pub turn: Option<TurnId>,
    /// The words.
    pub text: String,
    /// The model to use: `provider/model` for opencode, one of those that an agent offers else.
    pub model: Option<String>,
    /// The mode to be in, one of those that the agent offers; for opencode, its agent.
    pub mode: Option<String>,
    /// The engine's agent to use.
    pub agent: Option<String>,
    /// What comes along.
    pub attachments: Vec<AttachmentWish>,
}

impl PromptWish {
    pub(crate) fn check(&self) -> Result<(), BrokerError> {
        let invalid = |field, problem: &str| BrokerError::Invalid {
            field,
            problem: problem.to_owned(),
        };
        if self.text.trim().is_empty() {
            return Err(invalid("text", "must not be empty"));
        }
        if self.text.len() > PROMPT_LIMIT {
            return Err(invalid("text", "is longer than a mebibyte"));
        }
        // PostgreSQL takes no NUL in a text, and no agent has a use for one.
        if self.text.contains('\0') {
            return Err(invalid("text", "must not contain NUL characters"));
        }
        Ok(())
    }
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

    /// What was said and done after place `after`, and of that only the newest `last`; what is still being said comes
    /// last.
    pub async fn items(
        &self,
        caller: &Caller,
        id: SessionId,
        after: i64,
        last: i64,
        limit: i64,
    ) -> Result<Vec<TranscriptItem>, BrokerError> {
        caller.require(Grant::Read)?;
        self.visible_session(caller, id).await?;
        let growing = self.live.growing(id);
        let after = if last < limit {
            after.max(self.store.last_item(id).await?.saturating_sub(last))
        } else {
            after
        };
        let mut items = self.store.items(id, after, limit).await?;
        let mut next = items
            .last()
            .map_or(after, |item| item.seq)
            .saturating_add(1);
        for (native_id, piece) in growing {
            let known = items.iter_mut().find(|item| item.native_id == native_id);
            match known {
                Some(known) => known.item = piece.into_item(),
                // It comes before or after what was asked for.
                None if piece.is_placed => {}
                None => {
                    items.push(TranscriptItem {
                        seq: next,
                        native_id,
                        at: self.clock.now(),
                        changed_at: None,
                        item: piece.into_item(),
                    });
                    next = next.saturating_add(1);
                }
            }
        }
        Ok(items)
    }

    /// The engines that a session can be begun with.
    pub fn engines(&self, caller: &Caller) -> Result<Vec<EngineListing>, BrokerError> {
        caller.require(Grant::Read)?;
        Ok(self.agents.listing())
    }

    /// Starts a session with the engine that is wished for.
    pub async fn start_session(
        &self,
        caller: &Caller,
        wish: NewSessionWish,
    ) -> Result<SessionContext, BrokerError> {
        caller.require(Grant::Prompt)?;
        let directory = wish.directory.as_deref();
        let workspace = self
            .meant_place(caller, directory, wish.workspace)
            .await?
            .id;
        caller.require_in(Grant::Prompt, workspace)?;
        let supervisor = self.supervisor(workspace)?;
        let title = wish.title.as_deref();
        let usual = self.usual_engine();
        let Some(engine) = wish.engine.as_deref().or_else(|| usual.name()) else {
            return Err(BrokerError::EngineUnavailable(NO_ENGINE.to_owned()));
        };
        if engine != Session::OPENCODE {
            let session = self
                .agents
                .start_session(
                    SessionId::generate(self.clock.now()),
                    supervisor.workspace(),
                    engine,
                    title,
                    &CancellationToken::new(),
                )
                .await?;
            return self.session_context(caller, session).await;
        }
        let link = supervisor.called_link().await?;
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
        link.note_imposed(&native.id, rules);
        let session = remember_session(
            &self.store,
            &self.clock,
            (workspace, Session::OPENCODE),
            directory,
            &native,
            None,
        )
        .await?;
        drop(making);
        self.session_context(caller, session).await
    }

    /// Says something in a session. The turn is durable, with what comes along, before the engine hears of it; the same
    /// turn id again says nothing twice.
    pub async fn prompt(
        &self,
        caller: &Caller,
        id: SessionId,
        wish: PromptWish,
    ) -> Result<Turn, BrokerError> {
        let session = self.visible_session(caller, id).await?;
        caller.require_in(Grant::Prompt, session.workspace)?;
        refuse_silent(&session)?;
        wish.check()?;
        let is_acp = session.engine != Session::OPENCODE;
        let supervisor = self.supervisor(session.workspace)?;
        let (wish, link) = if !is_acp {
            let link = supervisor.called_link().await?;
            let wish = self.wish_to_opencode(caller, &session, &link, wish).await?;
            (wish, Some(link))
        } else if wish.agent.is_some() {
            return Err(BrokerError::Invalid {
                field: "agent",
                problem: "cannot be chosen for this engine".to_owned(),
            });
        } else {
            let wishes = (wish.mode.as_ref(), wish.model.as_ref());
            self.check_wishes(caller, &session, wishes).await?;
            (wish, None)
        };
        let attached = match wish.turn {
            // What it came with is in the ledger; what was a file then may not be there any more.
            Some(turn) if self.store.turn(turn).await?.is_some() => Vec::new(),
            Some(_) | None => self.attach(&session, wish.attachments).await?,
        };
        let now = self.clock.now();
        let turn_id = wish.turn.unwrap_or_else(|| TurnId::generate(now));
        let new = NewTurn {
            id: turn_id,
            session: id,
            native_id: if is_acp {
                turn_id.to_string()
            } else {
                message_id(turn_id)
            },
            prompt: wish.text,
            model: wish.model,
            mode: wish.mode,
            agent: wish.agent,
            follows: None,
        };
        let by = caller.actor();
        let (turn, fresh) = if is_acp {
            let agents = &self.agents;
            let turn = agents.begin_turn(&session, new, attached, by, now).await?;
            (turn, false)
        } else {
            self.store
                .begin_turn_with(session.workspace, new, &attached, by, now)
                .await?
        };
        if turn.session != id {
            return Err(BrokerError::Invalid {
                field: "turn",
                problem: "belongs to another session".to_owned(),
            });
        }
        if let Some(link) = link.filter(|_| fresh) {
            send_or_hold(&self.store, &self.clock, &link, &session, &turn).await?;
        }
        Ok(turn)
    }

    /// Stops what a session is doing; its open asks are withdrawn.
    pub async fn cancel(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<SessionContext, BrokerError> {
        let session = self.visible_session(caller, id).await?;
        caller.require_in(Grant::Prompt, session.workspace)?;
        refuse_silent(&session)?;
        if session.engine != Session::OPENCODE {
            self.agents.cancel(&session, caller.actor()).await?;
            return self.session(caller, id).await;
        }
        let link = self.supervisor(session.workspace)?.link()?;
        // What waits would be said as soon as the session has come to rest.
        for queued in self.store.queued_turns(id).await? {
            let (workspace, by) = (session.workspace, caller.actor());
            self.store
                .take_turn_back(workspace, id, queued.turn, by, self.clock.now())
                .await?;
        }
        cancel_turn(&self.store, &self.clock, &link, &session).await?;
        self.session(caller, id).await
    }

    /// Takes back a prompt that waits until the agent has come to the end of what it is doing.
    pub async fn take_back(
        &self,
        caller: &Caller,
        id: SessionId,
        turn: TurnId,
    ) -> Result<SessionContext, BrokerError> {
        let session = self.visible_session(caller, id).await?;
        caller.require_in(Grant::Prompt, session.workspace)?;
        let known = self.store.turn(turn).await?;
        if known.is_none_or(|known| known.session != id) {
            return Err(BrokerError::missing("turn", turn));
        }
        let (by, now) = (caller.actor(), self.clock.now());
        let taken = self
            .store
            .take_turn_back(session.workspace, id, turn, by, now);
        if !taken.await? {
            return Err(BrokerError::Conflict(
                "the agent has been told already; stop what it is doing instead".to_owned(),
            ));
        }
        self.session(caller, id).await
    }

    /// The workspace that is named, else the caller's own, else the first.
    pub(crate) fn meant_workspace(
        &self,
        caller: &Caller,
        named: Option<WorkspaceId>,
    ) -> Result<WorkspaceId, BrokerError> {
        match named.or(caller.workspace()) {
            Some(workspace) => Ok(workspace),
            None => self.first_workspace(),
        }
    }

    pub(crate) async fn visible_session(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<Session, BrokerError> {
        let session = self.store.session(id).await?;
        session
            .filter(|session| caller.sees(session.workspace))
            .ok_or_else(|| BrokerError::missing("session", id))
    }

    pub(crate) async fn session_context(
        &self,
        caller: &Caller,
        session: Session,
    ) -> Result<SessionContext, BrokerError> {
        let turn = self.store.newest_turn(session.id).await?;
        Ok(SessionContext {
            turn,
            queued: self.store.queued_turns(session.id).await?,
            open_asks: self.store.count_open_asks(session.id).await?,
            may_prompt: caller.require_in(Grant::Prompt, session.workspace).is_ok()
                && refuse_silent(&session).is_ok(),
            takes: self.takes(&session).await?,
            session,
        })
    }
}

/// Fails for a session in which nobody talks from here: an editor's, or one that holds proposed writes together.
fn refuse_silent(session: &Session) -> Result<(), BrokerError> {
    let problem = match session.engine.as_str() {
        Session::ACP_PROXY => "is one of an editor's: it is prompted and cancelled there",
        Session::WORKSPACE_WRITES => "holds proposed writes together: there is no agent in it",
        _ => return Ok(()),
    };
    Err(BrokerError::Invalid {
        field: "session",
        problem: problem.to_owned(),
    })
}
