//! The paths of opencode's v1 API that a supervisor uses.

use std::collections::HashMap;
use std::convert::Infallible;

use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Map, Value, json};

use super::asking::Kind;
use super::event_stream::Scope;
use super::replying;
use super::session::Prompt;
use super::wire::{
    bad_request, base64, message_not_found, new_id, percent_decode, session_not_found,
};
use super::{RouteFault, RouteFaultKind, Settings, Shared, VERSION};

/// Returns the API behind Basic authentication, if there is a password.
pub(super) fn router(shared: Shared, settings: &Settings) -> Router {
    let router = Router::new()
        .route("/global/health", get(health))
        .route("/global/event", get(global_events))
        .route("/event", get(directory_events))
        .route("/config", get(nothing_set))
        .route("/mcp", get(nothing_set))
        .route("/experimental/tool/ids", get(tool_ids))
        .route("/permission", get(permissions))
        .route("/question", get(questions))
        .route("/session", get(sessions).post(create_session))
        .route("/session/status", get(status))
        .route("/session/{id}", get(session).patch(change_session))
        .route("/session/{id}/children", get(children))
        .route("/session/{id}/message", get(messages))
        .route("/session/{id}/message/{message}", get(message))
        .route("/session/{id}/prompt_async", post(prompt))
        .route("/session/{id}/abort", post(abort))
        .merge(replying::router())
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(shared.clone(), fail))
        .with_state(shared);
    let Some(password) = &settings.password else {
        return router;
    };
    let username = settings.username.as_deref().unwrap_or("opencode");
    let credentials = base64(&format!("{username}:{password}"));
    router.layer(middleware::from_fn(move |request: Request, next: Next| {
        authenticate(credentials.clone(), request, next)
    }))
}

/// A response that is being made; whoever waits for it may go away.
struct Answering(Shared);

impl Answering {
    fn begin(shared: Shared) -> Self {
        shared.world().answering += 1;
        Self(shared)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.world().answering -= 1;
    }
}

/// Fails where the test says so.
async fn fail(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let fault = shared.world().faults.route.clone();
    let is_about =
        |fault: &RouteFault| fault.is_about(request.method().as_str(), request.uri().path());
    match fault.filter(is_about).map(|fault| fault.kind) {
        None => {
            let _answering = Answering::begin(shared.clone());
            next.run(request).await
        }
        Some(RouteFaultKind::BadRequest) => {
            let message = "Expected JSON value, got undefined\n  at [1][\"metadata\"][\"timeout\"]";
            bad_request("Body", message)
        }
        Some(RouteFaultKind::Broken) => {
            let error =
                json!({"name": "UnknownError", "data": {"message": "Unexpected server error"}});
            (StatusCode::INTERNAL_SERVER_ERROR, Json(error)).into_response()
        }
        Some(RouteFaultKind::Hangs) => std::future::pending().await,
        Some(RouteFaultKind::Garbage) => "<!doctype html>".into_response(),
    }
}

async fn authenticate(credentials: String, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    let is_known =
        header.is_some_and(|given| given.as_bytes() == format!("Basic {credentials}").as_bytes());
    if is_known {
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, r#"Basic realm="Secure Area""#)];
    (StatusCode::UNAUTHORIZED, challenge).into_response()
}

/// The directory that a request is for: the query's, the header's, or the server's own.
pub(super) struct Directory(pub(super) String);

impl FromRequestParts<Shared> for Directory {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Infallible> {
        let query = Query::<HashMap<String, String>>::try_from_uri(&parts.uri);
        let in_query = query
            .ok()
            .and_then(|Query(mut query)| query.remove("directory"));
        let header = parts.headers.get("x-opencode-directory");
        let in_header = || Some(percent_decode(header?.to_str().ok()?));
        let named = in_query.or_else(in_header);
        Ok(Self(
            named.unwrap_or_else(|| shared.world().directory.clone()),
        ))
    }
}

async fn health() -> Json<Value> {
    Json(json!({"healthy": true, "version": VERSION}))
}

/// The configuration and the MCP servers of somebody who has set nothing up.
async fn nothing_set() -> Json<Value> {
    Json(json!({}))
}

async fn tool_ids() -> Json<Value> {
    Json(json!(["bash", "edit", "question", "read", "write"]))
}

async fn global_events(State(shared): State<Shared>) -> Response {
    shared.world().listen()
}

async fn directory_events(
    State(shared): State<Shared>,
    Directory(directory): Directory,
) -> Response {
    shared.world().events.open(Scope::Directory(directory))
}

async fn permissions(
    State(shared): State<Shared>,
    Directory(directory): Directory,
) -> Json<Vec<Value>> {
    Json(shared.world().pending_in(Kind::Permission, &directory))
}

async fn questions(
    State(shared): State<Shared>,
    Directory(directory): Directory,
) -> Json<Vec<Value>> {
    Json(shared.world().pending_in(Kind::Question, &directory))
}

async fn sessions(
    State(shared): State<Shared>,
    Directory(directory): Directory,
) -> Json<Vec<Value>> {
    let world = shared.world();
    let sessions = world.sessions_in(&directory);
    Json(
        sessions
            .map(|session| session.information().clone())
            .collect(),
    )
}

async fn create_session(
    State(shared): State<Shared>,
    Directory(directory): Directory,
    body: Option<Json<Value>>,
) -> Json<Value> {
    let body = body.map_or(Value::Null, |Json(body)| body);
    Json(shared.world().create_session(&body, &directory))
}

/// Idle sessions are absent.
async fn status(State(shared): State<Shared>, Directory(directory): Directory) -> Json<Value> {
    let world = shared.world();
    let busy = world
        .sessions_in(&directory)
        .filter(|session| session.turn.is_some());
    let busy: Map<String, Value> = busy
        .map(|session| (session.id.clone(), json!({"type": "busy"})))
        .collect();
    Json(Value::Object(busy))
}

async fn session(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    match shared.world().session(&id) {
        Some(session) => Json(session.information().clone()).into_response(),
        None => session_not_found(&id),
    }
}

async fn change_session(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    match shared.world().session(&id) {
        Some(session) => {
            session.append_rules(body["permission"].as_array().map_or(&[], Vec::as_slice));
            Json(session.information().clone()).into_response()
        }
        None => session_not_found(&id),
    }
}

async fn children(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    let mut world = shared.world();
    let Some(directory) = world.session(&id).map(|session| session.directory.clone()) else {
        return session_not_found(&id);
    };
    let children: Vec<Value> = world
        .sessions_in(&directory)
        .map(|session| session.information().clone())
        .filter(|information| information["parentID"] == id.as_str())
        .collect();
    Json(children).into_response()
}

/// Returns the newest messages in the order of their age; `x-next-cursor` leads to older ones.
async fn messages(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let mut world = shared.world();
    let Some(session) = world.session(&id) else {
        return session_not_found(&id);
    };
    let number = |key| {
        query
            .get(key)
            .and_then(|text: &String| text.parse::<usize>().ok())
    };
    let all = session.transcript.messages();
    let end = number("before").map_or(all.len(), |before| before.min(all.len()));
    let start = number("limit").map_or(0, |limit| end.saturating_sub(limit));
    let page = Json(&all[start..end]).into_response();
    if start == 0 {
        return page;
    }
    ([("x-next-cursor", start.to_string())], page).into_response()
}

async fn message(
    State(shared): State<Shared>,
    Path((session_id, message_id)): Path<(String, String)>,
) -> Response {
    let mut world = shared.world();
    let Some(session) = world.session(&session_id) else {
        return session_not_found(&session_id);
    };
    match session.transcript.message(&message_id) {
        Some(message) => Json(message).into_response(),
        None => message_not_found(&message_id),
    }
}

async fn prompt(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    let mut world = shared.world();
    if world.session(&id).is_none() {
        return session_not_found(&id);
    }
    let Some(parts) = body["parts"].as_array() else {
        return bad_request("Payload", "Missing key\n  at [\"parts\"]");
    };
    let message_id = body["messageID"].as_str().map(str::to_owned);
    let prompt = Prompt {
        message_id: message_id.unwrap_or_else(|| new_id("msg")),
        parts: parts.clone(),
    };
    world.prompt(&id, prompt);
    StatusCode::NO_CONTENT.into_response()
}

/// Says true also of sessions that it does not know.
async fn abort(State(shared): State<Shared>, Path(id): Path<String>) -> Json<bool> {
    shared.world().abort(&id);
    Json(true)
}
