//! One file of a workspace, written with the text or the bytes that a client has for it.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_server::Response;
use countersign_workspace::{Base, FileChange};
use serde_json::{Value, json};

use super::Call;
use super::files::{MOST, before, deed, milliseconds, put, question, revision, too_large};
use crate::aside::aside;
use crate::body::Fields;
use crate::file_path::{is_text, relative};
use crate::refusal::Refusal;
use crate::reply;
use crate::writing::{Done, not_applied, panicked};

const WRITE: &str = "workspace.file.write";

/// A file that is to be written.
struct Draft {
    path: String,
    bytes: Vec<u8>,
    /// When the client's own copy of it was changed; then it has to be the one that is replaced.
    base: Option<f64>,
}

/// `POST /workspace/:id/files/raw`
pub(crate) async fn write_raw(call: &Call) -> Result<Response, Refusal> {
    let mut body = call.json().await?;
    let path = relative(&body.text("path"))?;
    let Value::String(encoded) = body.take("dataBase64") else {
        return Err(invalid("dataBase64 must be a string"));
    };
    let bytes = STANDARD
        .decode(encoded.trim())
        .map_err(|_| invalid("dataBase64 is invalid"))?;
    let base = base(&body);
    write(call, Draft { path, bytes, base }).await
}

/// `POST /workspace/:id/files/content`
pub(crate) async fn write_content(call: &Call) -> Result<Response, Refusal> {
    let mut body = call.json().await?;
    let path = relative(&body.text("path"))?;
    if !is_text(&path) {
        let message = "Only supported text artifact files can be edited inline";
        return Err(Refusal::new(400, "invalid_path", message));
    }
    let Value::String(content) = body.take("content") else {
        return Err(invalid("content must be a string"));
    };
    let draft = Draft {
        path,
        bytes: content.into_bytes(),
        base: base(&body),
    };
    write(call, draft).await
}

/// When the client's own copy was changed, unless it wants to replace whatever is there.
fn base(body: &Fields) -> Option<f64> {
    let is_forced = body.get("force") == Some(&Value::Bool(true));
    let base = body.get("baseUpdatedAt").and_then(Value::as_f64);
    base.filter(|_| !is_forced)
}

fn invalid(message: &'static str) -> Refusal {
    Refusal::new(400, "invalid_payload", message)
}

async fn write(call: &Call, draft: Draft) -> Result<Response, Refusal> {
    let Draft { path, bytes, base } = draft;
    let size = bytes.len() as u64;
    if size > MOST {
        return Err(too_large(size));
    }
    let at = PathBuf::from(&path);
    let there = call.look(move |seat| Ok(before(&seat.files.root()?, &at)?));
    let there = there.await?;
    let known = there
        .as_ref()
        .map(|(_, status)| milliseconds(status.modified));
    if let (Some(base), Some(known)) = (base, known)
        && (base - known).abs() > f64::EPSILON
    {
        let details = json!({ "baseUpdatedAt": base, "currentUpdatedAt": known });
        let refusal = Refusal::new(409, "conflict", "File changed since it was loaded");
        return Err(refusal.with_details(details));
    }
    let change = FileChange {
        base: Base::Workspace,
        path: PathBuf::from(&path),
        before: there.map(|(bytes, _)| bytes),
        after: Some(bytes),
    };
    let changes = std::slice::from_ref(&change);
    let question = question(WRITE, format!("Write {path}"), &call.seat, changes);
    let permitting = call.surface.permit(&call.caller, &call.seat, question);
    let permit = permitting.await?;
    let (seat, at) = (Arc::clone(&call.seat), path.clone());
    let doing = async move {
        let place = Arc::clone(&seat);
        let putting = aside(move || put(&place, &change));
        let (digest, status) = putting.await.ok_or_else(panicked)?.map_err(not_applied)?;
        let deeds = vec![deed(WRITE, &seat, &at, format!("Wrote {at}"))];
        let told = revision(&status);
        Ok(Done {
            digest: Some(digest),
            ground: None,
            deeds,
            announce: Box::new(move |surface| {
                let sessions = &surface.file_sessions;
                sessions.note(&seat.entry.id, "write", &at, None, Some(told));
            }),
            value: status,
        })
    };
    let carrying = call
        .surface
        .carry_out(&call.caller, &call.seat, permit, doing);
    let status = carrying.await?;
    Ok(reply::ok(&json!({
        "ok": true, "path": path, "bytes": size, "updatedAt": milliseconds(status.modified),
        "revision": revision(&status),
    })))
}
