//! A workspace: where it is, and what was read of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::beneath::{BeneathError, Root};
use crate::change::Base;
use crate::commands::Command;
use crate::config::RememberedConfig;
use crate::folder::Folder;
use crate::refusal::Refusal;
use crate::skills::{RememberedSkills, Skill};

/// A workspace. It is cheap to make, and remembers what it reads: keep it.
#[derive(Debug)]
pub struct Workspace {
    path: PathBuf,
    home: Home,
    pub(crate) config: RememberedConfig,
    pub(crate) skills: RememberedSkills,
    pub(crate) skill_folders: Folders<Skill>,
    pub(crate) command_folders: Folders<Command>,
}

/// The home of the user, where what counts for every workspace is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
}

/// Whether what counts for every workspace is listed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// What belongs to the workspace.
    Project,
    /// That and what is in the user's home.
    Everything,
}

/// Whose a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The workspace's.
    Project,
    /// The user's, for every workspace.
    Global,
}

/// What was made of folders, by their paths.
#[derive(Debug)]
pub(crate) struct Folders<T>(Mutex<HashMap<PathBuf, Arc<Folder<T>>>>);

impl Workspace {
    /// The workspace in the folder `path`, which is absolute. It need not be there yet.
    pub fn new(path: impl Into<PathBuf>, home: Home) -> Self {
        Self {
            path: path.into(),
            home,
            config: RememberedConfig::default(),
            skills: RememberedSkills::default(),
            skill_folders: Folders::default(),
            command_folders: Folders::default(),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the user's home is.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Opens its folder, for reading and writing files below it.
    pub fn root(&self) -> Result<Root, BeneathError> {
        Root::open(&self.path)
    }

    /// Opens what paths are below of.
    pub(crate) fn root_of(&self, base: Base) -> Result<Root, BeneathError> {
        match base {
            Base::Workspace => self.root(),
            Base::Home => self.home().root(),
        }
    }

    /// Opens its folder, if it is there.
    pub(crate) fn root_if_there(&self) -> Result<Option<Root>, Refusal> {
        if_there(self.root())
    }
}

impl Home {
    /// The home in the folder `path`, which is absolute. It need not be there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn root(&self) -> Result<Root, BeneathError> {
        Root::open(&self.path)
    }
}

impl<T> Default for Folders<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Folders<T> {
    pub(crate) fn of(&self, path: &Path) -> Arc<Folder<T>> {
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = folders.get(path) {
            return Arc::clone(folder);
        }
        let folder = Arc::default();
        folders.insert(path.to_owned(), Arc::clone(&folder));
        folder
    }
}

/// Takes a folder that is not there as one with nothing in it.
pub(crate) fn if_there(root: Result<Root, BeneathError>) -> Result<Option<Root>, Refusal> {
    match root {
        Ok(root) => Ok(Some(root)),
        Err(BeneathError::Missing | BeneathError::NoPlace) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
