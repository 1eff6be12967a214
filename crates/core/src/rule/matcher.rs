//! Which asks a rule is about.
//!
//! A denial has to be hard to walk around and a leave hard to stretch, so the two are matched differently: a denial matches
//! if anything that is asked for does, a leave only if everything does and everything is known.

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ask::{Folder, Location, NamedFile, ResolvedFile};
use crate::rule::UnfitRule;

/// Tools whose target is a program for a shell: a pattern cannot tell what such a text would run.
pub(super) const SHELL_TOOLS: [&str; 4] = ["bash", "shell", "execute", "terminal"];

/// Which targets a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "match")]
pub enum Matcher {
    /// Exactly these targets: a leave is for all of them and no other, a denial for each of them.
    Exact {
        /// The targets.
        targets: Vec<String>,
        /// The folder that a command has to run in for a leave, as an absolute path; the folder of its session if nothing
        /// is said. A denial holds in every folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// The files that the targets have to be for a leave; the very files that the targets name if nothing is said.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<ResolvedFile>,
    },
    /// Targets that match a glob: for a leave all of them, for a denial any. `*` stays within one folder, `**` does not.
    /// A file is matched by its path below the folder of the session, or by its absolute path if it is elsewhere: `**` is
    /// the workspace and not the disk.
    Glob {
        /// The glob.
        pattern: String,
    },
}

impl Matcher {
    /// Exactly these targets, in the folder of the session.
    pub fn exactly(targets: Vec<String>) -> Self {
        Self::Exact {
            targets,
            folder: None,
            files: vec![],
        }
    }

    /// Fails unless a rule for `tool` may match this way.
    pub fn check(&self, tool: &str) -> Result<(), UnfitRule> {
        match self {
            Self::Exact { targets, .. } if targets.is_empty() => Err(UnfitRule::NoTarget),
            Self::Exact { .. } => Ok(()),
            Self::Glob { .. } if SHELL_TOOLS.contains(&tool) => Err(UnfitRule::GlobForShell {
                tool: tool.to_owned(),
            }),
            Self::Glob { pattern } => compile(pattern).map(drop),
        }
    }

    /// Whether a leave covers everything that is asked for.
    pub(super) fn covers_all(&self, asked: &[String], at: &Location) -> bool {
        let is_known = |named: &NamedFile| named.file != ResolvedFile::Unknown;
        if asked.is_empty() || !at.files.iter().all(is_known) {
            return false;
        }
        match self {
            Self::Exact {
                targets,
                folder,
                files,
            } => {
                let is_in_folder = match (&at.folder, folder) {
                    (Folder::Session, None) => true,
                    (Folder::Other { path }, Some(folder)) => path == folder,
                    (Folder::Session | Folder::Other { .. } | Folder::Unknown { .. }, _) => false,
                };
                let are_same_files = if files.is_empty() {
                    at.files.iter().all(|named| is_plain(named, targets))
                } else {
                    at.files.iter().map(|named| &named.file).eq(files)
                };
                is_in_folder && targets == asked && are_same_files
            }
            Self::Glob { pattern } => {
                let Ok(glob) = compile(pattern) else {
                    return false;
                };
                at.folder.is_session()
                    && if at.files.is_empty() {
                        asked
                            .iter()
                            .all(|target| !climbs(target) && glob.is_match(target))
                    } else {
                        at.files.iter().all(|named| is_like(&glob, named))
                    }
            }
        }
    }

    /// Whether a denial is about anything that is asked for. A file that could not be resolved may be any file.
    pub(super) fn covers_any(&self, asked: &[String], at: &Location) -> bool {
        if at
            .files
            .iter()
            .any(|named| named.file == ResolvedFile::Unknown)
        {
            return true;
        }
        match self {
            Self::Exact { targets, files, .. } => {
                let is_file = |named: &NamedFile| {
                    files.contains(&named.file)
                        || targets.contains(&named.named)
                        || named
                            .file
                            .path()
                            .is_some_and(|path| targets.iter().any(|it| it == path))
                };
                asked.iter().any(|target| targets.contains(target)) || at.files.iter().any(is_file)
            }
            Self::Glob { pattern } => compile(pattern).is_ok_and(|glob| {
                asked.iter().any(|target| glob.is_match(target))
                    || at.files.iter().any(|named| {
                        glob.is_match(&named.named) || is_any_like(&glob, named, &at.root)
                    })
            }),
        }
    }
}

/// What an exact rule has to say about the files of an ask: nothing where each is what its name says.
pub(super) fn files_to_keep(targets: &[String], at: &Location) -> Vec<ResolvedFile> {
    if at.files.iter().all(|named| is_plain(named, targets)) {
        return vec![];
    }
    at.files.iter().map(|named| named.file.clone()).collect()
}

/// Whether a file is the very one that a target names: below the folder of the session, or by its absolute path.
fn is_plain(named: &NamedFile, targets: &[String]) -> bool {
    let path = named.file.path();
    path.is_some_and(|path| targets.iter().any(|target| target == path))
}

fn is_like(glob: &GlobMatcher, named: &NamedFile) -> bool {
    named.file.path().is_some_and(|path| match named.file {
        // A pattern that begins at the root is about the disk, every other one about the workspace.
        ResolvedFile::Outside { .. } => glob.glob().glob().starts_with('/') && glob.is_match(path),
        ResolvedFile::Inside { .. } | ResolvedFile::Unknown => glob.is_match(path),
    })
}

/// Whether a file is like `glob` by any of its names: a denial means it wherever it is.
fn is_any_like(glob: &GlobMatcher, named: &NamedFile, root: &str) -> bool {
    named.file.path().is_some_and(|path| {
        glob.is_match(path) || (!root.is_empty() && glob.is_match(format!("{root}/{path}")))
    })
}

/// Whether a text leaves the folder that it begins with.
fn climbs(target: &str) -> bool {
    target.split(['/', '\\']).any(|part| part == "..")
}

fn compile(pattern: &str) -> Result<GlobMatcher, UnfitRule> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| UnfitRule::InvalidGlob {
            pattern: pattern.to_owned(),
            message: error.kind().to_string(),
        })
}
