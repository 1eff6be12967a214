//! Whether the server lives, whether it can work, and its figures.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::Admitted;
use crate::endpoints::refusals::Refused;
use crate::error::ApiError;
use crate::state::Server;

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, or what is wrong.
    status: &'static str,
}

/// Tells that the server lives.
#[utoipa::path(get, path = "/healthz", tag = "server", security(()),
    responses((status = 200, body = Health)))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Tells whether the server can work: its ledger answers.
#[utoipa::path(get, path = "/readyz", tag = "server", security(()),
    responses((status = 200, body = Health), (status = 503, body = Health)))]
pub(crate) async fn readyz(State(server): State<Arc<Server>>) -> Response {
    if server.shutdown.is_cancelled() {
        return unready("ending");
    }
    match Box::pin(server.broker.ping()).await {
        Ok(()) => Json(Health { status: "ok" }).into_response(),
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger does not answer"
            );
            unready("the ledger does not answer")
        }
    }
}

fn unready(status: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status })).into_response()
}

/// Figures for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, body = String, content_type = METRICS_TYPE), Refused))]
pub(crate) async fn metrics(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Response, ApiError> {
    let open_asks = Box::pin(server.broker.count_open_asks(&admitted.caller)).await?;
    let text = server
        .metrics
        .write(open_asks, server.feed.streams())
        .map_err(|error| ApiError::internal(Arc::new(error) as Arc<_>))?;
    Ok(([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response())
}

const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
