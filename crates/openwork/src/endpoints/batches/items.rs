//! One file of many: read, written, moved or deleted, and what is said of it.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_core::digest::Digest;
use countersign_workspace::beneath::{BeneathError, EntryKind, Root};
use countersign_workspace::{ApplyError, Base, FileChange};
use serde_json::{Value, json};

use crate::endpoints::files::{MOST, before, milliseconds, put, revision, status_if_there};
use crate::file_path::relative;
use crate::refusal::Refusal;
use crate::roster::Seat;

/// A file that is to be written.
pub(super) struct Wanted {
    path: String,
    content: Option<Vec<u8>>,
    if_match: Option<String>,
    force: bool,
}

/// A file that is going to be written.
pub(super) struct Planned {
    path: String,
    pub(super) change: FileChange,
    if_match: Option<String>,
    previous: Option<String>,
}

impl Wanted {
    pub(super) fn parse(value: &Value) -> Result<Self, Refusal> {
        if !value.is_object() {
            return Err(invalid("write entries must be objects"));
        }
        let text = |key: &str| {
            value[key]
                .as_str()
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        let content = text("contentBase64").ok_or_else(|| invalid("contentBase64 is required"))?;
        Ok(Self {
            path: relative(value["path"].as_str().unwrap_or_default())?,
            content: STANDARD.decode(content).ok(),
            if_match: text("ifMatchRevision").map(str::to_owned),
            force: value["force"] == Value::Bool(true),
        })
    }

    /// What is to be done, or why it is not.
    pub(super) fn plan(self, root: &Root) -> Result<Planned, Value> {
        let path = self.path;
        let Some(content) = self.content else {
            return Err(failed(&path, "invalid_payload", "contentBase64 is invalid"));
        };
        let size = content.len() as u64;
        if size > MOST {
            let mut item = failed(&path, "file_too_large", "File exceeds size limit");
            item["maxBytes"] = json!(MOST);
            item["size"] = json!(size);
            return Err(item);
        }
        let known = before(root, Path::new(&path)).map_err(|error| refused(&path, &error))?;
        let previous = known.as_ref().map(|(_, status)| revision(status));
        let if_match = self.if_match.filter(|_| !self.force);
        if if_match.is_some() && if_match != previous {
            let message = "File changed since it was loaded";
            return Err(conflict(
                &path,
                message,
                if_match.as_deref(),
                previous.as_deref(),
            ));
        }
        Ok(Planned {
            change: FileChange {
                base: Base::Workspace,
                path: PathBuf::from(&path),
                before: known.map(|(bytes, _)| bytes),
                after: Some(content),
            },
            path,
            if_match,
            previous,
        })
    }
}

/// What came of a write.
pub(super) struct Outcome {
    /// What the client is told.
    pub(super) item: Value,
    /// Identifies what was written; nothing if nothing was.
    pub(super) digest: Option<Digest>,
}

impl Planned {
    /// Writes what was approved, unless the file is no longer what was shown with it.
    pub(super) fn carry_out(self, seat: &Seat) -> Outcome {
        match put(seat, &self.change) {
            Ok((digest, status)) => Outcome {
                item: json!({
                    "ok": true, "path": self.path, "bytes": status.size, "updatedAt": milliseconds(status.modified),
                    "revision": revision(&status), "previousRevision": self.previous,
                }),
                digest: Some(digest),
            },
            Err(error) => Outcome {
                item: self.failed(seat, &error),
                digest: None,
            },
        }
    }

    fn failed(&self, seat: &Seat, error: &ApplyError) -> Value {
        if !matches!(error, ApplyError::Changed) {
            return failed(&self.path, "write_failed", &error.to_string());
        }
        let root = seat.files.root();
        let status = root.and_then(|root| status_if_there(&root, &self.change.path));
        let current = status.ok().flatten().map(|status| revision(&status));
        conflict(
            &self.path,
            "File changed before write could be applied",
            self.if_match.as_deref().or(self.previous.as_deref()),
            current.as_deref(),
        )
    }
}

pub(super) fn read_one(root: &Root, path: &str) -> Value {
    let status = match root.status(Path::new(path)) {
        Ok(status) if status.kind == EntryKind::File => status,
        Ok(_) | Err(BeneathError::Missing) => {
            return failed(path, "file_not_found", "File not found");
        }
        Err(error) => return refused(path, &error),
    };
    if status.size > MOST {
        let mut item = failed(path, "file_too_large", "File exceeds size limit");
        item["maxBytes"] = json!(MOST);
        item["size"] = json!(status.size);
        return item;
    }
    match root.read(Path::new(path)) {
        Ok(bytes) => json!({
            "ok": true, "path": path, "kind": "file", "bytes": status.size, "updatedAt": milliseconds(status.modified),
            "revision": revision(&status), "contentBase64": STANDARD.encode(bytes),
        }),
        Err(error) => refused(path, &error),
    }
}

pub(super) fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new(400, "invalid_payload", message)
}

fn failed(path: &str, code: &str, message: &str) -> Value {
    json!({ "ok": false, "path": path, "code": code, "message": message })
}

fn refused(path: &str, error: &BeneathError) -> Value {
    match error {
        BeneathError::NotAFile => failed(path, "invalid_path", "Path must point to a file"),
        BeneathError::Outside => failed(path, "invalid_path", "Path traversal is not allowed"),
        BeneathError::NoPlace
        | BeneathError::Missing
        | BeneathError::Exists
        | BeneathError::TooLarge { .. }
        | BeneathError::System(_) => failed(path, "read_failed", &error.to_string()),
    }
}

fn conflict(path: &str, message: &str, expected: Option<&str>, current: Option<&str>) -> Value {
    let mut item = failed(path, "conflict", message);
    item["expectedRevision"] = json!(expected);
    item["currentRevision"] = json!(current);
    item
}
