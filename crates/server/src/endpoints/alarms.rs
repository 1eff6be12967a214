//! Alarms: what happened and must not.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::AlarmView;

use crate::auth::Admitted;
use crate::endpoints::refusals::Refused;
use crate::error::ApiError;
use crate::state::Server;

/// Lists the newest alarms.
#[utoipa::path(get, path = "/api/v1/alarms", tag = "alarms",
    responses((status = 200, body = Vec<AlarmView>), Refused))]
pub(crate) async fn list_alarms(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<Vec<AlarmView>>, ApiError> {
    let alarms = server.broker.alarms(&admitted.caller).await?;
    let views = alarms.into_iter().map(|alarm| AlarmView {
        id: alarm.id,
        workspace: alarm.alarm.workspace,
        session: alarm.alarm.session,
        ask: alarm.alarm.ask,
        at: alarm.at,
        message: alarm.alarm.message,
    });
    Ok(Json(views.collect()))
}
