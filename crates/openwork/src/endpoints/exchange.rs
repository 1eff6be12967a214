//! Files that clients put into a workspace, and files that agents put there for them.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_server::{Body, Response};
use countersign_workspace::beneath::{BeneathError, EntryKind, Root};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use serde::Serialize;
use serde_json::{Value, json};

use super::Call;
use super::files::milliseconds;
use crate::file_path::{content_type, in_inbox, in_outbox, relative};
use crate::multipart::Form;
use crate::refusal::Refusal;
use crate::reply::{self, Items};
use crate::trail::{Deed, Trail};

/// What the form around a file may take.
const FORM: u64 = 64 << 10;
/// How many targets are looked at.
const TARGETS: usize = 80;
/// How deep folders are looked into.
const DEPTH: usize = 32;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    id: String,
    path: String,
    size: u64,
    updated_at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// `GET /workspace/:id/inbox`
pub(crate) async fn inbox(call: &Call) -> Result<Response, Refusal> {
    if call.surface.settings.inbox_bytes.is_none() {
        return Ok(reply::ok(&Items { items: [(); 0] }));
    }
    let mut items = call
        .look(|seat| Ok(listed(&seat.files.root()?, &in_inbox(""))?))
        .await?;
    for item in &mut items {
        item.name = item.path.rsplit('/').next().map(str::to_owned);
    }
    Ok(reply::ok(&Items { items }))
}

/// `GET /workspace/:id/artifacts`
pub(crate) async fn artifacts(call: &Call) -> Result<Response, Refusal> {
    if !call.surface.settings.is_outbox_open {
        return Ok(reply::ok(&Items { items: [(); 0] }));
    }
    let items = call
        .look(|seat| Ok(listed(&seat.files.root()?, &in_outbox(""))?))
        .await?;
    Ok(reply::ok(&Items { items }))
}

/// `GET /workspace/:id/inbox/:item`
pub(crate) async fn inbox_item(call: &Call, id: &str) -> Result<Response, Refusal> {
    if call.surface.settings.inbox_bytes.is_none() {
        return Err(Refusal::new(
            404,
            "inbox_disabled",
            "Workspace inbox is disabled",
        ));
    }
    let invalid = || Refusal::new(400, "invalid_inbox_item", "Inbox item id is invalid");
    let path = decoded(id).ok_or_else(invalid)?;
    let missing = || Refusal::new(404, "inbox_item_not_found", "Inbox item not found");
    hand_out(call, in_inbox(&path), &path, missing).await
}

/// `GET /workspace/:id/artifacts/:item`
pub(crate) async fn artifact(call: &Call, id: &str) -> Result<Response, Refusal> {
    if !call.surface.settings.is_outbox_open {
        return Err(Refusal::new(
            404,
            "outbox_disabled",
            "Workspace outbox is disabled",
        ));
    }
    let invalid = || Refusal::new(400, "invalid_artifact", "Artifact id is invalid");
    let path = decoded(id).ok_or_else(invalid)?;
    let missing = || Refusal::new(404, "artifact_not_found", "Artifact not found");
    hand_out(call, in_outbox(&path), &path, missing).await
}

/// `POST /workspace/:id/inbox`
pub(crate) async fn upload(call: &Call) -> Result<Response, Refusal> {
    let Some(most) = call.surface.settings.inbox_bytes else {
        return Err(Refusal::new(
            404,
            "inbox_disabled",
            "Workspace inbox is disabled",
        ));
    };
    let kind = call
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    if !kind.to_ascii_lowercase().contains("multipart/form-data") {
        return Err(Refusal::new(
            400,
            "invalid_payload",
            "Expected multipart/form-data",
        ));
    }
    let malformed = || Refusal::new(400, "invalid_payload", "Malformed multipart/form-data");
    let kind = kind.to_owned();
    let body = call
        .bytes(usize::try_from(most + FORM).unwrap_or(usize::MAX))
        .await?;
    let form = Form::parse(&kind, &body).ok_or_else(malformed)?;
    let file = form
        .file("file")
        .ok_or_else(|| Refusal::new(400, "file_required", "Form field 'file' is required"))?;
    let said = [
        call.query("path"),
        form.text("path"),
        Some(file.name.clone()),
    ];
    let wanted = said
        .into_iter()
        .flatten()
        .find(|path| !path.trim().is_empty());
    let path = relative(&wanted.unwrap_or_default())?;
    let size = file.content.len() as u64;
    if size > most {
        let details = json!({ "maxBytes": most, "size": size });
        return Err(
            Refusal::new(413, "file_too_large", "File exceeds upload limit").with_details(details),
        );
    }
    let (target, content) = (in_inbox(&path), file.content.to_vec());
    let absolute = call
        .seat
        .files
        .path()
        .join(&target)
        .to_string_lossy()
        .into_owned();
    call.look(move |seat| Ok(seat.files.root()?.replace(&target, &content)?))
        .await?;
    let deed = Deed {
        action: "workspace.inbox.upload",
        target: absolute,
        summary: format!("Uploaded {path} to inbox"),
    };
    Trail::note(&call.seat, &call.caller, deed).await?;
    Ok(reply::ok(
        &json!({ "ok": true, "path": path, "bytes": size }),
    ))
}

/// `POST /workspace/:id/artifacts/resolve`
pub(crate) async fn resolve(call: &Call) -> Result<Response, Refusal> {
    let targets = match call.json().await?.take("targets") {
        Value::Array(targets) => targets,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Vec::new()
        }
    };
    let items = call.look(move |seat| {
        let root = seat.files.root()?;
        let targets = targets.iter().take(TARGETS);
        Ok(targets
            .filter_map(|target| resolved(&root, seat.files.path(), target))
            .collect::<Vec<_>>())
    });
    Ok(reply::ok(&Items {
        items: items.await?,
    }))
}

fn resolved(root: &Root, workspace: &Path, target: &Value) -> Option<Value> {
    let value = target.get("value")?.as_str()?.trim();
    let confidence = target
        .get("confidence")
        .and_then(Value::as_f64)
        .unwrap_or(0.0);
    let reason = target
        .get("reason")
        .and_then(Value::as_str)
        .unwrap_or("server");
    if target.get("kind").and_then(Value::as_str) == Some("url") {
        let url = reqwest::Url::parse(value).ok()?;
        if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
            return None;
        }
        let name = target
            .get("name")
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|name| !name.is_empty());
        return Some(json!({
            "id": format!("url:{url}"), "kind": "url", "value": url.as_str(), "name": name.unwrap_or(url.as_str()),
            "preview": "browser", "confidence": confidence, "reason": reason, "exists": true,
        }));
    }
    let below = Path::new(value)
        .strip_prefix(workspace)
        .ok()
        .and_then(Path::to_str);
    if Path::new(value).is_absolute() && below.is_none() {
        return None;
    }
    let path = relative(below.unwrap_or(value)).ok()?;
    let status = root.status(Path::new(&path)).ok();
    let mut found = json!({
        "id": format!("file:{}", path.to_lowercase()), "kind": "file", "value": path,
        "name": path.rsplit('/').next(), "confidence": confidence, "reason": reason,
        "exists": status.is_some_and(|status| status.kind == EntryKind::File),
        "contentType": content_type(&path),
    });
    if let Some(status) = status {
        found["fileKind"] = json!(super::files::kind(status.kind));
        found["size"] = json!(status.size);
        found["updatedAt"] = json!(milliseconds(status.modified));
    }
    Some(found)
}

fn decoded(id: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD
        .decode(id.trim().trim_end_matches('='))
        .ok()?;
    relative(&String::from_utf8(bytes).ok()?).ok()
}

/// Every file below `folder`, the newest first.
fn listed(root: &Root, folder: &Path) -> Result<Vec<Item>, BeneathError> {
    let mut items = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder_now, depth)) = open.pop() {
        let entries = match root.entries(&folder_now) {
            Ok(entries) => entries,
            Err(BeneathError::Missing | BeneathError::NoPlace | BeneathError::Outside) => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = folder_now.join(&entry.name);
            match entry.kind {
                EntryKind::Folder if depth < DEPTH => open.push((path, depth + 1)),
                EntryKind::File => {
                    let (Ok(status), Ok(below)) = (root.status(&path), path.strip_prefix(folder))
                    else {
                        continue;
                    };
                    let below = below.to_string_lossy().into_owned();
                    items.push(Item {
                        id: URL_SAFE_NO_PAD.encode(&below),
                        path: below,
                        size: status.size,
                        updated_at: milliseconds(status.modified),
                        name: None,
                    });
                }
                EntryKind::Folder | EntryKind::Link | EntryKind::Other => {}
            }
        }
    }
    items.sort_by(|one, other| other.updated_at.total_cmp(&one.updated_at));
    Ok(items)
}

/// Hands out a file, to be saved and not to be shown.
async fn hand_out(
    call: &Call,
    at: std::path::PathBuf,
    name: &str,
    missing: impl Fn() -> Refusal,
) -> Result<Response, Refusal> {
    let read = call.look(move |seat| match seat.files.root()?.read(&at) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(BeneathError::Missing | BeneathError::NotAFile | BeneathError::NoPlace) => Ok(None),
        Err(error) => Err(error.into()),
    });
    let bytes = read.await?.ok_or_else(missing)?;
    Ok(file_response(
        bytes,
        "application/octet-stream",
        "attachment",
        name,
    ))
}

/// A file as a response.
pub(super) fn file_response(
    bytes: Vec<u8>,
    kind: &'static str,
    disposition: &str,
    path: &str,
) -> Response {
    let name = path.rsplit('/').next().unwrap_or(path);
    let plain: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_graphic() && letter != '"' && letter != '\\' || letter == ' ' {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let encoded = crate::percent::encode(name).replace('+', "%20");
    let disposition = format!("{disposition}; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    response
}
