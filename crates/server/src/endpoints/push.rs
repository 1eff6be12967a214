//! Web Push: what a paired browser needs to be told of new asks, and where it wants to be.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{ErrorBody, NewPushSubscription, PushView};
use countersign_broker::{Admission, PushWish};
use http::StatusCode;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Refused, UnfitBody};
use crate::error::ApiError;
use crate::extract;
use crate::state::Server;

/// Shows the key that browsers subscribe with, and whether the caller's own browser is told.
#[utoipa::path(get, path = "/api/v1/push", tag = "notifications",
    responses((status = 200, body = PushView), Refused))]
pub(crate) async fn show_push(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<PushView>, ApiError> {
    let broker = &server.broker;
    Ok(Json(PushView {
        public_key: broker.push_key(&admitted.caller).await?,
        subscribed: broker.is_pushed_to(admitted.admission.as_ref()).await?,
    }))
}

/// Has the caller's own browser told of new asks, until it says otherwise, signs out or is signed out.
#[utoipa::path(put, path = "/api/v1/push/subscription", tag = "notifications",
    request_body = NewPushSubscription,
    responses(
        (status = 204),
        (status = 409, body = ErrorBody, description = "The caller is no paired browser"),
        Refused, UnfitBody))]
pub(crate) async fn subscribe(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    extract::Json(new): extract::Json<NewPushSubscription>,
) -> Result<StatusCode, ApiError> {
    let wish = PushWish {
        endpoint: new.endpoint,
        p256dh: new.keys.p256dh,
        auth: new.keys.auth,
    };
    server.broker.subscribe(browser(&admitted)?, wish).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Has the caller's own browser told no more.
#[utoipa::path(delete, path = "/api/v1/push/subscription", tag = "notifications",
    responses(
        (status = 204),
        (status = 409, body = ErrorBody, description = "The caller is no paired browser"),
        Refused))]
pub(crate) async fn unsubscribe(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<StatusCode, ApiError> {
    server.broker.unsubscribe(browser(&admitted)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn browser(admitted: &Admitted) -> Result<&Admission, ApiError> {
    let refusal = || ApiError::conflict("only a paired browser is told this way");
    admitted.admission.as_ref().ok_or_else(refusal)
}
