//! The paths on which replies come in, and what the faults of the moment make of them.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::asking::{Kind, Reply};
use super::event_stream::broken_response;
use super::routes::Directory;
use super::wire::{ask_not_found, bad_request, now_micros};
use super::{Outcome, ReplyFault, Shared};

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/permission/{id}/reply", post(reply_to_permission))
        .route("/question/{id}/reply", post(reply_to_question))
        .route("/question/{id}/reject", post(reject_question))
        .route(
            "/session/{id}/permissions/{ask}",
            post(reply_the_deprecated_way),
        )
}

async fn reply_to_permission(
    State(shared): State<Shared>,
    Directory(directory): Directory,
    Path(id): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    let reply = Reply::to_permission(&body, "reply");
    take_reply(&shared, Kind::Permission, &id, Some(directory), body, reply).await
}

/// The session in the path only chooses the directory, and here not even that.
async fn reply_the_deprecated_way(
    State(shared): State<Shared>,
    Path((_, id)): Path<(String, String)>,
    Json(body): Json<Value>,
) -> Response {
    let reply = Reply::to_permission(&body, "response");
    take_reply(&shared, Kind::Permission, &id, None, body, reply).await
}

async fn reply_to_question(
    State(shared): State<Shared>,
    Directory(directory): Directory,
    Path(id): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    let reply = Reply::to_question(&body);
    take_reply(&shared, Kind::Question, &id, Some(directory), body, reply).await
}

async fn reject_question(
    State(shared): State<Shared>,
    Directory(directory): Directory,
    Path(id): Path<String>,
) -> Response {
    let body = json!({"reject": true});
    take_reply(
        &shared,
        Kind::Question,
        &id,
        Some(directory),
        body,
        Ok(Reply::Dismiss),
    )
    .await
}

/// Takes a reply as the faults of the moment will have it, and notes it.
async fn take_reply(
    shared: &Shared,
    kind: Kind,
    id: &str,
    directory: Option<String>,
    body: Value,
    reply: Result<Reply, String>,
) -> Response {
    let received = now_micros();
    let faults = shared.world().faults.clone();
    wait(faults.delay_replies_milliseconds).await;
    if !id.starts_with(kind.prefix()) {
        shared.world().note(id, body, Outcome::Invalid, received);
        let expected = format!(
            "Expected a string starting with \"{}\", got \"{id}\"",
            kind.prefix()
        );
        return bad_request("Params", &format!("{expected}\n  at [\"requestID\"]"));
    }
    let reply = match reply {
        Ok(reply) => reply,
        Err(message) => {
            shared.world().note(id, body, Outcome::Invalid, received);
            return bad_request("Payload", &message);
        }
    };
    let outcome = {
        let mut world = shared.world();
        let directory = directory.or_else(|| world.locate(id).map(|(_, directory)| directory));
        let outcome = if faults.replies == ReplyFault::Swallowed {
            Outcome::Swallowed
        } else if world.reply(kind, id, &directory.unwrap_or_default(), &reply) {
            Outcome::Taken
        } else {
            Outcome::NotFound
        };
        world.note(id, body, outcome, received);
        outcome
    };
    wait(faults.delay_acknowledgements_milliseconds).await;
    match (outcome, faults.replies) {
        (Outcome::NotFound, _) => ask_not_found(kind.name(), id),
        (_, ReplyFault::Unacknowledged) => broken_response(),
        (_, ReplyFault::None | ReplyFault::Swallowed | ReplyFault::Unannounced) => {
            Json(true).into_response()
        }
    }
}

async fn wait(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}
