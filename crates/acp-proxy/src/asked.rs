//! An ask of the agent that the editor shows, and how it ends there.

use countersign_api::{AcpRequest, DoorSession};
use countersign_engine::acp::message::RpcId;
use serde_json::Value;
use tokio::sync::watch;

use crate::request_key::RequestKey;

/// An ask of the agent, with all that the server has to know of it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) key: RequestKey,
    /// The id as the agent wrote it.
    pub(crate) id: RpcId,
    pub(crate) request: AcpRequest,
    pub(crate) session: DoorSession,
    /// The tool call that waits.
    pub(crate) call: Option<AskedCall>,
    over: watch::Sender<Option<Over>>,
}

/// The tool call that an ask is about.
#[derive(Debug)]
pub(crate) struct AskedCall {
    /// What the agent calls it.
    pub(crate) id: String,
    /// What is to be allowed: if this changes, it is another act.
    pub(crate) act: Value,
}

/// How an ask ended without an answer from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Over {
    /// The editor was first, and said this.
    AnsweredInEditor(String),
    /// The editor cancelled the turn.
    TurnCancelled,
    /// The agent changed what it asks for: that is another ask.
    Changed,
    /// Nobody waits for an answer any more.
    Gone,
    /// The agent has ended, and all its asks with it.
    AgentEnded,
}

impl Asked {
    pub(crate) fn new(
        key: RequestKey,
        id: RpcId,
        request: AcpRequest,
        session: DoorSession,
        call: Option<AskedCall>,
    ) -> Self {
        Self {
            key,
            id,
            request,
            session,
            call,
            over: watch::Sender::new(None),
        }
    }

    /// Ends it; what it has ended with stays.
    pub(crate) fn end(&self, over: Over) {
        self.over.send_if_modified(|before| {
            let first = before.is_none();
            if first {
                *before = Some(over);
            }
            first
        });
    }

    /// How it ended, if it has.
    pub(crate) fn how_it_ended(&self) -> Option<Over> {
        self.over.borrow().clone()
    }

    /// Waits until it is over. Cancel-safe.
    pub(crate) async fn over(&self) -> Over {
        let mut over = self.over.subscribe();
        let ended = over.wait_for(Option::is_some).await;
        // The sender is in this very ask.
        ended
            .ok()
            .and_then(|over| over.clone())
            .unwrap_or(Over::Gone)
    }
}
