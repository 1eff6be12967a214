//! The event stream.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use countersign_core::grant::Grant;
use futures_util::stream;
use http::header::{self, HeaderMap, HeaderName};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Refused, TooMany, Unfit};
use crate::error::ApiError;
use crate::extract::{self, Query};
use crate::feed::{Cursor, Follower};
use crate::state::Server;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// From where to follow.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventQuery {
    /// Every event after this one; what happens from now on if it is not said. The header `Last-Event-ID`
    /// goes before it.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Whoever follows only looks on: a server that was started in the background need not stay for it.
    #[serde(default)]
    bystander: bool,
}

/// Follows what happens, as server-sent events.
///
/// The stream begins with `hello` and the number of the newest event. Events have their number as `id`,
/// their type as `event` and an `Event` as `data`; words as they are said are `delta`, without an `id`.
/// `reset` says that events are missing: read everything again. `goodbye` says that the server ends in order, and is the
/// last of a stream: its `reason` is `stopped` if somebody stopped it, or `idle` if it was started in the background and
/// nobody needs it.
#[utoipa::path(get, path = "/api/v1/events", tag = "events", params(EventQuery),
    responses((status = 200, body = String, content_type = "text/event-stream"), Refused, Unfit, TooMany))]
pub(crate) async fn follow_events(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    admitted.caller.require(Grant::Read)?;
    let cursor = cursor(&headers, &query)?;
    let place = server.streams.enter(&admitted)?;
    let only = admitted.caller.workspace();
    let bystander = query.bystander.then(|| server.settings.presence.stand_by());
    let follower = Follower::start(server, place, only, cursor).await?;
    let following = (follower, bystander);
    let frames = stream::unfold(following, async |(mut follower, bystander)| {
        let bytes = follower.next().await?;
        Some((Ok::<_, Infallible>(bytes), (follower, bystander)))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies that gather responses would hold events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(frames)).into_response())
}

fn cursor(headers: &HeaderMap, query: &EventQuery) -> Result<Cursor, ApiError> {
    let after = match headers.get(LAST_EVENT_ID) {
        Some(value) => {
            let number = value
                .to_str()
                .ok()
                .and_then(|text| text.trim().parse().ok());
            let number = number.ok_or_else(|| {
                ApiError::bad_request("`Last-Event-ID` is not the number of an event")
            })?;
            Some(number)
        }
        None => query.after,
    };
    match after {
        None => Ok(Cursor::Now),
        Some(seq) => extract::within("after", Some(seq), 0..=i64::MAX, 0).map(Cursor::After),
    }
}
