//! Single files of a workspace, and sessions in which many are read and written.

use std::path::{Path, PathBuf};

use countersign_core::digest::Digest;
use countersign_server::Response;
use countersign_workspace::beneath::{BeneathError, EntryKind, Root, Status};
use countersign_workspace::{ApplyError, FileChange};
use serde_json::{Value, json};

use super::Call;
use super::exchange::file_response;
use crate::approvals::Question;
use crate::file_path::{content_type, is_text, relative};
use crate::file_sessions::life;
use crate::keys::Scope;
use crate::refusal::Refusal;
use crate::reply;
use crate::roster::Seat;
use crate::trail::Deed;

/// The largest file that is read or written here.
pub(super) const MOST: u64 = 5_000_000;

/// What a file is called to clients that wonder whether it changed.
pub(super) fn revision(status: &Status) -> String {
    format!("{}:{}", status.modified / 1_000_000, status.size)
}

/// A time in nanoseconds, in milliseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "clients have never got more of it"
)]
pub(super) fn milliseconds(nanoseconds: i128) -> f64 {
    nanoseconds as f64 / 1_000_000.0
}

pub(super) const fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "file",
        EntryKind::Folder => "dir",
        EntryKind::Link | EntryKind::Other => "other",
    }
}

/// `POST /workspace/:id/files/sessions`
pub(crate) async fn open_session(call: &Call) -> Result<Response, Refusal> {
    let body = call.json().await?;
    let seconds = body.get("ttlSeconds").and_then(Value::as_f64);
    let wants_to_write = body.get("write") != Some(&Value::Bool(false));
    let may_write = !call.surface.settings.read_only && call.caller.scope >= Scope::Collaborator;
    let sessions = &call.surface.file_sessions;
    let view = sessions.open(
        &call.caller,
        &call.seat.entry.id,
        life(seconds),
        wants_to_write && may_write,
    );
    Ok(reply::ok(&json!({ "session": view })))
}

/// `GET /workspace/:id/files/content`
pub(crate) async fn content(call: &Call) -> Result<Response, Refusal> {
    let path = wanted(call)?;
    if !is_text(&path) {
        let message = "Only supported text artifact files can be read inline";
        return Err(Refusal::new(400, "invalid_path", message));
    }
    let (bytes, status) = read(call, &path).await?;
    Ok(reply::ok(&json!({
        "path": path, "content": String::from_utf8_lossy(&bytes), "bytes": status.size,
        "updatedAt": milliseconds(status.modified),
    })))
}

/// `GET /workspace/:id/files/stat`
pub(crate) async fn stat(call: &Call) -> Result<Response, Refusal> {
    let path = wanted(call)?;
    let at = PathBuf::from(&path);
    let status = call
        .look(move |seat| Ok(status_if_there(&seat.files.root()?, &at)?))
        .await?;
    Ok(reply::ok(&match status {
        None => json!({ "ok": true, "path": path, "exists": false }),
        Some(status) => json!({
            "ok": true, "path": path, "exists": true, "kind": kind(status.kind), "size": status.size,
            "updatedAt": milliseconds(status.modified),
        }),
    }))
}

/// `GET /workspace/:id/files/raw`
pub(crate) async fn raw(call: &Call) -> Result<Response, Refusal> {
    let path = wanted(call)?;
    let at = PathBuf::from(&path);
    let read = call.look(move |seat| match seat.files.root()?.read(&at) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(BeneathError::Missing | BeneathError::NotAFile) => Ok(None),
        Err(error) => Err(error.into()),
    });
    let bytes = read.await?.ok_or_else(not_found)?;
    Ok(file_response(bytes, content_type(&path), "inline", &path))
}

/// What somebody else is asked about a write of files.
pub(super) fn question(
    action: &'static str,
    summary: String,
    seat: &Seat,
    changes: &[FileChange],
) -> Question {
    let home = seat.files.home().path();
    let absolute = |change: &FileChange| change.absolute(seat.files.path(), home);
    let parts = changes.iter().flat_map(|change| {
        let after = change.after.as_deref().unwrap_or_default();
        [change.path.as_os_str().as_encoded_bytes(), after]
    });
    Question {
        action,
        summary,
        paths: changes
            .iter()
            .map(|change| absolute(change).to_string_lossy().into_owned())
            .collect(),
        changes: changes.to_vec(),
        fingerprint: Digest::of_parts([action.as_bytes()].into_iter().chain(parts)),
    }
}

/// What is recorded of a file that was written.
pub(super) fn deed(action: &'static str, seat: &Seat, path: &str, summary: String) -> Deed {
    let target = seat.files.path().join(path);
    Deed {
        action,
        target: target.to_string_lossy().into_owned(),
        summary,
    }
}

/// Puts the bytes that were approved where they belong, if what they replace is still what was shown.
pub(super) fn put(seat: &Seat, change: &FileChange) -> Result<(Digest, Status), ApplyError> {
    let digest = seat.files.put(std::slice::from_ref(change))?;
    let status = seat
        .files
        .root()
        .and_then(|root| root.status(&change.path))
        .map_err(|source| ApplyError::Write {
            path: change.path.clone(),
            source,
        })?;
    Ok((digest, status))
}

/// What is at `path`: its bytes and how it stands; nothing if there is nothing.
pub(super) fn before(root: &Root, path: &Path) -> Result<Option<(Vec<u8>, Status)>, BeneathError> {
    let Some(status) = status_if_there(root, path)? else {
        return Ok(None);
    };
    if status.kind != EntryKind::File {
        return Err(BeneathError::NotAFile);
    }
    Ok(Some((root.read(path)?, status)))
}

pub(super) fn status_if_there(root: &Root, path: &Path) -> Result<Option<Status>, BeneathError> {
    match root.status(path) {
        Ok(status) => Ok(Some(status)),
        Err(BeneathError::Missing) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn read(call: &Call, path: &str) -> Result<(Vec<u8>, Status), Refusal> {
    let at = PathBuf::from(path);
    let found = call.look(move |seat| {
        let root = seat.files.root()?;
        let status = status_if_there(&root, &at)?.filter(|status| status.kind == EntryKind::File);
        match status {
            Some(status) if status.size > MOST => Ok(Some((Vec::new(), status))),
            Some(status) => Ok(Some((root.read(&at)?, status))),
            None => Ok(None),
        }
    });
    let (bytes, status) = found.await?.ok_or_else(not_found)?;
    if status.size > MOST {
        Err(too_large(status.size))
    } else {
        Ok((bytes, status))
    }
}

fn wanted(call: &Call) -> Result<String, Refusal> {
    relative(&call.query("path").unwrap_or_default())
}

fn not_found() -> Refusal {
    Refusal::new(404, "file_not_found", "File not found")
}

pub(super) fn too_large(size: u64) -> Refusal {
    let details = json!({ "maxBytes": MOST, "size": size });
    Refusal::new(413, "file_too_large", "File exceeds size limit").with_details(details)
}
