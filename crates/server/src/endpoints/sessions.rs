//! Sessions: listed, shown, started, talked to, stopped.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{
    ErrorBody, ItemList, NewSession, PromptRequest, PromptTaken, QueuedPrompt, SessionList,
    SessionView, TakeBackRequest,
};
use countersign_broker::{NewSessionWish, PromptWish, QueuedTurn, SessionContext};
use countersign_core::id::{SessionId, WorkspaceId};
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::attachments;
use crate::endpoints::refusals::{Missing, Refused, TooMany, Unavailable, Unfit, UnfitBody};
use crate::error::ApiError;
use crate::extract::{self, Id, Query};
use crate::state::Server;

/// Items that are shown at a time.
const ITEM_LIMIT: i64 = 5_000;

/// Which sessions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionQuery {
    /// Only those of this workspace.
    workspace: Option<WorkspaceId>,
}

/// Lists sessions, the one that changed last first.
#[utoipa::path(get, path = "/api/v1/sessions", tag = "sessions", params(SessionQuery),
    responses((status = 200, body = SessionList), Refused))]
pub(crate) async fn list_sessions(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<SessionQuery>,
) -> Result<Json<SessionList>, ApiError> {
    let sessions = server
        .broker
        .sessions(&admitted.caller, query.workspace)
        .await?;
    Ok(Json(SessionList {
        sessions: sessions.into_iter().map(view).collect(),
    }))
}

/// Starts a session, or takes up an earlier one.
#[utoipa::path(post, path = "/api/v1/sessions", tag = "sessions", request_body = NewSession,
    responses((status = 201, body = SessionView),
        (status = 200, body = SessionView, description = "The earlier session, which was known here already"), Refused, Missing, UnfitBody, Unavailable))]
pub(crate) async fn start_session(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    extract::Json(new): extract::Json<NewSession>,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    let broker = &server.broker;
    let wish = NewSessionWish {
        workspace: new.workspace,
        directory: new.directory,
        engine: new.engine,
        title: new.title,
    };
    let (session, is_new) = match new.earlier {
        Some(native_id) => {
            broker
                .take_up_session(&admitted.caller, wish, &native_id)
                .await?
        }
        None => (broker.start_session(&admitted.caller, wish).await?, true),
    };
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(view(session))))
}

/// Shows a session.
#[utoipa::path(get, path = "/api/v1/sessions/{id}", tag = "sessions",
    params(("id" = SessionId, Path)),
    responses((status = 200, body = SessionView), Refused, Missing))]
pub(crate) async fn show_session(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<SessionId>,
) -> Result<Json<SessionView>, ApiError> {
    Ok(Json(view(
        server.broker.session(&admitted.caller, id).await?,
    )))
}

/// Which items to show.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ItemQuery {
    /// Only those after this place.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Only the newest, so many of them.
    #[param(minimum = 1, maximum = 5000)]
    last: Option<i64>,
    /// So many at most; 5000 if it is not said.
    #[param(minimum = 1, maximum = 5000)]
    limit: Option<i64>,
}

/// Shows what was said and done in a session, in order.
#[utoipa::path(get, path = "/api/v1/sessions/{id}/items", tag = "sessions",
    params(("id" = SessionId, Path), ItemQuery),
    responses((status = 200, body = ItemList), Refused, Missing, Unfit))]
pub(crate) async fn list_items(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<SessionId>,
    Query(query): Query<ItemQuery>,
) -> Result<Json<ItemList>, ApiError> {
    let after = extract::within("after", query.after, 0..=i64::MAX, 0)?;
    let limit = extract::within("limit", query.limit, 1..=ITEM_LIMIT, ITEM_LIMIT)?;
    let last = extract::within("last", query.last, 1..=ITEM_LIMIT, ITEM_LIMIT)?;
    let items = server
        .broker
        .items(&admitted.caller, id, after, last, limit)
        .await?;
    Ok(Json(ItemList::new(items)))
}

/// Says something in a session. The same turn id again says nothing twice.
#[utoipa::path(post, path = "/api/v1/sessions/{id}/prompt", tag = "sessions",
    params(("id" = SessionId, Path)), request_body = PromptRequest,
    responses((status = 202, body = PromptTaken), Refused, Missing, UnfitBody, TooMany, Unavailable))]
pub(crate) async fn prompt_session(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<SessionId>,
    extract::LongJson(request): extract::LongJson<PromptRequest>,
) -> Result<(StatusCode, Json<PromptTaken>), ApiError> {
    let PromptRequest {
        text,
        turn,
        model,
        mode,
        agent,
        attachments,
    } = request;
    let wish = PromptWish {
        turn,
        text,
        model,
        mode,
        agent,
        attachments: attachments::wishes(attachments)?,
    };
    let turn = server.broker.prompt(&admitted.caller, id, wish).await?;
    Ok((
        StatusCode::ACCEPTED,
        Json(PromptTaken {
            turn: turn.id,
            session: turn.session,
        }),
    ))
}

/// Stops what a session is doing; its open asks are withdrawn.
#[utoipa::path(post, path = "/api/v1/sessions/{id}/cancel", tag = "sessions",
    params(("id" = SessionId, Path)),
    responses((status = 200, body = SessionView), Refused, Missing, Unavailable))]
pub(crate) async fn cancel_session(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<SessionId>,
) -> Result<Json<SessionView>, ApiError> {
    Ok(Json(view(
        server.broker.cancel(&admitted.caller, id).await?,
    )))
}

/// Takes back a prompt that waits until the agent has come to the end of what it is doing.
#[utoipa::path(post, path = "/api/v1/sessions/{id}/take-back", tag = "sessions",
    params(("id" = SessionId, Path)), request_body = TakeBackRequest,
    responses((status = 200, body = SessionView),
        (status = 409, body = ErrorBody, description = "The agent has been told already"),
        Refused, Missing, UnfitBody))]
pub(crate) async fn take_back_prompt(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<SessionId>,
    extract::Json(request): extract::Json<TakeBackRequest>,
) -> Result<Json<SessionView>, ApiError> {
    let broker = &server.broker;
    let session = broker.take_back(&admitted.caller, id, request.turn).await?;
    Ok(Json(view(session)))
}

fn view(context: SessionContext) -> SessionView {
    SessionView {
        session: context.session,
        turn: context.turn,
        queued: context.queued.into_iter().map(queued).collect(),
        open_asks: context.open_asks,
        may_prompt: context.may_prompt,
        takes: context.takes,
    }
}

fn queued(waiting: QueuedTurn) -> QueuedPrompt {
    QueuedPrompt {
        turn: waiting.turn,
        text: waiting.text,
        by: waiting.by,
        at: waiting.at,
    }
}
