//! A receiver of webhooks that remembers what came and answers as it is told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use crate::loopback::LoopbackServer;

/// How a receiver answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It takes what comes.
    Take,
    /// It answers with this status and a few words.
    Refuse(u16),
    /// It says that what comes should go elsewhere.
    Redirect,
    /// It never answers.
    Hang,
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct ReceivedHook {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
    /// How it was answered.
    pub answer: Answer,
}

impl ReceivedHook {
    /// Returns a header, and panics unless it is there and text.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        let value = value.unwrap_or_else(|| panic!("there is no header `{name}`"));
        value.to_str().expect("a header of text")
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// A running receiver. It ends when it is dropped.
#[derive(Debug)]
pub struct WebhookReceiver {
    server: LoopbackServer,
    state: Shared,
}

type Shared = Arc<Mutex<Inner>>;

#[derive(Debug)]
struct Inner {
    answer: Answer,
    received: Vec<ReceivedHook>,
}

impl WebhookReceiver {
    /// Starts a receiver that answers so until it is told otherwise.
    pub fn start(answer: Answer) -> Self {
        let state = Arc::new(Mutex::new(Inner {
            answer,
            received: Vec::new(),
        }));
        let router = Router::new()
            .route("/{*path}", post(receive))
            .with_state(Arc::clone(&state));
        Self {
            server: LoopbackServer::start(router),
            state,
        }
    }

    /// Returns its address as a URL without a trailing slash. It takes any path.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Says how it answers from now on.
    pub fn answer(&self, answer: Answer) {
        lock(&self.state).answer = answer;
    }

    /// Returns everything that came, oldest first.
    pub fn received(&self) -> Vec<ReceivedHook> {
        lock(&self.state).received.clone()
    }

    /// Returns what it took.
    pub fn taken(&self) -> Vec<ReceivedHook> {
        let mut received = self.received();
        received.retain(|hook| hook.answer == Answer::Take);
        received
    }
}

fn lock(state: &Shared) -> MutexGuard<'_, Inner> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn receive(
    State(state): State<Shared>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap, &'static str) {
    let answer = {
        let mut state = lock(&state);
        let answer = state.answer;
        state.received.push(ReceivedHook {
            headers,
            body: body.to_vec(),
            answer,
        });
        answer
    };
    let mut headers = HeaderMap::new();
    match answer {
        Answer::Take => (StatusCode::NO_CONTENT, headers, ""),
        Answer::Refuse(status) => {
            let status = StatusCode::from_u16(status).expect("the test names a status");
            (status, headers, "not today")
        }
        Answer::Redirect => {
            let elsewhere = header::HeaderValue::from_static("/elsewhere");
            headers.insert(header::LOCATION, elsewhere);
            (StatusCode::TEMPORARY_REDIRECT, headers, "")
        }
        Answer::Hang => {
            tokio::time::sleep(Duration::from_hours(1)).await;
            (StatusCode::NO_CONTENT, headers, "")
        }
    }
}
