//! Notifications: listed, put back when they are dead letters; targets: tried out.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{ErrorBody, NotificationList, NotificationsRetried, TargetTest, TargetView};
use countersign_broker::{Target, TargetTried};
use countersign_core::id::NotificationId;
use countersign_core::notification::{Notification, NotificationState};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused, Unavailable, Unfit};
use crate::error::ApiError;
use crate::extract::{self, Id, Query};
use crate::state::Server;

/// Which notifications to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct NotificationQuery {
    /// Only those that stand so; `dead` lists the dead letters.
    #[param(inline)]
    state: Option<NotificationState>,
    /// How many; 100 if it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<i64>,
}

/// Lists notifications, newest first, and whom the configuration says to tell.
#[utoipa::path(get, path = "/api/v1/notifications", tag = "notifications", params(NotificationQuery),
    responses((status = 200, body = NotificationList), Refused, Unfit))]
pub(crate) async fn list_notifications(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<NotificationQuery>,
) -> Result<Json<NotificationList>, ApiError> {
    let limit = extract::within("limit", query.limit, 1..=500, 100)?;
    let caller = &admitted.caller;
    let notifications = server.broker.notifications(caller, query.state, limit);
    let notifications = notifications.await?;
    let targets = server.broker.notification_targets(caller)?;
    Ok(Json(NotificationList {
        targets: targets.into_iter().map(view).collect(),
        notifications,
    }))
}

/// Puts a dead letter back into its target's queue, with all its tries.
#[utoipa::path(post, path = "/api/v1/notifications/{id}/retry", tag = "notifications",
    params(("id" = NotificationId, Path)),
    responses(
        (status = 200, body = Notification),
        (status = 409, body = ErrorBody, description = "It is no dead letter"),
        Refused, Missing, Unfit))]
pub(crate) async fn retry_notification(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<NotificationId>,
) -> Result<Json<Notification>, ApiError> {
    let retried = server.broker.retry_notification(&admitted.caller, id);
    Ok(Json(retried.await?))
}

/// Puts every dead letter back whose target is still configured.
#[utoipa::path(post, path = "/api/v1/notifications/retry", tag = "notifications",
    responses((status = 200, body = NotificationsRetried), Refused))]
pub(crate) async fn retry_notifications(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<NotificationsRetried>, ApiError> {
    let retried = server.broker.retry_notifications(&admitted.caller).await?;
    Ok(Json(NotificationsRetried { retried }))
}

/// Tells a target that this is a test, once and at once, and says how that ended.
#[utoipa::path(post, path = "/api/v1/notifications/targets/{name}/test", tag = "notifications",
    params(("name" = String, Path)),
    responses((status = 200, body = TargetTest), Refused, Missing, Unavailable))]
pub(crate) async fn test_target(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(name): Id<String>,
) -> Result<Json<TargetTest>, ApiError> {
    let tried = server.broker.try_target(&admitted.caller, &name).await?;
    Ok(Json(match tried {
        TargetTried::Took => TargetTest {
            sent: true,
            problem: None,
            output: None,
        },
        TargetTried::DidNot { problem, output } => TargetTest {
            sent: false,
            problem: Some(problem),
            output,
        },
    }))
}

fn view(target: Target) -> TargetView {
    TargetView {
        kind: target.way.name().to_owned(),
        leads_to: target.way.to_string(),
        name: target.name,
        events: target.interest.occasions.into_iter().collect(),
        workspaces: target.interest.workspaces.into_iter().collect(),
        details: target.details,
        tries: target.schedule.tries,
    }
}
