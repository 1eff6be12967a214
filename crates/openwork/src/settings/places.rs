//! Workspaces: where they are, what they are called, and how their opencode is reached.

use std::path::{Component, Path, PathBuf};

use countersign_core::digest::Digest;

use super::file::{File, Place};
use super::{Arguments, Surroundings, lists};
use crate::roster::{Entry, Opencode};

/// How many digits of its path's digest name a workspace.
const ID_DIGITS: usize = 12;

/// The path that `path` means in the directory `base`, without looking at the disk.
pub fn resolve(base: &Path, path: &str) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                resolved.push(component);
            }
        }
    }
    resolved
}

/// What the workspace at `path` is called on the wire.
pub fn workspace_id(path: &str) -> String {
    let digest = Digest::of_bytes(path.as_bytes()).to_string();
    format!("ws_{}", &digest[..ID_DIGITS])
}

pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The workspaces that the first of flags, environment and file names.
pub(super) fn workspaces(
    arguments: &Arguments,
    around: &Surroundings<'_>,
    file: &File,
    base: &Path,
) -> (Vec<Entry>, Opencode) {
    let in_environment = || {
        around
            .set("OPENWORK_WORKSPACES")
            .map(|list| lists::parse(&list))
    };
    let places: Vec<Place> = if !arguments.workspaces.is_empty() {
        arguments
            .workspaces
            .iter()
            .cloned()
            .map(Place::at)
            .collect()
    } else if let Some(paths) = in_environment().filter(|paths| !paths.is_empty()) {
        paths.into_iter().map(Place::at).collect()
    } else {
        file.workspaces.clone()
    };
    let pick = |flag: &Option<String>, name| flag.clone().or_else(|| around.set(name));
    let usual = Opencode {
        base_url: pick(&arguments.opencode_base_url, "OPENWORK_OPENCODE_BASE_URL"),
        // One directory cannot be that of several workspaces.
        directory: pick(&arguments.opencode_directory, "OPENWORK_OPENCODE_DIRECTORY")
            .filter(|_| places.len() == 1),
        username: pick(&arguments.opencode_username, "OPENWORK_OPENCODE_USERNAME")
            .or_else(|| file.opencode_username.clone()),
        password: pick(&arguments.opencode_password, "OPENWORK_OPENCODE_PASSWORD")
            .or_else(|| file.opencode_password.clone()),
    };
    let entries = places.into_iter().map(|place| entry(&usual, place, base));
    let entries = entries.collect();
    (entries, usual)
}

/// A workspace, with what is usual where it says nothing.
fn entry(usual: &Opencode, place: Place, base: &Path) -> Entry {
    let path = resolve(base, &place.path);
    let name = place
        .name
        .or_else(|| path.file_name().map(|name| name.to_string_lossy().into()));
    let path = text(&path);
    let or = |own: Option<String>, usual: &Option<String>| own.or_else(|| usual.clone());
    Entry {
        id: workspace_id(&path),
        name: name.unwrap_or_else(|| path.clone()),
        workspace_type: place.workspace_type.unwrap_or_else(|| "local".to_owned()),
        opencode: Opencode {
            base_url: or(place.base_url, &usual.base_url),
            directory: or(place.directory, &usual.directory),
            username: or(place.username, &usual.username),
            password: or(place.password, &usual.password),
        },
        path,
        is_for_owners: place.is_for_owners,
    }
}
