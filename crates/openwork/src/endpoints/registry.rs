//! Workspaces that come, get another name, and go, while the server runs.

mod config_file;

use std::path::Path;
use std::sync::Arc;

use countersign_server::{Request, Response};
use http::{HeaderMap, StatusCode};
use serde::Serialize;

use crate::aside::aside;
use crate::refusal::Refusal;
use crate::reply;
use crate::roster::{Credentials, Entry, Seat, View};
use crate::settings::{resolve, workspace_id};
use crate::surface::OpenWork;
use crate::trail::{Deed, Trail};
use crate::writing::panicked;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Changed<'a> {
    active_id: Option<&'a str>,
    workspaces: Vec<View<'a>>,
    persisted: bool,
}

/// `POST /workspaces/local`
pub(crate) async fn add(surface: &Arc<OpenWork>, request: Request) -> Result<Response, Refusal> {
    let caller = surface.keys.host(request.headers()).await?;
    surface.ensure_writable()?;
    let body = surface.bodies.json(request.into_body()).await?;
    let folder = body.text("folderPath").trim().to_owned();
    if folder.is_empty() {
        return Err(Refusal::new(
            400,
            "invalid_payload",
            "folderPath is required",
        ));
    }
    if !Path::new(&folder).is_absolute() {
        return Err(Refusal::new(
            400,
            "invalid_payload",
            "folderPath must be absolute",
        ));
    }
    let path = resolve(Path::new("/"), &folder);
    let made = path.clone();
    let made = aside(move || std::fs::create_dir_all(made))
        .await
        .ok_or_else(panicked)?;
    made.map_err(|error| {
        let message = format!("The folder cannot be made: {error}");
        Refusal::new(400, "invalid_path", message)
    })?;
    let path = path.to_string_lossy().into_owned();
    let name = body.text("name").trim().to_owned();
    let name = if name.is_empty() {
        path.rsplit('/').next().unwrap_or(&path).to_owned()
    } else {
        name
    };
    let entry = Entry {
        id: workspace_id(&path),
        name: name.clone(),
        workspace_type: "local".to_owned(),
        opencode: surface.settings.usual_opencode.clone(),
        is_for_owners: false,
        path,
    };
    let seat = surface.seat(entry).await?;
    surface.roster.add(&seat);
    surface.follow(&seat);
    surface.begin_noticing(Arc::clone(&seat));
    let deed = Deed {
        action: "workspace.create",
        target: seat.entry.path.clone(),
        summary: format!("Created workspace {name}"),
    };
    Trail::note(&seat, &caller, deed).await?;
    changed(surface, StatusCode::CREATED).await
}

/// `PATCH /workspaces/:id/display-name`
pub(crate) async fn rename(
    surface: &OpenWork,
    id: &str,
    request: Request,
) -> Result<Response, Refusal> {
    let caller = surface.keys.host(request.headers()).await?;
    surface.ensure_writable()?;
    let seat = surface.roster.any(id)?;
    let body = surface.bodies.json(request.into_body()).await?;
    let name = body.text("displayName").trim().to_owned();
    let mut summary = "Updated workspace display name".to_owned();
    if !name.is_empty() {
        summary = format!("{summary} to {name}");
        let entry = Entry {
            name,
            ..seat.entry.clone()
        };
        surface.roster.replace(&surface.seat(entry).await?);
    }
    let deed = Deed {
        action: "workspace.rename",
        target: seat.entry.path.clone(),
        summary,
    };
    // The seat as it is now has the audit that is shown from now on.
    Trail::note(&surface.roster.any(id)?, &caller, deed).await?;
    changed(surface, StatusCode::OK).await
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Removed<'a> {
    ok: bool,
    deleted: bool,
    persisted: bool,
    active_id: Option<&'a str>,
    items: Vec<View<'a>>,
    workspaces: Vec<View<'a>>,
}

/// `DELETE /workspaces/:id`: it is served no more; its files stay.
pub(crate) async fn remove(
    surface: &OpenWork,
    id: &str,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let caller = surface.keys.host(headers).await?;
    surface.ensure_writable()?;
    let seat = surface.roster.any(id)?;
    surface.roster.remove(id);
    // Nobody listens to its engine any more; what it asked for is withdrawn.
    surface.broker.leave_workspace(seat.ledger).await?;
    let deed = Deed {
        action: "workspace.delete",
        target: "workspace".to_owned(),
        summary: "Deleted workspace from OpenWork server".to_owned(),
    };
    Trail::note(&seat, &caller, deed).await?;
    let persisted = persist(surface).await;
    let all = surface.roster.all();
    Ok(reply::ok(&Removed {
        ok: true,
        deleted: true,
        persisted,
        active_id: all.first().map(|seat| seat.entry.id.as_str()),
        items: views(&all),
        workspaces: views(&all),
    }))
}

async fn changed(surface: &OpenWork, status: StatusCode) -> Result<Response, Refusal> {
    let persisted = persist(surface).await;
    let all = surface.roster.all();
    Ok(reply::json(
        status,
        &Changed {
            active_id: all.first().map(|seat| seat.entry.id.as_str()),
            workspaces: views(&all),
            persisted,
        },
    ))
}

fn views(all: &[Arc<Seat>]) -> Vec<View<'_>> {
    all.iter()
        .map(|seat| seat.entry.view(Credentials::Shown))
        .collect()
}

/// Writes the workspaces into the configuration file, and says whether that could be done.
async fn persist(surface: &OpenWork) -> bool {
    let path = surface.settings.config_path.clone();
    let all = surface.roster.all();
    let entries: Vec<Entry> = all.iter().map(|seat| seat.entry.clone()).collect();
    let roots = surface.roster.authorized_roots();
    let done = aside(move || config_file::write(&path, &entries, &roots)).await;
    match done {
        Some(Ok(())) => true,
        Some(Err(error)) => {
            tracing::warn!(
                error = &*error as &dyn std::error::Error,
                "the configuration file was not written"
            );
            false
        }
        None => false,
    }
}
