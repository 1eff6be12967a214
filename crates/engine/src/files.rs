//! Files that are read and written for an agent: text, inside the folders of its session, and nowhere else.
//!
//! A path is first resolved with all its links ([`Folders::find`]), and has to end up inside a folder. What is then
//! opened is that very place, walked down from the root of the file system without following any link
//! (`walk`): whoever puts a link into the way meanwhile gets an error and never another file. This is the same on
//! every system. A write replaces the file as a whole, or not at all (`replace`).

mod replace;
mod slice;
mod walk;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use countersign_core::digest::Digest;

pub use replace::Written;
pub(crate) use walk::open_folder;

/// The most that is read of a file for an agent, in bytes of text. A larger file can be read in parts.
pub const READ_LIMIT: usize = 1024 * 1024;
/// The largest file that is looked through for a part of it.
pub const SCAN_LIMIT: u64 = 64 * 1024 * 1024;
/// The largest file that is written for an agent, and that is replaced.
pub const WRITE_LIMIT: usize = 2 * 1024 * 1024;

/// Why a file is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path does not begin at the root.
    #[error("the path has to be absolute")]
    Relative,
    /// The path leads out of the folders of the session.
    #[error("the path leads out of the folders of this session")]
    Outside,
    /// There is no such file.
    #[error("there is no such file")]
    Missing,
    /// A link leads nowhere, or a name is none.
    #[error("the path names no place for a file")]
    NoPlace,
    /// It is a directory, a pipe, a device or the like.
    #[error("it is no regular file")]
    NotAFile,
    /// It is too large.
    #[error("it is larger than {limit} bytes; `line` and `limit` read a part of a file")]
    TooLarge {
        /// How large it may be.
        limit: u64,
    },
    /// It is no UTF-8.
    #[error("it is no text in UTF-8")]
    NotText,
    /// The file is not what it was when leave for the change was asked.
    #[error("the file has changed since leave to write it was asked; nothing was written")]
    Changed,
    /// Somebody moved a part of the path, or put a link there.
    #[error("a part of the path was replaced while the file was looked for")]
    Replaced,
    /// The system refuses.
    #[error("the system refuses: {0}")]
    System(#[source] io::Error),
}

/// The folders that an agent's session may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Each as it was resolved when it became one.
    folders: Vec<PathBuf>,
}

/// A place inside a folder: resolved, with no link in it at that time, and with a name in UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    path: PathBuf,
}

/// What is at a place that could be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// What is in the file; nothing if there is none.
    pub content: Option<Vec<u8>>,
}

/// Files that are being written, so that each is written by one at a time. Clones are of the same.
#[derive(Debug, Clone, Default)]
pub struct Writers(Arc<Mutex<HashMap<PathBuf, Weak<Mutex<()>>>>>);

impl Folders {
    /// The folders of a session, each resolved by whoever named it. They are not resolved anew: a link that is put in the
    /// place of one later is not a folder of the session.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            folders: folders.into_iter().collect(),
        }
    }

    /// The first of them.
    pub fn first(&self) -> Result<Place, FileError> {
        let first = self.folders.first().ok_or(FileError::Outside)?;
        self.admit(first.clone())
    }

    /// Where `path` is, whether or not there is a file.
    pub fn find(&self, path: &Path) -> Result<Place, FileError> {
        if !path.is_absolute() {
            return Err(FileError::Relative);
        }
        match path.canonicalize() {
            Ok(real) => self.admit(real),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.find_new(path),
            // What lies outside is not told about.
            Err(_) if !self.has(path) => Err(FileError::Outside),
            Err(error) => Err(FileError::System(error)),
        }
    }

    /// The place of a file that is not there: in a directory that is, or in new ones below it.
    fn find_new(&self, path: &Path) -> Result<Place, FileError> {
        let mut names = Vec::new();
        let mut above = path;
        loop {
            // `..` behind what is not there means nothing.
            let (Some(name), Some(parent)) = (above.file_name(), above.parent()) else {
                return Err(if self.has(path) {
                    FileError::NoPlace
                } else {
                    FileError::Outside
                });
            };
            names.push(name);
            above = parent;
            if let Ok(mut real) = above.canonicalize() {
                real.extend(names.iter().rev());
                let place = self.admit(real)?;
                // A link that leads nowhere is there, and is no new file.
                let first = names.last().map(|name| above.join(name));
                let dangles = first.is_some_and(|first| first.symlink_metadata().is_ok());
                return if dangles {
                    Err(FileError::NoPlace)
                } else {
                    Ok(place)
                };
            }
        }
    }

    fn admit(&self, path: PathBuf) -> Result<Place, FileError> {
        if !self.has(&path) {
            Err(FileError::Outside)
        } else if path.to_str().is_none() {
            // It could be neither shown nor written down as it is.
            Err(FileError::NoPlace)
        } else {
            Ok(Place { path })
        }
    }

    fn has(&self, path: &Path) -> bool {
        let climbs = path
            .components()
            .any(|part| matches!(part, Component::ParentDir));
        !climbs && self.folders.iter().any(|folder| path.starts_with(folder))
    }
}

impl Place {
    /// A place that was found earlier, and written down as [`Place::path`].
    ///
    /// It is checked again against `folders`, and walked to without following a link.
    pub fn again(path: &Path, folders: &Folders) -> Result<Self, FileError> {
        if path.is_absolute() {
            folders.admit(path.to_owned())
        } else {
            Err(FileError::Relative)
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the text, or `limit` lines of it from `line` on, counted from one.
    pub fn read(&self, line: Option<u32>, limit: Option<u32>) -> Result<String, FileError> {
        let (file, length) = walk::open_file(&self.path)?;
        slice::read(file, length, line, limit)
    }

    /// What is there now, for a change of it.
    pub fn before(&self) -> Result<Before, FileError> {
        match walk::open_file(&self.path) {
            Ok((file, length)) => Ok(Before {
                content: Some(read_whole(file, length)?),
            }),
            Err(FileError::Missing) => Ok(Before { content: None }),
            Err(error) => Err(error),
        }
    }

    /// Puts `content` into the file if what is there now has the digest `before`, nothing if there was no file.
    pub fn write(
        &self,
        content: &str,
        before: Option<Digest>,
        writers: &Writers,
    ) -> Result<Written, FileError> {
        let writer = writers.of(&self.path);
        let _alone = writer.lock().unwrap_or_else(PoisonError::into_inner);
        replace::replace(&self.path, content.as_bytes(), before)
    }

    /// Whether it is a directory, without following a link.
    pub fn is_folder(&self) -> bool {
        open_folder(&self.path).is_ok()
    }
}

impl Before {
    /// What identifies it.
    pub fn digest(&self) -> Option<Digest> {
        self.content.as_deref().map(Digest::of_bytes)
    }
}

impl Writers {
    fn of(&self, path: &Path) -> Arc<Mutex<()>> {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writers.retain(|_, writer| writer.strong_count() > 0);
        if let Some(writer) = writers.get(path).and_then(Weak::upgrade) {
            return writer;
        }
        let writer = Arc::default();
        writers.insert(path.to_owned(), Arc::downgrade(&writer));
        writer
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

/// Reads a file that is no larger than what is written for an agent.
fn read_whole(file: std::fs::File, length: u64) -> Result<Vec<u8>, FileError> {
    let limit = WRITE_LIMIT as u64;
    let too_large = FileError::TooLarge { limit };
    if length > limit {
        return Err(too_large);
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(FileError::System)?;
    if bytes.len() as u64 > limit {
        return Err(too_large);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
