//! The catalogue of a workspace: every file and folder, without what is in them.

use std::path::{Path, PathBuf};

use countersign_workspace::beneath::{BeneathError, EntryKind, Root, Status};
use serde::Serialize;

use crate::endpoints::files::{kind, milliseconds, revision};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CatalogueEntry {
    pub(super) path: String,
    pub(super) kind: &'static str,
    size: u64,
    mtime_ms: f64,
    revision: String,
}

/// Everything below the root, or below `prefix`, in the order of the paths.
pub(super) fn catalogue(
    root: &Root,
    prefix: Option<&str>,
) -> Result<Vec<CatalogueEntry>, BeneathError> {
    let mut items = Vec::new();
    let start = PathBuf::from(prefix.unwrap_or_default());
    let mut open = vec![start.clone()];
    if prefix.is_some() {
        match root.status(&start) {
            Ok(status) => {
                let is_folder = status.kind == EntryKind::Folder;
                items.extend(catalogued(&start, status));
                if !is_folder {
                    return Ok(items);
                }
            }
            Err(BeneathError::Missing) => return Ok(items),
            Err(error) => return Err(error),
        }
    }
    while let Some(folder) = open.pop() {
        let entries = match root.entries(&folder) {
            Ok(entries) => entries,
            Err(error) if folder == start && !matches!(error, BeneathError::Missing) => {
                return Err(error);
            }
            // It went away, or is not for this user.
            Err(_) => continue,
        };
        for entry in entries {
            let path = folder.join(&entry.name);
            if !matches!(entry.kind, EntryKind::File | EntryKind::Folder) {
                continue;
            }
            if let Ok(status) = root.status(&path) {
                items.extend(catalogued(&path, status));
            }
            if entry.kind == EntryKind::Folder {
                open.push(path);
            }
        }
    }
    items.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(items)
}

fn catalogued(path: &Path, status: Status) -> Option<CatalogueEntry> {
    let size = if status.kind == EntryKind::Folder {
        0
    } else {
        status.size
    };
    let status = Status { size, ..status };
    Some(CatalogueEntry {
        path: path.to_str()?.to_owned(),
        kind: kind(status.kind),
        size,
        mtime_ms: milliseconds(status.modified),
        revision: revision(&status),
    })
}
