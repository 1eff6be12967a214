//! Sessions that engines had before, as surfaces see them: listed, and taken up with their past.

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{SessionId, WorkspaceId};
use countersign_core::session::Session;

use crate::Broker;
use crate::acp::is_id;
use crate::error::BrokerError;
use crate::sessions::{NO_ENGINE, NewSessionWish, SessionContext};
use crate::supervisor::{list_earlier, take_up_earlier};

/// A session that an engine had before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierSession {
    /// What the engine calls it.
    pub native_id: String,
    /// What it is about.
    pub title: String,
    /// When something last happened in it, as the engine writes it; empty if it does not say.
    pub updated_at: String,
    /// The session that it is here, if it is known here.
    pub known: Option<SessionId>,
}

/// The sessions that an engine had in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierSessions {
    /// The sessions, in the engine's order.
    pub sessions: Vec<EarlierSession>,
    /// Whether there are more than are listed.
    pub has_more: bool,
}

impl Broker {
    /// The sessions that an engine had in a workspace. An ACP agent is started for the question, and ended again; so
    /// whoever asks has to be somebody who could start one.
    pub async fn earlier_sessions(
        &self,
        caller: &Caller,
        engine: &str,
        workspace: Option<WorkspaceId>,
    ) -> Result<EarlierSessions, BrokerError> {
        let id = self.meant_workspace(caller, workspace)?;
        caller.require_in(Grant::Prompt, id)?;
        let supervisor = self.supervisor(id)?;
        let workspace = supervisor.workspace();
        let (listed, has_more) = if engine == Session::OPENCODE {
            list_earlier(&supervisor.called_link().await?, &workspace.path).await?
        } else {
            let listing = self.agents.earlier(workspace, engine).await?;
            let sessions = listing.sessions.into_iter().map(|listed| EarlierSession {
                native_id: listed.session,
                title: listed.title,
                updated_at: listed.updated_at,
                known: None,
            });
            (sessions.collect(), listing.has_more)
        };
        let mut sessions: Vec<EarlierSession> = listed;
        for session in &mut sessions {
            let known = self
                .store
                .session_by_native_id(id, engine, &session.native_id)
                .await?;
            session.known = known.map(|known| known.id);
        }
        Ok(EarlierSessions { sessions, has_more })
    }

    /// Takes up the session that its engine calls `native_id`, and says whether it is new here. One that is known is
    /// given back as it is.
    pub async fn take_up_session(
        &self,
        caller: &Caller,
        wish: NewSessionWish,
        native_id: &str,
    ) -> Result<(SessionContext, bool), BrokerError> {
        caller.require(Grant::Prompt)?;
        let directory = wish.directory.as_deref();
        let id = self
            .meant_place(caller, directory, wish.workspace)
            .await?
            .id;
        caller.require_in(Grant::Prompt, id)?;
        if !is_id(native_id) {
            return Err(BrokerError::Invalid {
                field: "earlier",
                problem: "is no id of a session".to_owned(),
            });
        }
        let supervisor = self.supervisor(id)?;
        let engine = match wish.engine {
            Some(engine) => engine,
            None => match self.usual_engine().name() {
                Some(engine) => engine.to_owned(),
                None => return Err(BrokerError::EngineUnavailable(NO_ENGINE.to_owned())),
            },
        };
        let known = self
            .store
            .session_by_native_id(id, &engine, native_id)
            .await?;
        let (session, is_new) = match known {
            Some(known) => (known, false),
            None if engine == Session::OPENCODE => {
                let link = supervisor.called_link().await?;
                let workspace = supervisor.workspace();
                take_up_earlier(
                    &self.store,
                    &self.clock,
                    &link,
                    workspace,
                    native_id,
                    caller.actor(),
                )
                .await?
            }
            None => {
                let title = wish.title.as_deref();
                self.agents
                    .take_up(
                        supervisor.workspace(),
                        &engine,
                        native_id,
                        title,
                        caller.actor(),
                    )
                    .await?
            }
        };
        Ok((self.session_context(caller, session).await?, is_new))
    }
}
