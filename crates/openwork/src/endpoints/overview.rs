//! How the server is, what it can do, and which workspaces it serves.

use countersign_server::Response;
use http::{HeaderMap, StatusCode};
use serde::Serialize;

use crate::keys::{Caller, Scope};
use crate::refusal::Refusal;
use crate::reply;
use crate::roster::{Credentials, Seat, View};
use crate::surface::OpenWork;
use crate::trail::{Deed, Trail};

/// Which version this is, and for how long it has been up.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    version: &'static str,
    opencode_version: Option<String>,
    uptime_ms: u128,
}

#[derive(Serialize)]
struct ScopedHealth {
    ok: bool,
    #[serde(flatten)]
    health: Health,
}

pub(super) fn health_fields(surface: &OpenWork) -> Health {
    Health {
        version: surface.settings.compat.version(),
        opencode_version: surface.opencode_version(),
        uptime_ms: surface.started.elapsed().as_millis(),
    }
}

/// `GET /health`
pub(crate) fn health(surface: &OpenWork) -> Response {
    let version = surface.settings.compat.version();
    let uptime = surface.started.elapsed().as_millis();
    if surface.settings.compat.is_scoped() {
        return reply::ok(&ScopedHealth {
            ok: true,
            health: health_fields(surface),
        });
    }
    let body = format!("{{\"ok\":true,\"version\":\"{version}\",\"uptimeMs\":{uptime}}}");
    reply::bytes(StatusCode::OK, body.into())
}

/// `GET /capabilities`
pub(crate) async fn capabilities(
    surface: &OpenWork,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    surface.keys.client(headers).await?;
    Ok(reply::bytes(StatusCode::OK, surface.capabilities()))
}

/// `GET /workspaces`
pub(crate) async fn workspaces(
    surface: &OpenWork,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let caller = surface.keys.client(headers).await?;
    Ok(listing(surface, caller.scope))
}

/// What `/workspaces` answers to who may do so much.
pub(crate) fn listing(surface: &OpenWork, scope: Scope) -> Response {
    reply::bytes(StatusCode::OK, surface.roster.listing(scope))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct One<'a> {
    items: [View<'a>; 1],
    active_id: &'a str,
}

/// `GET /w/:id/workspaces`
pub(super) fn mounted_workspaces(surface: &OpenWork, caller: &Caller, seat: &Seat) -> Response {
    let credentials = surface.roster.credentials(&seat.entry, caller.scope);
    reply::ok(&One {
        items: [seat.entry.view(credentials)],
        active_id: &seat.entry.id,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Activated<'a> {
    active_id: &'a str,
    workspace: View<'a>,
}

/// `POST /workspaces/:id/activate`
pub(crate) async fn activate(
    surface: &OpenWork,
    workspace: &str,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let caller = surface.keys.host(headers).await?;
    let seat = surface.roster.activate(workspace)?;
    let deed = Deed {
        action: "workspace.activate",
        target: "workspace".to_owned(),
        summary: "Switched active workspace".to_owned(),
    };
    Trail::note(&seat, &caller, deed).await?;
    Ok(reply::ok(&Activated {
        active_id: &seat.entry.id,
        workspace: seat.entry.view(Credentials::Shown),
    }))
}
