//! What is set for sessions: shown, and changed.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{ErrorBody, SetRequest, SettingSet, SettingsView};
use countersign_broker::{SettingMade, SettingsContext};
use countersign_core::id::SessionId;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused, Unavailable, UnfitBody};
use crate::error::ApiError;
use crate::extract::{self, Id};
use crate::state::Server;

/// Shows what is set for a session and what could be, the agent's commands and its usage.
#[utoipa::path(get, path = "/api/v1/sessions/{id}/settings", tag = "sessions",
    params(("id" = SessionId, Path)),
    responses((status = 200, body = SettingsView), Refused, Missing))]
pub(crate) async fn show_settings(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<SessionId>,
) -> Result<Json<SettingsView>, ApiError> {
    let settings = server.broker.session_settings(&admitted.caller, id).await?;
    Ok(Json(view(settings)))
}

/// Sets the mode, the model or an option of a session. Only what the agent offers can be set.
#[utoipa::path(post, path = "/api/v1/sessions/{id}/settings", tag = "sessions",
    params(("id" = SessionId, Path)), request_body = SetRequest,
    responses((status = 200, body = SettingSet),
        (status = 409, body = ErrorBody, description = "The agent refused it, in its words"),
        Refused, Missing, UnfitBody, Unavailable))]
pub(crate) async fn change_settings(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<SessionId>,
    extract::Json(request): extract::Json<SetRequest>,
) -> Result<Json<SettingSet>, ApiError> {
    let (name, value) = request.wish().ok_or_else(|| {
        ApiError::unprocessable("set one thing: `mode`, `model`, or `option` with its `value`")
    })?;
    let SettingMade { settings, applied } =
        server.broker.set(&admitted.caller, id, name, value).await?;
    Ok(Json(SettingSet {
        settings: view(settings),
        applied,
    }))
}

fn view(context: SettingsContext) -> SettingsView {
    SettingsView::new(
        context.session,
        context.told,
        context.chosen,
        context.may_set,
    )
}
