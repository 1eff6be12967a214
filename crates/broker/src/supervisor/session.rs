//! The engine's sessions in the ledger: known by their native id, with their parents.

use std::pin::Pin;

use countersign_core::id::{SessionId, WorkspaceId};
use countersign_core::session::{Activity, Session};
use countersign_core::time::Clock;
use countersign_engine::opencode::{self as native, ClientError};
use countersign_store::{Store, StoreError};

use crate::error::BrokerError;
use crate::supervisor::run::EngineRun;

/// Who asks, until the engine has said the name of its agent.
pub(crate) const UNNAMED_AGENT: &str = "opencode";

/// Writes a session of the engine's down.
pub(crate) async fn remember_session(
    store: &Store,
    clock: &Clock,
    (workspace, engine): (WorkspaceId, &str),
    directory: &str,
    native: &native::Session,
    parent: Option<SessionId>,
) -> Result<Session, StoreError> {
    let id = SessionId::generate(clock.now());
    remember_session_as(
        id,
        store,
        clock,
        (workspace, engine),
        directory,
        native,
        parent,
    )
    .await
}

/// Writes a session of the engine's down; one that is new is called `id`.
pub(crate) async fn remember_session_as(
    id: SessionId,
    store: &Store,
    clock: &Clock,
    (workspace, engine): (WorkspaceId, &str),
    directory: &str,
    native: &native::Session,
    parent: Option<SessionId>,
) -> Result<Session, StoreError> {
    let now = clock.now();
    let known = store
        .session_by_native_id(workspace, engine, &native.id)
        .await?;
    let session = match known {
        Some(known) if known.title == native.title => return Ok(known),
        Some(known) => Session {
            title: native.title.clone(),
            changed_at: now,
            ..known
        },
        None => Session {
            id,
            workspace,
            engine: engine.to_owned(),
            native_id: native.id.clone(),
            parent,
            title: native.title.clone(),
            directory: directory.to_owned(),
            agent: UNNAMED_AGENT.to_owned(),
            activity: Activity::Idle,
            started_at: now,
            changed_at: now,
        },
    };
    store.put_session(&session).await
}

/// Whether the engine has told where a session comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Told,
    Unknown,
}

/// A session of which the engine tells nothing.
fn unknown(native_id: &str, directory: &str) -> native::Session {
    native::Session {
        id: native_id.to_owned(),
        title: String::new(),
        parent_id: None,
        directory: directory.to_owned(),
        cost: None,
        permission: vec![],
    }
}

impl EngineRun {
    /// The session that the engine calls `native_id`, with its parents, written down if it is new.
    ///
    /// A session that we did not make gets our rules at that moment: a sub-agent's, and one that somebody
    /// started at the engine itself, which is an alarm as well.
    pub(super) fn session<'a>(
        &'a self,
        native_id: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Session, BrokerError>> + Send + 'a>> {
        Box::pin(async move {
            let workspace = &self.shared.workspace;
            if let Some(known) = self
                .shared
                .store
                .session_by_native_id(workspace.id, Session::OPENCODE, native_id)
                .await?
            {
                return Ok(known);
            }
            let native = match self.link.client.session(&workspace.path, native_id).await {
                Ok(native) => native,
                Err(error @ ClientError::Unreachable { .. }) => {
                    return Err(BrokerError::Engine(error));
                }
                // What it asks is asked all the same. Whose it is will be known when the engine tells of it.
                Err(error) => {
                    tracing::warn!("nothing is known of a session: {}", error.sentence());
                    let native = unknown(native_id, &workspace.path);
                    return self.learn(&native, Origin::Unknown).await;
                }
            };
            // One that was deleted can still be busy, and ask.
            let native = native.unwrap_or_else(|| unknown(native_id, &workspace.path));
            self.learn_session(&native).await
        })
    }

    /// Takes in what the engine says about a session.
    pub(super) async fn learn_session(
        &self,
        native: &native::Session,
    ) -> Result<Session, BrokerError> {
        self.learn(native, Origin::Told).await
    }

    async fn learn(
        &self,
        native: &native::Session,
        origin: Origin,
    ) -> Result<Session, BrokerError> {
        let workspace = &self.shared.workspace;
        // One that is being made at our own wish is in the ledger once this can be had.
        let making = self.link.making.lock().await;
        let known = self
            .shared
            .store
            .session_by_native_id(workspace.id, Session::OPENCODE, &native.id)
            .await?;
        drop(making);
        let parent = match &native.parent_id {
            Some(parent) => Some(self.session(parent).await?.id),
            None => None,
        };
        if known.is_none() && self.link.ours {
            self.impose_rules(&native.id).await;
        }
        let directory = if self.shared.is_ours(&native.directory) {
            &native.directory
        } else {
            &workspace.path
        };
        let session = remember_session(
            &self.shared.store,
            &self.shared.clock,
            (workspace.id, Session::OPENCODE),
            directory,
            native,
            parent,
        )
        .await?;
        if let Some(parent) = parent {
            self.shared.live.watch_child(parent, session.id);
        }
        if let Some(paid) = native.cost {
            self.note_paid(&session, paid).await?;
        }
        if known.is_some() {
            self.check_rules(&session, native).await?;
        }
        if known.is_none() && parent.is_none() && self.link.ours && origin == Origin::Told {
            self.alarm(
                None,
                session.id,
                "a session was started at the engine itself",
            )
            .await?;
        }
        Ok(session)
    }

    async fn impose_rules(&self, native_id: &str) {
        let directory = &self.shared.workspace.path;
        let imposed = async {
            let rules = self.link.client.ask_rules(directory).await?;
            let client = &self.link.client;
            client.add_rules(directory, native_id, &rules).await?;
            self.link.note_imposed(native_id, rules);
            Ok::<(), ClientError>(())
        };
        if let Err(error) = imposed.await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a sub-agent's session goes by the engine's configuration alone"
            );
        }
    }
}
