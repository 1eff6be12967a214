//! Scheduled prompts: listed. They are made in the configuration.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::ScheduleList;

use crate::auth::Admitted;
use crate::endpoints::refusals::Refused;
use crate::error::ApiError;
use crate::state::Server;

/// Lists scheduled prompts, by name: when each is due next, and what became of the last time.
#[utoipa::path(get, path = "/api/v1/schedules", tag = "jobs",
    responses((status = 200, body = ScheduleList), Refused))]
pub(crate) async fn list_schedules(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<ScheduleList>, ApiError> {
    let schedules = server.broker.schedules(&admitted.caller).await?;
    Ok(Json(ScheduleList { schedules }))
}
