//! The wire to the client: one bounded queue of lines out, and the answers that are waited for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol_schema::v1::{
    AgentNotification, AgentRequest, AgentResponse, Error, JsonRpcMessage, Notification, Request,
    RequestId, Response, SessionId, SessionNotification, SessionUpdate,
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

type Answer = Result<Value, Error>;

/// The way to the client. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    lines: mpsc::Sender<Vec<u8>>,
    waiting: Arc<Mutex<HashMap<RequestId, oneshot::Sender<Answer>>>>,
    last_request: Arc<AtomicI64>,
}

impl Connection {
    pub(crate) fn new(lines: mpsc::Sender<Vec<u8>>) -> Self {
        Self {
            lines,
            waiting: Arc::default(),
            last_request: Arc::default(),
        }
    }

    /// Tells the client what happens in a session.
    pub(crate) async fn tell(&self, session: &SessionId, update: SessionUpdate) {
        let update = SessionNotification::new(session.clone(), update);
        self.send(&Notification {
            method: "session/update".into(),
            params: Some(AgentNotification::SessionNotification(update)),
        })
        .await;
    }

    /// Answers one of the client's requests.
    pub(crate) async fn respond(&self, id: RequestId, outcome: Result<AgentResponse, Error>) {
        self.send(&Response::new(id, outcome)).await;
    }

    /// Asks the client for something and waits for its answer, for as long as the caller cares to.
    pub(crate) async fn request(&self, request: AgentRequest) -> Answer {
        let number = self.last_request.fetch_add(1, Ordering::Relaxed) + 1;
        // Both kinds of id are allowed, so a client that works with this agent has met both.
        let id = if matches!(request, AgentRequest::CreateElicitationRequest(_)) {
            RequestId::Str(format!("question-{number}"))
        } else {
            RequestId::Number(number)
        };
        let (answer, answered) = oneshot::channel();
        self.waiting().insert(id.clone(), answer);
        let _forget = Forget(self, id.clone());
        self.send(&Request {
            id,
            method: request.method().into(),
            params: Some(request),
        })
        .await;
        answered
            .await
            .unwrap_or_else(|_nobody| Err(Error::internal_error()))
    }

    /// Takes the client's answer in. One that nobody waits for (any more) is dropped.
    pub(crate) fn take_answer(&self, id: &RequestId, answer: Answer) {
        let waiting = self.waiting().remove(id);
        if let Some(waiting) = waiting {
            // The turn may have been cancelled a moment ago.
            let _too_late = waiting.send(answer);
        }
    }

    async fn send(&self, message: &impl Serialize) {
        let message = JsonRpcMessage::wrap(message);
        let mut line = serde_json::to_vec(&message).expect("a message of the protocol is JSON");
        line.push(b'\n');
        // Without a writer the agent is about to end.
        let _nobody_listens = self.lines.send(line).await;
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, oneshot::Sender<Answer>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops waiting for an answer, also when the turn that waits is dropped.
struct Forget<'a>(&'a Connection, RequestId);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.waiting().remove(&self.1);
    }
}
