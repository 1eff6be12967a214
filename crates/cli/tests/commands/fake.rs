//! A small server that answers like the real one, and remembers what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use countersign_core::id::AskId;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) const WORKSPACE: &str = "ws_01jc0000000000000000000001";
pub(crate) const SESSION: &str = "session_01jc0000000000000000000001";
pub(crate) const TURN: &str = "turn_01jc0000000000000000000001";
pub(crate) const RUN: &str = "run_01jc0000000000000000000001";
pub(crate) const ACTOR: &str = "actor_01jc0000000000000000000001";
pub(crate) const OPEN: &str = "ask_01jc00000000000000000pen01";
pub(crate) const TAKEN: &str = "ask_01jc0000000000000000taken1";
pub(crate) const GONE: &str = "ask_01jc0000000000000000g0ne01";
pub(crate) const CLOSED: &str = "ask_01jc0000000000000000c0de01";
/// A question of one part with three choices.
pub(crate) const QUESTION: &str = "ask_01jc0000000000000000qest01";
pub(crate) const TOKEN: &str = "cs_test";

/// What the server remembers and is going to say.
#[derive(Default)]
pub(crate) struct Memory {
    /// Answers that it got.
    pub(crate) answers: Mutex<Vec<(String, Value)>>,
    /// What each connection to the event stream is told after hello; the last one is kept open until the server leaves.
    pub(crate) streams: Mutex<Vec<String>>,
    /// The `Last-Event-ID` of each connection to the event stream.
    pub(crate) cursors: Mutex<Vec<Option<String>>>,
    /// Said when a prompt was taken.
    pub(crate) prompted: Notify,
    /// The asks that fall when [`OPEN`] is denied.
    pub(crate) siblings: Mutex<Vec<&'static str>>,
    /// Ends the event stream that is kept open.
    pub(crate) left: CancellationToken,
    /// Whether the event stream waits for a prompt before it says anything.
    pub(crate) waits_for_prompt: Mutex<bool>,
}

/// The server, running.
pub(crate) struct Fake {
    pub(crate) memory: Arc<Memory>,
    tasks: JoinSet<()>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self {
            memory: Arc::default(),
            tasks: JoinSet::new(),
        }
    }

    /// Listens on a free port and returns its address.
    pub(crate) fn on_tcp(&mut self) -> String {
        let listener = countersign_testkit::ports::listen();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let routes = routes(&self.memory, true);
        self.tasks
            .spawn(async move { axum::serve(listener, routes).await.unwrap() });
        url
    }

    /// Listens on a socket in `data` and writes the runtime file beside it.
    pub(crate) fn on_socket(&mut self, data: &std::path::Path) {
        let socket = data.join("countersign.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        write_server_file(data);
        let routes = routes(&self.memory, false);
        self.tasks
            .spawn(async move { axum::serve(listener, routes).await.unwrap() });
    }
}

impl Fake {
    /// Is there no more, as one that was killed: only its runtime file is left.
    pub(crate) async fn leave(mut self) {
        self.tasks.shutdown().await;
        self.memory.left.cancel();
    }
}

/// Says in `data` that a server runs there: this process.
pub(crate) fn write_server_file(data: &std::path::Path) {
    let file = json!({
        "pid": std::process::id(),
        "url": "http://127.0.0.1:1",
        "socket": data.join("countersign.sock"),
        "version": env!("CARGO_PKG_VERSION"),
        "started_at": "2027-01-15T08:00:00Z",
    });
    std::fs::write(data.join("server.json"), file.to_string()).unwrap();
}

#[derive(Clone)]
struct Server {
    memory: Arc<Memory>,
    wants_token: bool,
}

fn routes(memory: &Arc<Memory>, wants_token: bool) -> Router {
    let server = Server {
        memory: Arc::clone(memory),
        wants_token,
    };
    Router::new()
        .route(
            "/healthz",
            get(async || axum::Json(json!({"status": "ok"}))),
        )
        .route("/readyz", get(async || axum::Json(json!({"status": "ok"}))))
        .route("/api/v1/me", get(me))
        .route("/api/v1/alarms", get(async || axum::Json(json!([]))))
        .route("/api/v1/workspaces", get(workspaces))
        .route("/api/v1/asks", get(list))
        .route("/api/v1/asks/{id}", get(show))
        .route("/api/v1/asks/{id}/answer", post(answer))
        .route("/api/v1/asks/{id}/settled", get(settled))
        .route("/api/v1/sessions", get(sessions).post(begin))
        .route("/api/v1/sessions/{id}", get(session))
        .route("/api/v1/sessions/{id}/items", get(items))
        .route("/api/v1/sessions/{id}/prompt", post(prompt))
        .route("/api/v1/events", get(events))
        .with_state(server)
}

/// An ask in a state.
pub(crate) fn ask(id: &str, state: &str) -> Value {
    let mut ask = json!({
        "id": id, "workspace": WORKSPACE, "door": "opencode", "run": RUN, "session": SESSION,
        "requester": "build", "directory": "/srv/proj",
        "subject": {
            "kind": "permission", "tool": "bash", "targets": ["cargo test"],
            "shown": [{"kind": "command", "text": "cargo test"}],
        },
        "summary": "cargo test", "raw": {}, "options": [], "opened_at": "2027-01-15T08:00:00Z",
        "digest": "ab".repeat(32), "likeness": "cd".repeat(32), "state": state, "siblings": [],
        "may_answer": state == "open",
    });
    if id == QUESTION {
        let option = |label: &str| json!({"label": label, "description": ""});
        ask["subject"] = json!({"kind": "question", "questions": [{
            "header": "Store", "question": "Which database?", "multiple": false,
            "options": [option("sqlite"), option("postgres"), option("neither")],
        }]});
    }
    if matches!(state, "answered" | "delivered") {
        ask["answer"] = json!({
            "answer": "deny", "reason": "not on my watch", "surface": "web",
            "by": {"id": ACTOR, "kind": "person", "name": "ada"}, "at": "2027-01-15T08:01:00Z",
        });
    }
    if state == "withdrawn" {
        ask["why"] = json!("the turn was cancelled");
    }
    ask
}

fn known() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([
        (OPEN, "open"),
        (TAKEN, "answered"),
        (GONE, "withdrawn"),
        (CLOSED, "open"),
    ])
}

fn error(status: StatusCode, code: &str, message: &str, details: &Value) -> Response {
    let body = json!({"code": code, "message": message, "details": details});
    (status, axum::Json(body)).into_response()
}

fn not_found() -> Response {
    error(
        StatusCode::NOT_FOUND,
        "not_found",
        "there is no such ask",
        &json!({}),
    )
}

async fn me() -> Response {
    axum::Json(json!({
        "actor": {"id": ACTOR, "kind": "person", "name": "ada"},
        "grants": ["read", "answer"], "surface": "cli",
    }))
    .into_response()
}

async fn workspaces() -> Response {
    axum::Json(json!({"workspaces": [{
        "id": WORKSPACE, "name": "proj", "path": "/srv/proj", "added_at": "2027-01-15T08:00:00Z",
        "engine": {"program": "opencode", "version": "1.18.33", "state": "ready", "message": "", "consent": "relay"},
    }]}))
    .into_response()
}

async fn list(
    State(server): State<Server>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let token = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    if server.wants_token && token != Some(&format!("Bearer {TOKEN}")) {
        return error(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "no such token",
            &json!({}),
        );
    }
    let only_open = query.unwrap_or_default().contains("state=open");
    let asks: Vec<Value> = known()
        .into_iter()
        .filter(|(_, state)| !only_open || *state == "open")
        .map(|(id, state)| ask(id, state))
        .collect();
    axum::Json(json!({ "asks": asks })).into_response()
}

async fn show(State(server): State<Server>, Path(id): Path<AskId>) -> Response {
    let id = id.to_string();
    if id == QUESTION {
        return axum::Json(ask(&id, "open")).into_response();
    }
    let Some(state) = known().get(id.as_str()).copied() else {
        return not_found();
    };
    let mut ask = ask(&id, state);
    if id == OPEN {
        ask["siblings"] = json!(*server.memory.siblings.lock().unwrap());
    }
    axum::Json(ask).into_response()
}

async fn answer(State(server): State<Server>, Path(id): Path<AskId>, body: Bytes) -> Response {
    let id = id.to_string();
    let body: Value = serde_json::from_slice(&body).unwrap();
    if id == QUESTION && body["answer"] != "choices" {
        return error(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unprocessable",
            "a question is answered with `choices`, or with `deny`",
            &json!({}),
        );
    }
    server
        .memory
        .answers
        .lock()
        .unwrap()
        .push((id.clone(), body));
    match id.as_str() {
        OPEN | QUESTION => axum::Json(ask(&id, "answered")).into_response(),
        TAKEN => error(
            StatusCode::CONFLICT,
            "already_answered",
            "somebody was first",
            &json!({"ask": ask(&id, "answered")}),
        ),
        GONE => error(
            StatusCode::GONE,
            "over",
            "the ask is over",
            &json!({"ask": ask(&id, "withdrawn")}),
        ),
        CLOSED => error(
            StatusCode::FORBIDDEN,
            "forbidden",
            "your token does not let you",
            &json!({"grant": "answer"}),
        ),
        _ => not_found(),
    }
}

async fn settled(Path(id): Path<AskId>) -> Response {
    axum::Json(ask(&id.to_string(), "delivered")).into_response()
}

fn session_view(turn: Value) -> Value {
    let mut view = json!({
        "id": SESSION, "workspace": WORKSPACE, "engine": "opencode", "native_id": "ses_1", "title": "a title",
        "directory": "/srv/proj", "agent": "build", "activity": "idle",
        "started_at": "2027-01-15T08:00:00Z", "changed_at": "2027-01-15T08:00:00Z",
        "open_asks": 0, "may_prompt": true,
    });
    if !turn.is_null() {
        view["turn"] = turn;
    }
    view
}

async fn sessions() -> Response {
    axum::Json(json!({"sessions": [session_view(Value::Null)]})).into_response()
}

async fn begin() -> Response {
    (StatusCode::CREATED, axum::Json(session_view(Value::Null))).into_response()
}

async fn session() -> Response {
    axum::Json(session_view(json!({
        "id": TURN, "session": SESSION, "native_id": "msg_1", "prompt": "hello",
        "started_at": "2027-01-15T08:00:00Z", "outcome": {"outcome": "completed"},
    })))
    .into_response()
}

async fn items(RawQuery(query): RawQuery) -> Response {
    let items = if query.is_none() {
        json!([])
    } else {
        json!([
            {"seq": 1, "native_id": "p0", "at": "2027-01-15T08:00:00Z", "kind": "prompt", "text": "hello"},
            {"seq": 2, "native_id": "p1", "at": "2027-01-15T08:00:00Z", "kind": "text", "text": "Hello world!"},
        ])
    };
    axum::Json(json!({ "items": items })).into_response()
}

async fn prompt(State(server): State<Server>) -> Response {
    server.memory.prompted.notify_one();
    let taken = json!({"turn": TURN, "session": SESSION});
    (StatusCode::ACCEPTED, axum::Json(taken)).into_response()
}

async fn events(State(server): State<Server>, headers: HeaderMap) -> Response {
    let cursor = headers
        .get("last-event-id")
        .map(|value| value.to_str().unwrap().to_owned());
    server.memory.cursors.lock().unwrap().push(cursor);
    let (said, last) = {
        let mut streams = server.memory.streams.lock().unwrap();
        if streams.is_empty() {
            (String::new(), true)
        } else {
            let said = streams.remove(0);
            (said, streams.is_empty())
        }
    };
    let waits = *server.memory.waits_for_prompt.lock().unwrap();
    let memory = Arc::clone(&server.memory);
    let hello = Bytes::from("event: hello\ndata: {\"seq\":5}\n\n");
    let rest = async move {
        if waits {
            memory.prompted.notified().await;
        }
        Bytes::from(said)
    };
    let begun = futures_util::stream::iter([hello]).chain(futures_util::stream::once(rest));
    let whole = if last {
        let left = server.memory.left.clone();
        let end = futures_util::stream::once(async move {
            left.cancelled().await;
            Bytes::new()
        });
        begun.chain(end).boxed()
    } else {
        begun.boxed()
    };
    let body = Body::from_stream(whole.map(Ok::<_, std::convert::Infallible>));
    ([("content-type", "text/event-stream")], body).into_response()
}

/// An event of the stream.
pub(crate) fn event(seq: i64, body: &Value) -> String {
    let mut event = json!({"seq": seq, "at": "2027-01-15T08:00:00Z", "workspace": WORKSPACE});
    for (key, value) in body.as_object().unwrap() {
        event[key] = value.clone();
    }
    format!(
        "id: {seq}\nevent: {}\ndata: {event}\n\n",
        body["type"].as_str().unwrap()
    )
}

/// Words of the stream.
pub(crate) fn delta(text: &str) -> String {
    let delta = json!({
        "workspace": WORKSPACE, "session": SESSION, "item": "p1", "thought": false, "text": text,
    });
    format!("event: delta\ndata: {delta}\n\n")
}
