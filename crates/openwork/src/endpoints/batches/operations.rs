//! What is done to files as a whole: folders made, files and folders moved and deleted.

use std::path::{Path, PathBuf};

use countersign_workspace::beneath::{BeneathError, EntryKind, Root};
use countersign_workspace::{Base, FileChange};
use serde_json::{Value, json};

use super::items::invalid;
use crate::endpoints::files::{MOST, status_if_there};
use crate::file_path::relative;
use crate::refusal::Refusal;

/// One thing that is to be done.
pub(super) struct Operation {
    act: Act,
    /// What is in the file that it is about, if it is about a file that people can be shown.
    seen: Option<Vec<u8>>,
}

enum Act {
    Mkdir { path: String },
    Delete { path: String, is_recursive: bool },
    Rename { from: String, to: String },
    Unknown { kind: String },
}

impl Operation {
    /// Reads a list of at most `most`.
    pub(super) fn parse_all(value: &Value, most: usize) -> Result<Vec<Self>, Refusal> {
        let operations = value.as_array().map(Vec::as_slice).unwrap_or_default();
        if operations.is_empty() {
            return Err(invalid("operations must be a non-empty array"));
        }
        if operations.len() > most {
            return Err(invalid(format!("operations must include <= {most} items")));
        }
        operations.iter().map(Self::parse).collect()
    }

    fn parse(value: &Value) -> Result<Self, Refusal> {
        let path = |key: &str| relative(value[key].as_str().unwrap_or_default());
        let kind = value["type"].as_str().unwrap_or_default().trim();
        let act = match kind {
            "mkdir" => Act::Mkdir {
                path: path("path")?,
            },
            "delete" => Act::Delete {
                path: path("path")?,
                is_recursive: value["recursive"] == Value::Bool(true),
            },
            "rename" => Act::Rename {
                from: path("from")?,
                to: path("to")?,
            },
            _ => Act::Unknown {
                kind: kind.to_owned(),
            },
        };
        Ok(Self { act, seen: None })
    }

    /// Looks at the file that it would move or delete.
    pub(super) fn look(mut self, root: &Root) -> Self {
        self.seen = self.source().and_then(|path| seen(root, path));
        self
    }

    /// The file or folder that would no longer be where it is.
    fn source(&self) -> Option<&Path> {
        match &self.act {
            Act::Delete { path, .. } => Some(Path::new(path)),
            Act::Rename { from, .. } => Some(Path::new(from)),
            Act::Mkdir { .. } | Act::Unknown { .. } => None,
        }
    }

    /// What it is about.
    pub(super) fn paths(&self) -> Vec<&str> {
        match &self.act {
            Act::Mkdir { path } | Act::Delete { path, .. } => vec![path],
            Act::Rename { from, to } => vec![from, to],
            Act::Unknown { .. } => Vec::new(),
        }
    }

    /// What it is, for the person who is asked.
    pub(super) fn words(&self) -> String {
        match &self.act {
            Act::Mkdir { path } => format!("make the folder {path}"),
            Act::Delete {
                path,
                is_recursive: true,
            } => format!("delete {path} and everything in it"),
            Act::Delete { path, .. } => format!("delete {path}"),
            Act::Rename { from, to } => format!("move {from} to {to}"),
            Act::Unknown { kind } => format!("{kind} (unknown)"),
        }
    }

    /// What would become of the file that it is about.
    pub(super) fn changes(&self) -> Vec<FileChange> {
        let Some(content) = &self.seen else {
            return Vec::new();
        };
        let change = |path: &str, before: Option<&Vec<u8>>, after: Option<&Vec<u8>>| FileChange {
            base: Base::Workspace,
            path: PathBuf::from(path),
            before: before.cloned(),
            after: after.cloned(),
        };
        match &self.act {
            Act::Delete { path, .. } => vec![change(path, Some(content), None)],
            Act::Rename { from, to } => vec![
                change(from, Some(content), None),
                change(to, None, Some(content)),
            ],
            Act::Mkdir { .. } | Act::Unknown { .. } => Vec::new(),
        }
    }

    /// Does it, unless the file that it is about is no longer what was shown, and says what came of it.
    pub(super) fn carry_out(&self, root: &Root) -> Value {
        let (kind, mut item, done) = match &self.act {
            Act::Mkdir { path } => (
                "mkdir",
                json!({ "ok": true, "type": "mkdir", "path": path }),
                root.create_folder(Path::new(path)),
            ),
            Act::Delete { path, is_recursive } => {
                let item = json!({ "ok": true, "type": "delete", "path": path });
                if self.is_stale(root) {
                    return changed(item);
                }
                ("delete", item, delete(root, Path::new(path), *is_recursive))
            }
            Act::Rename { from, to } => {
                let item = json!({ "ok": true, "type": "rename", "from": from, "to": to });
                if self.is_stale(root) {
                    return changed(item);
                }
                ("rename", item, rename(root, Path::new(from), Path::new(to)))
            }
            Act::Unknown { kind } => {
                let message = format!("Unsupported operation type: {kind}");
                return json!({ "ok": false, "type": kind, "code": "invalid_operation", "message": message });
            }
        };
        match done {
            Ok(()) => item,
            Err(BeneathError::Missing) => {
                item["ok"] = json!(false);
                item["code"] = json!("file_not_found");
                item["message"] = json!("Path not found");
                item
            }
            Err(error) => {
                json!({ "ok": false, "type": kind, "code": "operation_failed", "message": error.to_string() })
            }
        }
    }

    fn is_stale(&self, root: &Root) -> bool {
        let now = self.source().and_then(|path| seen(root, path));
        self.seen.is_some() && now != self.seen
    }
}

/// What is in a file, if it is one that people can be shown.
fn seen(root: &Root, path: &Path) -> Option<Vec<u8>> {
    let status = status_if_there(root, path).ok().flatten()?;
    if status.kind == EntryKind::File && status.size <= MOST {
        root.read(path).ok()
    } else {
        None
    }
}

fn changed(mut item: Value) -> Value {
    item["ok"] = json!(false);
    item["code"] = json!("conflict");
    item["message"] = json!("File changed before the operation could be applied");
    item
}

fn delete(root: &Root, path: &Path, is_recursive: bool) -> Result<(), BeneathError> {
    match root.status(path)?.kind {
        EntryKind::Folder if is_recursive => root.remove_tree(path),
        EntryKind::Folder if root.remove_empty_folder(path)? => Ok(()),
        EntryKind::Folder => Err(BeneathError::System(
            std::io::ErrorKind::DirectoryNotEmpty.into(),
        )),
        EntryKind::File | EntryKind::Link | EntryKind::Other => root.remove_file(path),
    }
}

fn rename(root: &Root, from: &Path, to: &Path) -> Result<(), BeneathError> {
    if let Some(folder) = to.parent() {
        root.create_folder(folder)?;
    }
    root.rename(from, to)
}
