//! Where a tool acts: the folder that its command runs in, and the files that it names, as they were found when it asked.
//!
//! The same words in another folder, or behind a link, are another act. What could not be found out is said to be unknown,
//! and no rule allows it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a tool acts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Location {
    /// The folder that its command runs in.
    #[serde(skip_serializing_if = "Folder::is_session")]
    pub folder: Folder,
    /// The files that it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<NamedFile>,
    /// The folder of the session, with links resolved, where files are named.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub root: String,
}

impl Location {
    /// Whether nothing has to be said about it: it is the folder of the session, and no file is named.
    pub fn is_plain(&self) -> bool {
        self.folder.is_session() && self.files.is_empty()
    }

    /// Whether it is known where the tool acts.
    pub fn is_known(&self) -> bool {
        let is_known = |named: &NamedFile| named.file != ResolvedFile::Unknown;
        !matches!(self.folder, Folder::Unknown { .. }) && self.files.iter().all(is_known)
    }

    /// A place of which only the names of files are known so far.
    pub fn of_files(names: impl IntoIterator<Item = String>) -> Self {
        Self {
            files: names.into_iter().map(NamedFile::unresolved).collect(),
            ..Self::default()
        }
    }
}

/// The folder that a command runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Folder {
    /// The folder of its session: the workspace, or the worktree of a job.
    #[default]
    Session,
    /// Another folder.
    Other {
        /// Its absolute path, with links resolved.
        path: String,
    },
    /// A folder that could not be found, or that the engine did not say.
    Unknown {
        /// What the engine calls it, if it says.
        named: String,
    },
}

impl Folder {
    /// Whether it is the folder of the session.
    pub fn is_session(&self) -> bool {
        *self == Self::Session
    }

    /// The folder as people read it; nothing if it is the session's.
    pub fn shown(&self) -> Option<&str> {
        match self {
            Self::Session => None,
            Self::Other { path } => Some(path),
            Self::Unknown { named } if named.is_empty() => Some("a folder that is not known"),
            Self::Unknown { named } => Some(named),
        }
    }
}

/// A file that a tool names, and which one that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedFile {
    /// As the tool names it.
    pub named: String,
    /// Which file that is.
    pub file: ResolvedFile,
}

impl NamedFile {
    /// A file of which only the name is known.
    pub fn unresolved(named: String) -> Self {
        Self {
            named,
            file: ResolvedFile::Unknown,
        }
    }
}

/// A file, once `..` and links are resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ResolvedFile {
    /// It is in the folder of the session.
    Inside {
        /// Its path below that folder.
        path: String,
    },
    /// It is elsewhere.
    Outside {
        /// Its absolute path.
        path: String,
    },
    /// Which file it is could not be found out.
    Unknown,
}

impl ResolvedFile {
    /// Its path as rules have it: relative inside, absolute outside; nothing if it is unknown.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Inside { path } | Self::Outside { path } => Some(path),
            Self::Unknown => None,
        }
    }
}
