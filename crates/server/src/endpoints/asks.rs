//! Asks: listed, shown, answered, waited for.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use countersign_api::{AnswerRequest, AskList, AskView, ErrorBody};
use countersign_broker::{Answered, AskContext, AskFilter};
use countersign_core::ask::{Ask, AskPhase};
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{AskId, SessionId, WorkspaceId};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused, TooMany, Unfit, UnfitBody};
use crate::error::ApiError;
use crate::extract::{self, Id, Query};
use crate::state::Server;

/// Which asks to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AskQuery {
    /// Only those in this state.
    #[param(inline)]
    state: Option<AskPhase>,
    /// Only those of this session.
    session: Option<SessionId>,
    /// Only those of this workspace.
    workspace: Option<WorkspaceId>,
    /// How many; 100 if it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<i64>,
    /// Only those opened before this one: the `next` of the page before.
    before: Option<AskId>,
}

/// Lists asks, newest first.
#[utoipa::path(get, path = "/api/v1/asks", tag = "asks", params(AskQuery),
    responses((status = 200, body = AskList), Refused, Unfit))]
pub(crate) async fn list_asks(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<AskQuery>,
) -> Result<Json<AskList>, ApiError> {
    let limit = extract::within("limit", query.limit, 1..=500, 100)?;
    let filter = AskFilter {
        phase: query.state,
        session: query.session,
        workspace: query.workspace,
        before: query.before,
    };
    let mut contexts = server
        .broker
        .asks(&admitted.caller, filter, limit + 1)
        .await?;
    // The one more than was wished for tells that there is a next page.
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = contexts.len() > limit;
    contexts.truncate(limit);
    let next = contexts.last().map(|last| last.ask.id).filter(|_| more);
    let now = server.broker.clock().now();
    server.metrics.see(&contexts, &admitted.caller, now);
    Ok(Json(AskList {
        asks: contexts.into_iter().map(view).collect(),
        next,
    }))
}

/// Shows an ask.
#[utoipa::path(get, path = "/api/v1/asks/{id}", tag = "asks", params(("id" = AskId, Path)),
    responses((status = 200, body = AskView), Refused, Missing))]
pub(crate) async fn show_ask(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<AskId>,
) -> Result<Json<AskView>, ApiError> {
    let context = server.broker.ask(&admitted.caller, id).await?;
    let now = server.broker.clock().now();
    server
        .metrics
        .see(std::slice::from_ref(&context), &admitted.caller, now);
    Ok(Json(view(context)))
}

/// Answers an ask. The first answer stands; the same answer again by the same actor is no error.
#[utoipa::path(post, path = "/api/v1/asks/{id}/answer", tag = "asks",
    params(("id" = AskId, Path)), request_body = AnswerRequest,
    responses(
        (status = 200, body = AskView, description = "The answer stands and is on its way"),
        (status = 409, body = ErrorBody, description = "Somebody was first; `details.ask` has their answer"),
        (status = 410, body = ErrorBody, description = "The ask ended without an answer; `details.ask` says how"),
        Refused, Missing, UnfitBody))]
pub(crate) async fn answer_ask(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<AskId>,
    extract::Json(request): extract::Json<AnswerRequest>,
) -> Result<Json<AskView>, ApiError> {
    let caller = &admitted.caller;
    // Which of the two it takes is the ask's to say; whoever has neither need not know whether it is there.
    caller
        .require(Grant::Approve)
        .or_else(|_| caller.require(Grant::Answer))?;
    let broker = &server.broker;
    let ask = broker.answerable(caller, id).await?;
    let choice = request.choice(ask.door, &ask.options, broker.clock().now())?;
    match broker.answer(caller, &ask, choice).await? {
        Answered::Won(ask) | Answered::Repeated(ask) => {
            Ok(Json(view_ask(&server, caller, ask).await?))
        }
        Answered::Lost(ask) => Err(ApiError::already_answered(
            &view_ask(&server, caller, ask).await?,
        )),
        Answered::Over(ask) => Err(ApiError::over(&view_ask(&server, caller, ask).await?)),
        Answered::Missing => Err(ApiError::not_found(format!("there is no ask `{id}`"))),
    }
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SettledQuery {
    /// In seconds; 60 if it is not said.
    #[param(minimum = 1, maximum = 600)]
    timeout_s: Option<i64>,
}

/// Waits until nothing more can happen to an ask, or until the time is up, and shows it as it is then.
#[utoipa::path(get, path = "/api/v1/asks/{id}/settled", tag = "asks",
    params(("id" = AskId, Path), SettledQuery),
    responses((status = 200, body = AskView), Refused, Missing, Unfit, TooMany))]
pub(crate) async fn settled_ask(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<AskId>,
    Query(query): Query<SettledQuery>,
) -> Result<Json<AskView>, ApiError> {
    let seconds = extract::within("timeout_s", query.timeout_s, 1..=600, 60)?;
    let limit = Duration::from_secs(seconds.unsigned_abs());
    let place = server.streams.enter(&admitted)?;
    let settled = server
        .broker
        .wait_until_settled(&admitted.caller, id, limit);
    tokio::select! {
        context = settled => Ok(Json(view(context?))),
        () = place.ended() => {
            if server.shutdown.is_cancelled() {
                return Ok(Json(view(server.broker.ask(&admitted.caller, id).await?)));
            }
            Err(ApiError::unauthorized("the token was taken back, or has run out"))
        }
    }
}

async fn view_ask(server: &Server, caller: &Caller, ask: Ask) -> Result<AskView, ApiError> {
    Ok(view(server.broker.context(caller, ask).await?))
}

fn view(context: AskContext) -> AskView {
    AskView::new(context.ask, context.siblings, context.may_answer)
}
