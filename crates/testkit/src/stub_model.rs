//! A model server on loopback that does what the prompt says, so that real agents can be driven by tests.
//!
//! It speaks `OpenAI`'s chat completions and responses, Anthropic's messages and Gemini's generated content, streaming
//! and not: one model behind four APIs. Lines of the *last user message* direct it; it keeps no conversation: which
//! step is next follows from the tool results that came after that message. A denied tool call yields a result too, so
//! a script goes on after a denial. Parts of a user message that begin with `<` are the agent's own and direct nothing.
//!
//! | line | effect |
//! |---|---|
//! | `TOOL bash: command` | calls the shell, whatever the agent calls it; likewise the next five |
//! | `TOOL write: path <<< text` | writes a file; `\n` in the text is a line break |
//! | `TOOL edit: path <<< old >>> new` | edits a file |
//! | `TOOL read: path` | reads a file |
//! | `TOOL question: text \| one \| two` | asks the user |
//! | `TOOL task: description \| prompt` | starts a sub-agent; ` ;; ` in its prompt is a line break, so it can hold directives |
//! | `TOOLJSON name {…}` | calls any tool with these arguments |
//! | `& TOOL…`, `& TOOLJSON…` | calls it in parallel with the one before, in the same message |
//! | `SAY text` | streams the text before the next step |
//! | `SLOW n` | pauses n milliseconds between deltas, in the whole script |
//! | `HTTPERR code [times]` | answers the next step with this status, always or that many times |
//! | `DROP [times]` | cuts the stream of the next step, after what it says |
//! | `STALL [times]` | never ends the next step, after what it says |
//! | `FINAL text` | what to say when all steps are done, instead of `DONE` |
//! | `ECHO` | says then what came of the last tool, word for word |
//!
//! A request without tools (opencode has its titles made so) is answered with a short text, whatever it holds. Counted
//! faults are counted per prompt text and step: tests that use them on one stub write different prompts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::loopback::LoopbackServer;
use decision::Decision;
use script::Fault;
use wire::Wire;

mod answer;
mod arguments;
mod conversation;
mod decision;
mod script;
mod wire;

pub use conversation::{Conversation, last_user_text, tool_results};

/// A running model server; it ends when dropped.
#[derive(Debug)]
pub struct StubModel {
    server: LoopbackServer,
    received: Arc<Received>,
}

/// What has come in so far.
#[derive(Debug, Default)]
struct Received {
    requests: watch::Sender<Vec<Value>>,
    conversations: watch::Sender<Vec<Conversation>>,
    /// How often a fault was played: by prompt and step.
    faults: Mutex<HashMap<(String, usize), u32>>,
}

impl StubModel {
    /// Starts a stub on a free port.
    #[expect(
        clippy::unused_async,
        reason = "must be called inside a runtime, which this makes certain"
    )]
    pub async fn start() -> Self {
        let received = Arc::new(Received::default());
        let router = Router::new()
            .route("/v1/models", get(models))
            .route("/v1/chat/completions", door(Wire::Chat))
            .route("/v1/responses", door(Wire::Responses))
            .route("/v1/messages", door(Wire::Messages))
            .route("/v1/messages/count_tokens", post(count_tokens))
            .route("/v1beta/models/{call}", post(generate_content))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&received));
        Self {
            server: LoopbackServer::start(router),
            received,
        }
    }

    /// Returns the base URL that a client of an `OpenAI` API is given, ending in `/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    /// Returns the base URL that a client of Anthropic's or Google's API is given, without a trailing slash.
    pub fn root_url(&self) -> String {
        self.server.url()
    }

    /// Returns what every request so far said, by whichever API it came, oldest first.
    pub fn conversations(&self) -> Vec<Conversation> {
        self.received.conversations.borrow().clone()
    }

    /// Returns the first conversation for which `wanted` holds, and waits for it if it has not come yet.
    ///
    /// Panics with `description` at the deadline.
    pub async fn wait_for_conversation(
        &self,
        deadline: Duration,
        description: &str,
        wanted: impl Fn(&Conversation) -> bool,
    ) -> Conversation {
        let conversations = self.received.conversations.subscribe();
        wait_for(conversations, deadline, description, wanted).await
    }

    /// Returns the body of every completion request so far, oldest first.
    pub fn requests(&self) -> Vec<Value> {
        self.received.requests.borrow().clone()
    }

    /// Returns the same, to be watched as it grows.
    pub fn watch_requests(&self) -> watch::Receiver<Vec<Value>> {
        self.received.requests.subscribe()
    }

    /// Returns the first request for which `wanted` holds, and waits for it if it has not come yet.
    ///
    /// Panics with `description` at the deadline.
    pub async fn wait_for_request(
        &self,
        deadline: Duration,
        description: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        wait_for(self.watch_requests(), deadline, description, wanted).await
    }
}

async fn wait_for<T: Clone>(
    mut received: watch::Receiver<Vec<T>>,
    deadline: Duration,
    description: &str,
    wanted: impl Fn(&T) -> bool,
) -> T {
    let count = received.borrow().len();
    let some = received.wait_for(|received| received.iter().any(&wanted));
    let Ok(found) = tokio::time::timeout(deadline, some).await else {
        panic!("nothing after {count} requests to the model within {deadline:?}: {description}");
    };
    let received = found.expect("the sender lives as long as the stub");
    let found = received.iter().find(|received| wanted(received));
    found.expect("just seen").clone()
}

impl Received {
    /// Records that the fault of this step is due, and returns whether it is still to be played.
    fn takes_effect(&self, prompt: &str, step: usize, fault: Fault) -> bool {
        let mut played = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let played = played.entry((prompt.to_owned(), step)).or_default();
        *played = played.saturating_add(1);
        fault.times.is_none_or(|times| *played <= times)
    }
}

async fn models() -> Json<Value> {
    let model = json!({"id": "stub", "object": "model", "created": 0, "owned_by": "stub"});
    Json(json!({"object": "list", "data": [model]}))
}

/// Takes requests that say themselves whether they want a stream.
fn door(wire: Wire) -> MethodRouter<Arc<Received>> {
    post(
        move |State(received): State<Arc<Received>>, Json(request): Json<Value>| async move {
            let delivery = if request["stream"] == true {
                Delivery::Stream
            } else {
                Delivery::Whole
            };
            serve(&received, wire, delivery, request).await
        },
    )
}

async fn count_tokens() -> Json<Value> {
    Json(json!({"input_tokens": 100}))
}

/// Google names the model and the method in one segment of the path.
async fn generate_content(
    State(received): State<Arc<Received>>,
    Path(call): Path<String>,
    Json(request): Json<Value>,
) -> Response {
    let delivery = match call.rsplit_once(':').map(|(_, method)| method) {
        Some("generateContent") => Delivery::Whole,
        Some("streamGenerateContent") => Delivery::Stream,
        Some("countTokens") => return Json(json!({"totalTokens": 100})).into_response(),
        Some(_) | None => return StatusCode::NOT_FOUND.into_response(),
    };
    serve(&received, Wire::Gemini, delivery, request).await
}

/// How an answer comes.
#[derive(Debug, Clone, Copy)]
enum Delivery {
    Whole,
    Stream,
}

async fn serve(received: &Received, wire: Wire, delivery: Delivery, request: Value) -> Response {
    let conversation = wire.conversation(&request);
    let Decision {
        mut completion,
        prompt,
        step,
    } = decision::decide(&conversation);
    received
        .conversations
        .send_modify(|conversations| conversations.push(conversation));
    received
        .requests
        .send_modify(|requests| requests.push(request));
    if let Some(fault) = completion.fault
        && !received.takes_effect(&prompt, step, fault)
    {
        completion.fault = None;
    }
    match delivery {
        Delivery::Stream => answer::stream(wire, completion).await,
        Delivery::Whole => answer::whole(wire, completion).await,
    }
}

#[cfg(test)]
mod tests;
