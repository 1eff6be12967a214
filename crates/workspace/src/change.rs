//! Changes of a workspace: what is wanted, what it would come to, and what it means.

use std::path::{Path, PathBuf};

use countersign_core::digest::Digest;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::beneath::BeneathError;
use crate::commands::CommandDraft;
use crate::import::Import;
use crate::refusal::Refusal;
use crate::workspace::Scope;

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Set keys of `opencode.jsonc` and of `.opencode/openwork.json`.
    PatchConfig {
        /// Each key is set as a whole; nothing if `null`.
        opencode: Value,
        /// The same, for OpenWork's own file.
        openwork: Value,
    },
    /// Put `text` in the place of the whole of opencode's configuration.
    WriteConfig {
        /// Whose configuration.
        scope: Scope,
        /// JSONC.
        text: String,
    },
    /// Add a plugin, unless there is one of that name.
    AddPlugin {
        /// As it is written down.
        spec: String,
    },
    /// Take out every plugin of that name.
    RemovePlugin {
        /// With or without a version.
        name: String,
    },
    /// Make a skill, or put another in its place.
    UpsertSkill {
        /// What it is called, and its folder.
        name: String,
        /// Its text, with or without front matter.
        content: String,
        /// What it is for, if the front matter does not say it.
        description: Option<String>,
    },
    /// Delete a skill with its folder.
    DeleteSkill {
        /// What it is called.
        name: String,
    },
    /// Add an MCP server, or put another in its place.
    SetMcp {
        /// What it is called.
        name: String,
        /// What opencode is told of it.
        config: Value,
    },
    /// Switch an MCP server on or off.
    EnableMcp {
        /// What it is called.
        name: String,
        /// Whether opencode may start it.
        enabled: bool,
    },
    /// Take out an MCP server.
    RemoveMcp {
        /// What it is called.
        name: String,
    },
    /// Make a command, or put another in its place.
    UpsertCommand(CommandDraft),
    /// Delete a command.
    DeleteCommand {
        /// What it is called.
        name: String,
    },
    /// Take in what was exported from a workspace: all of it, or nothing.
    Import(Import),
    /// Delete a job of the scheduler, with its units of systemd.
    DeleteJob {
        /// Its slug or its name.
        name: String,
    },
}

/// What a change would come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is wanted.
    pub change: Change,
    /// Which files would be changed, each once, in the order of their paths.
    pub files: Vec<FileChange>,
    /// What that means.
    pub effect: Effect,
    /// Whether anything would be different.
    pub changed: bool,
    /// What it rests on besides what is in those files.
    pub(crate) footing: Footing,
}

/// What a plan rests on besides what is in the files that it changes: if that is as it was, so is the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Footing {
    /// What is in other files, and which file is opencode's configuration.
    Files {
        /// What was in which; nothing if there was none.
        read: Vec<(Base, PathBuf, Option<Vec<u8>>)>,
        /// If it was looked for.
        config: Option<PathBuf>,
    },
    /// More than that, such as which files there are in a folder.
    More,
}

/// What would become of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Below what.
    pub base: Base,
    /// Where, below that.
    pub path: PathBuf,
    /// What is in it; nothing if there is none.
    pub before: Option<Vec<u8>>,
    /// What would be in it; nothing if it would be deleted.
    pub after: Option<Vec<u8>>,
}

/// What a path is below of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// The workspace.
    Workspace,
    /// The home of the user.
    Home,
}

/// What a change means, whatever else is in the files.
///
/// A change that is planned again with an equal effect is the change that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Effect {
    /// One after the other.
    pub acts: Vec<Act>,
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// A value is set.
    Set {
        /// Below what.
        base: Base,
        /// Which file.
        file: PathBuf,
        /// The keys that lead to it.
        keys: Vec<String>,
        /// What it was; nothing if it was not there.
        was: Option<Value>,
        /// What it is to be.
        value: Value,
    },
    /// A value is put behind the others of a list.
    Append {
        /// Below what.
        base: Base,
        /// Which file.
        file: PathBuf,
        /// The keys that lead to the list.
        keys: Vec<String>,
        /// What is put there.
        value: Value,
    },
    /// Values are taken out of a list.
    Take {
        /// Below what.
        base: Base,
        /// Which file.
        file: PathBuf,
        /// The keys that lead to the list.
        keys: Vec<String>,
        /// What is taken out.
        values: Vec<Value>,
    },
    /// A key is taken out.
    Remove {
        /// Below what.
        base: Base,
        /// Which file.
        file: PathBuf,
        /// The keys that lead to it.
        keys: Vec<String>,
        /// What it was.
        was: Value,
    },
    /// A file gets another text as a whole.
    Write {
        /// Below what.
        base: Base,
        /// Which file.
        file: PathBuf,
        /// What it was; nothing if there was none.
        was: Option<Digest>,
        /// What it is to be.
        text: String,
    },
    /// A file is deleted.
    Delete {
        /// Below what.
        base: Base,
        /// Which file.
        file: PathBuf,
        /// What it was.
        was: Digest,
    },
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// What was written, and what was there before: these bytes, at that moment.
    pub files: Vec<FileChange>,
    /// Whether anything is different now.
    pub changed: bool,
    /// Identifies what was written.
    pub digest: Digest,
}

/// Why a plan was not carried out. Nothing of it is on the disk, unless [`ApplyError::HalfDone`] says so.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Since it was planned, the files changed in such a way that it would mean something else.
    #[error("the workspace has changed since this was planned; nothing was written")]
    Changed,
    /// What is wanted is no longer possible.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A file could not be written.
    #[error("`{path}` could not be written", path = path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: BeneathError,
    },
    /// A file could not be written, and another that was written before could not be put back.
    #[error("`{path}` could not be written, and others were", path = path.display())]
    HalfDone {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: BeneathError,
    },
}

impl Plan {
    /// Where opencode's configuration of the workspace is or would be, below it, if that was looked for and matters.
    pub fn config(&self) -> Option<&Path> {
        match &self.footing {
            Footing::Files { config, .. } => config.as_deref(),
            Footing::More => None,
        }
    }

    /// Identifies what would be written.
    pub fn digest(&self) -> Digest {
        digest(&self.files)
    }
}

impl FileChange {
    /// Where the file is, given where the bases are.
    pub fn absolute(&self, workspace: &Path, home: &Path) -> PathBuf {
        match self.base {
            Base::Workspace => workspace.join(&self.path),
            Base::Home => home.join(&self.path),
        }
    }
}

impl Effect {
    /// Identifies what is meant: the same change of the same values has the same.
    pub fn digest(&self) -> Digest {
        // The acts are made of texts, numbers and values of JSON, all of which can be written as JSON.
        let value = serde_json::to_value(self).unwrap_or(Value::Null);
        Digest::of_json(&value)
    }
}

/// Identifies what files become.
pub(crate) fn digest(files: &[FileChange]) -> Digest {
    written(
        files
            .iter()
            .map(|file| (file.path.as_path(), file.after.as_deref())),
    )
}

/// Identifies what is at paths: bytes, or nothing.
pub fn written<'a>(files: impl IntoIterator<Item = (&'a Path, Option<&'a [u8]>)>) -> Digest {
    let parts = files.into_iter().flat_map(|(path, content)| {
        let path = path.as_os_str().as_encoded_bytes();
        let kind: &[u8] = match content {
            Some(_) => b"is",
            None => b"is not",
        };
        [path, kind, content.unwrap_or_default()]
    });
    Digest::of_parts(parts)
}

/// The keys of an object to be patched in; nothing if there is none.
pub(crate) fn object(value: &Value, name: &str) -> Result<Option<Map<String, Value>>, Refusal> {
    match value {
        Value::Null => Ok(None),
        Value::Object(map) => Ok(Some(map.clone())),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(
            Refusal::invalid("invalid_payload", format!("{name} must be an object")),
        ),
    }
}
