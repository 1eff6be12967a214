//! Who calls, and the workspaces: listed, added, called otherwise, removed, and their engines.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{
    Consent, EngineView, Me, NewWorkspace, RenameWorkspace, WorkspaceList, WorkspaceView,
};
use countersign_broker::EngineStatus;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{TokenId, WorkspaceId};
use countersign_core::session::Workspace;
use http::StatusCode;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Conflicting, Missing, Refused, Unavailable, Unfit, UnfitBody};
use crate::error::ApiError;
use crate::extract::{self, Id};
use crate::state::Server;

/// Tells who the caller is and what it may do.
#[utoipa::path(get, path = "/api/v1/me", tag = "callers",
    responses((status = 200, body = Me), Refused))]
pub(crate) async fn me(admitted: Admitted) -> Json<Me> {
    let token = admitted.admission.map(|admission| admission.token.id);
    Json(view_of(&admitted.caller, token))
}

/// A caller as it sees itself.
pub(crate) fn view_of(caller: &Caller, token: Option<TokenId>) -> Me {
    Me {
        actor: caller.actor().clone(),
        grants: caller.grants().clone(),
        workspace: caller.workspace(),
        surface: caller.surface(),
        token,
    }
}

/// Lists the workspaces and how their engines stand.
#[utoipa::path(get, path = "/api/v1/workspaces", tag = "workspaces",
    responses((status = 200, body = WorkspaceList), Refused))]
pub(crate) async fn list_workspaces(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<WorkspaceList>, ApiError> {
    admitted.caller.require(Grant::Read)?;
    let workspaces = server
        .broker
        .workspaces()
        .into_iter()
        .filter(|(workspace, _)| admitted.caller.sees(workspace.id))
        .map(|(workspace, engine)| workspace_view(workspace, engine))
        .collect();
    Ok(Json(WorkspaceList { workspaces }))
}

/// Serves a folder from now on, and after the next start too.
#[utoipa::path(post, path = "/api/v1/workspaces", tag = "workspaces", request_body = NewWorkspace,
    responses((status = 201, body = WorkspaceView), Refused, Conflicting, UnfitBody))]
pub(crate) async fn add_workspace(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    extract::Json(new): extract::Json<NewWorkspace>,
) -> Result<(StatusCode, Json<WorkspaceView>), ApiError> {
    let broker = &server.broker;
    let added = broker
        .serve_workspace(&admitted.caller, &new.path, new.name.as_deref())
        .await?;
    let view = served(&server, added.id).ok_or_else(|| gone(added.id))?;
    Ok((StatusCode::CREATED, Json(view)))
}

/// Calls a workspace otherwise.
#[utoipa::path(patch, path = "/api/v1/workspaces/{id}", tag = "workspaces",
    params(("id" = WorkspaceId, Path)), request_body = RenameWorkspace,
    responses((status = 200, body = WorkspaceView), Refused, Missing, Conflicting, UnfitBody))]
pub(crate) async fn rename_workspace(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<WorkspaceId>,
    extract::Json(new): extract::Json<RenameWorkspace>,
) -> Result<Json<WorkspaceView>, ApiError> {
    let broker = &server.broker;
    broker
        .rename_workspace(&admitted.caller, id, &new.name)
        .await?;
    served(&server, id).map(Json).ok_or_else(|| gone(id))
}

/// Removes a workspace: everything that runs in it is ended, what waits there is withdrawn. Its files and its ledger
/// stay.
#[utoipa::path(delete, path = "/api/v1/workspaces/{id}", tag = "workspaces",
    params(("id" = WorkspaceId, Path)),
    responses((status = 204), Refused, Missing, Conflicting))]
pub(crate) async fn remove_workspace(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<WorkspaceId>,
) -> Result<StatusCode, ApiError> {
    server.broker.remove_workspace(&admitted.caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Has the engine of a workspace end, with everything that it started, and begin another life.
#[utoipa::path(post, path = "/api/v1/workspaces/{id}/engine/restart", tag = "workspaces",
    params(("id" = WorkspaceId, Path)),
    responses((status = 202, description = "It is under way; `engine.changed` tells the rest"), Refused, Missing, Unfit))]
pub(crate) async fn restart_engine(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<WorkspaceId>,
) -> Result<StatusCode, ApiError> {
    server.broker.restart_engine(&admitted.caller, id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Has the engine of a workspace read its configuration anew. What it is doing there ends.
#[utoipa::path(post, path = "/api/v1/workspaces/{id}/engine/reload", tag = "workspaces",
    params(("id" = WorkspaceId, Path)),
    responses((status = 204), Refused, Missing, Unfit, Unavailable))]
pub(crate) async fn reload_engine(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<WorkspaceId>,
) -> Result<StatusCode, ApiError> {
    server.broker.reload_engine(&admitted.caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A workspace that is served.
fn served(server: &Server, id: WorkspaceId) -> Option<WorkspaceView> {
    let all = server.broker.workspaces().into_iter();
    let mut found = all.filter(|(workspace, _)| workspace.id == id);
    found
        .next()
        .map(|(workspace, engine)| workspace_view(workspace, engine))
}

/// Somebody removed it at that very moment.
fn gone(id: WorkspaceId) -> ApiError {
    ApiError::not_found(format!("there is no workspace `{id}`"))
}

fn workspace_view(workspace: Workspace, engine: EngineStatus) -> WorkspaceView {
    WorkspaceView {
        workspace,
        engine: engine_view(engine),
    }
}

fn engine_view(status: EngineStatus) -> EngineView {
    EngineView {
        program: status.program,
        version: status.version,
        state: status.phase,
        message: status.message,
        run: status.run,
        consent: Consent::Relay,
    }
}
