//! What happens around every request: the gate before it, a net under it, and headers, counts and a log
//! entry for what failed after it.

#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use countersign_api::ErrorBody;
use futures_util::FutureExt as _;
use http::header::CONTENT_LENGTH;
use serde_json::json;

use crate::error::{ApiError, Failure, json_body};
use crate::gate;
use crate::headers::protect;
use crate::state::Server;

/// Takes a request to its route and its response back.
pub(crate) async fn conduct(
    State(server): State<Arc<Server>>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let under_way = server.metrics.take_request();
    let mut response = match gate::check(&server.hosts, &request) {
        Ok(()) => AssertUnwindSafe(next.run(request))
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| ApiError::panicked(&*panic).into_response()),
        Err(refusal) => refusal.into_response(),
    };
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        name_failure(&server, route.as_ref(), &failure, &mut response);
    }
    drop(under_way);
    server.metrics.count_request(route, response.status());
    protect(response.headers_mut());
    response
}

/// Writes a failure into the log, once, under a name that the client is told.
fn name_failure(
    server: &Server,
    route: Option<&MatchedPath>,
    failure: &Failure,
    response: &mut Response,
) {
    let name = server.name_failure();
    tracing::error!(
        request.id = %name,
        request.route = route.map_or("(none)", MatchedPath::as_str),
        error = &*failure.0 as &dyn std::error::Error,
        "request `{name}` failed",
    );
    if let Some(body) = response.extensions_mut().remove::<Arc<ErrorBody>>() {
        let body = ErrorBody {
            details: json!({ "request": name }),
            ..ErrorBody::clone(&body)
        };
        *response.body_mut() = json_body(&body);
        response.headers_mut().remove(CONTENT_LENGTH);
    }
}
