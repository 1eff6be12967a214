//! The switches over HTTP, for tests that meet the stand-in as a separate program. They need no password.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::asking::{Reply, Wish};
use super::wire::now_micros;
use super::world::World;
use super::{Faults, Happening, Outcome, ReceivedReply, Shared, Trace};

pub(super) fn router(shared: Shared) -> Router {
    Router::new()
        .route("/__control/ask", post(ask))
        .route("/__control/question", post(question))
        .route("/__control/happenings", get(happenings))
        .route("/__control/replies", get(replies))
        .route("/__control/session", post(restore_session))
        .route("/__control/event", post(announce))
        .route("/__control/drop-events", post(drop_events))
        .route("/__control/fault", post(fault))
        .route("/__control/foreign-reply", post(foreign_reply))
        .route("/__control/forget", post(forget))
        .with_state(shared)
}

/// The body of `POST /__control/ask`. Without a session it is asked in the newest one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskBody {
    #[serde(default)]
    pub(super) session: Option<String>,
    pub(super) permission: String,
    pub(super) patterns: Vec<String>,
    #[serde(default)]
    pub(super) metadata: Value,
}

/// The body of `POST /__control/question`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuestionBody {
    #[serde(default)]
    pub(super) session: Option<String>,
    pub(super) question: String,
    pub(super) options: Vec<String>,
}

/// The body of `POST /__control/session`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionBody {
    pub(super) id: String,
}

/// The body of `POST /__control/event`: the payload of an event.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventBody {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) properties: Value,
}

/// The body of `POST /__control/foreign-reply`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForeignReplyBody {
    pub(super) id: String,
}

/// The body of `POST /__control/forget`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForgetBody {
    pub(super) id: String,
    pub(super) trace: Trace,
}

async fn ask(State(shared): State<Shared>, Json(body): Json<AskBody>) -> Response {
    let wish = Wish::permission(&body.permission, &body.patterns, &body.metadata);
    open(&mut shared.world(), body.session, wish)
}

async fn question(State(shared): State<Shared>, Json(body): Json<QuestionBody>) -> Response {
    let wish = Wish::question(&body.question, body.options.iter().map(String::as_str));
    open(&mut shared.world(), body.session, wish)
}

fn open(world: &mut World, session: Option<String>, wish: Wish) -> Response {
    let session = session.unwrap_or_else(|| world.some_session());
    match world.ask(&session, wish) {
        Some(id) => Json(json!({"id": id, "session": session})).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn happenings(State(shared): State<Shared>) -> Json<Vec<Happening>> {
    Json(shared.world().happenings.clone())
}

/// The real one finds its sessions again after a restart; this one is told of them.
async fn restore_session(
    State(shared): State<Shared>,
    Json(body): Json<SessionBody>,
) -> Json<Value> {
    let mut world = shared.world();
    let directory = world.directory.clone();
    Json(world.create_session(&json!({"id": body.id}), &directory))
}

async fn announce(State(shared): State<Shared>, Json(body): Json<EventBody>) -> Json<bool> {
    let world = shared.world();
    world
        .events
        .publish(&world.directory, &body.kind, body.properties);
    Json(true)
}

async fn replies(State(shared): State<Shared>) -> Json<Vec<ReceivedReply>> {
    Json(shared.world().replies.clone())
}

async fn drop_events(State(shared): State<Shared>) -> Json<bool> {
    shared.world().events.cut();
    Json(true)
}

async fn fault(State(shared): State<Shared>, Json(faults): Json<Faults>) -> Json<bool> {
    shared.world().faults = faults;
    Json(true)
}

async fn foreign_reply(
    State(shared): State<Shared>,
    Json(body): Json<ForeignReplyBody>,
) -> Json<bool> {
    Json(reply_as_foreigner(&mut shared.world(), &body.id))
}

async fn forget(State(shared): State<Shared>, Json(body): Json<ForgetBody>) -> Json<bool> {
    Json(shared.world().forget(&body.id, body.trace))
}

/// Replies as somebody would who goes past Countersign: `once`, or an empty answer.
pub(super) fn reply_as_foreigner(world: &mut World, id: &str) -> bool {
    let Some((kind, directory)) = world.locate(id) else {
        return false;
    };
    let reply = match kind {
        super::asking::Kind::Permission => Reply::Once,
        super::asking::Kind::Question => Reply::Answers(json!([[]])),
    };
    let body = json!({"reply": reply.word()});
    world.note(id, body, Outcome::Foreign, now_micros());
    world.reply(kind, id, &directory, &reply)
}
