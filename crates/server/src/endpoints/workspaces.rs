//! Who calls, and the workspaces.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{Consent, EngineView, Me, WorkspaceList, WorkspaceView};
use countersign_broker::EngineStatus;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::TokenId;

use crate::auth::Admitted;
use crate::endpoints::refusals::Refused;
use crate::error::ApiError;
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
        .map(|(workspace, engine)| WorkspaceView {
            workspace,
            engine: engine_view(engine),
        })
        .collect();
    Ok(Json(WorkspaceList { workspaces }))
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
