//! Configuration, and whole workspaces taken out and in.

use std::sync::Arc;

use countersign_core::digest::Digest;
use countersign_server::Response;
use countersign_workspace::{Change, Export, Import, Plan, secrets};
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use super::Call;
use crate::refusal::Refusal;
use crate::reloads::{Reason, Trigger};
use crate::reply;
use crate::roster::Seat;
use crate::trail::Deed;
use crate::wire_time::millis;
use crate::writing::{News, Paths, Wish};

/// OpenWork's own file, below the workspace.
const OPENWORK: &str = ".opencode/openwork.json";

/// `GET /workspace/:id/config`
pub(crate) async fn show(call: &Call) -> Result<Response, Refusal> {
    let body = call.look_together(&call.seat.listings.config_looks, |seat| {
        let config = seat.files.config()?;
        seat.trail.look(&seat.files);
        Ok(seat.listings.config(&config, seat.trail.last()))
    });
    Ok(reply::bytes(StatusCode::OK, body.await?))
}

/// `PATCH /workspace/:id/config`
pub(crate) async fn patch(call: &Call) -> Result<Response, Refusal> {
    let mut body = call.json().await?;
    let (opencode, openwork) = (body.take("opencode"), body.take("openwork"));
    let config = config_path(call).await?;
    let mut paths = Vec::new();
    if !opencode.is_null() {
        paths.push(config.clone());
    }
    if !openwork.is_null() {
        paths.push(openwork_path(&call.seat));
    }
    let news = if opencode.is_null() {
        News::None
    } else {
        News::Always(Reason::Config, updated(config))
    };
    let wish = Wish {
        change: Change::PatchConfig { opencode, openwork },
        question: "Patch workspace config".to_owned(),
        paths: Paths::These(paths),
        deed: Deed {
            action: "config.patch",
            target: "opencode.json".to_owned(),
            summary: "Patched workspace config".to_owned(),
        },
        news,
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    Ok(reply::ok(
        &json!({ "updatedAt": millis(call.surface.clock.now()) }),
    ))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Parcel {
    workspace_id: String,
    exported_at: i64,
    #[serde(flatten)]
    export: Export,
}

/// What becomes of secrets in an export.
enum Secrets {
    Included,
    LeftOut,
    /// If there are any, somebody has to say what is to become of them.
    Undecided,
}

impl Secrets {
    fn wanted(call: &Call) -> Result<Self, Refusal> {
        let said = call.query("sensitive").unwrap_or_default();
        let word = match said.trim() {
            // 0.1 hands out what there is.
            "" if !call.surface.settings.compat.is_scoped() => "include",
            "" => "auto",
            word => word,
        };
        match word {
            "include" => Ok(Self::Included),
            "exclude" => Ok(Self::LeftOut),
            "auto" => Ok(Self::Undecided),
            _ => Err(Refusal::new(
                400,
                "invalid_workspace_export_sensitive_mode",
                "sensitive must be auto, include or exclude",
            )),
        }
    }
}

/// `GET /workspace/:id/export`
pub(crate) async fn export(call: &Call) -> Result<Response, Refusal> {
    let secrets = Secrets::wanted(call)?;
    let mut export = call.look(|seat| seat.files.export()).await?;
    match secrets {
        Secrets::Included => {}
        Secrets::LeftOut => export.opencode = Arc::new(secrets::without(&export.opencode)),
        Secrets::Undecided => {
            let warnings = secrets::warnings(&export.opencode);
            if !warnings.is_empty() {
                let message = "This workspace includes sensitive config. Choose whether to exclude it or include it before exporting.";
                let details = json!({ "warnings": warnings });
                return Err(
                    Refusal::new(409, "workspace_export_requires_decision", message)
                        .with_details(details),
                );
            }
        }
    }
    Ok(reply::ok(&Parcel {
        workspace_id: call.seat.entry.id.clone(),
        exported_at: millis(call.surface.clock.now()),
        export,
    }))
}

#[derive(Serialize)]
struct Preview {
    fingerprint: String,
    summary: Summary,
    changes: Vec<PreviewedChange>,
}

#[derive(Serialize, Default)]
struct Summary {
    create: usize,
    update: usize,
    delete: usize,
}

#[derive(Serialize)]
struct PreviewedChange {
    kind: &'static str,
    action: &'static str,
    path: String,
}

impl Preview {
    fn of(plan: &Plan) -> Self {
        let mut summary = Summary::default();
        let changes = plan.files.iter().map(|file| {
            let (action, count) = match (&file.before, &file.after) {
                (None, _) => ("create", &mut summary.create),
                (Some(_), Some(_)) => ("update", &mut summary.update),
                (Some(_), None) => ("delete", &mut summary.delete),
            };
            *count += 1;
            let path = file.path.to_string_lossy().into_owned();
            let kind = if path.contains("/skills/") {
                "skill"
            } else if path.contains("/commands/") {
                "command"
            } else if path == OPENWORK {
                "openwork"
            } else {
                "opencode"
            };
            PreviewedChange { kind, action, path }
        });
        let changes = changes.collect();
        // Both what would be written and what is there: with either of them different it is another import.
        let digest = plan.digest();
        let before = plan
            .files
            .iter()
            .map(|file| file.before.as_deref().unwrap_or_default());
        let parts = [&digest.as_bytes()[..]].into_iter().chain(before);
        Self {
            fingerprint: Digest::of_parts(parts).to_string(),
            summary,
            changes,
        }
    }
}

/// `POST /workspace/:id/import/preview`
pub(crate) async fn preview(call: &Call) -> Result<Response, Refusal> {
    let payload: Value = call.json().await?.into_value();
    let import = Import::parse(&payload)?;
    Ok(reply::ok(&previewed(call, import).await?))
}

async fn previewed(call: &Call, import: Import) -> Result<Preview, Refusal> {
    let plan = call
        .look(move |seat| seat.files.plan(&Change::Import(import)))
        .await?;
    Ok(Preview::of(&plan))
}

/// In 0.13 an import is done that was looked at before; nothing if this one was.
async fn unseen(
    call: &Call,
    payload: &Value,
    import: &Import,
) -> Result<Option<Response>, Refusal> {
    let seen = payload.get("previewFingerprint").and_then(Value::as_str);
    if seen.is_none() && !call.surface.settings.compat.is_scoped() {
        return Ok(None);
    }
    let preview = previewed(call, import.clone()).await?;
    let (code, message) = match seen {
        Some(seen) if seen == preview.fingerprint => return Ok(None),
        None if preview.changes.is_empty() => return Ok(None),
        Some(_) => (
            "workspace_import_preview_stale",
            "Workspace changed after this import was previewed. Review the latest preview before importing.",
        ),
        None => (
            "workspace_import_preview_required",
            "Review this import preview before applying workspace changes.",
        ),
    };
    let body = json!({ "ok": false, "code": code, "message": message, "preview": preview });
    Ok(Some(reply::json(StatusCode::CONFLICT, &body)))
}

/// `POST /workspace/:id/import`
pub(crate) async fn import(call: &Call) -> Result<Response, Refusal> {
    let payload: Value = call.json().await?.into_value();
    let import = Import::parse(&payload)?;
    if let Some(response) = unseen(call, &payload, &import).await? {
        return Ok(response);
    }
    let wish = Wish {
        change: Change::Import(import),
        question: "Import workspace config".to_owned(),
        paths: Paths::Planned,
        deed: Deed {
            action: "config.import",
            target: "workspace".to_owned(),
            summary: "Imported workspace config".to_owned(),
        },
        news: News::Always(Reason::Config, updated(config_path(call).await?)),
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    Ok(reply::ok(&json!({ "ok": true })))
}

/// Where opencode's configuration of the workspace is, or would be.
pub(super) async fn config_path(call: &Call) -> Result<String, Refusal> {
    let path = call.glance(|seat| seat.files.config_path()).await?;
    Ok(path.to_string_lossy().into_owned())
}

fn openwork_path(seat: &Arc<Seat>) -> String {
    seat.files
        .path()
        .join(OPENWORK)
        .to_string_lossy()
        .into_owned()
}

/// Says that the configuration at `path` is another one.
pub(super) fn updated(path: String) -> Box<dyn FnOnce(&Plan) -> Trigger + Send> {
    Box::new(move |_| Trigger {
        kind: "config",
        name: path.rsplit('/').next().map(str::to_owned),
        action: "updated",
        path: Some(path),
    })
}
