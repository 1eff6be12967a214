//! Files below a root folder, and nowhere else.
//!
//! A path is walked down from the root, one directory after the other, each opened from the one before it (`walk`).
//! A link is followed as long as it stays below the root; one that leads out, or begins at `/`, is refused. Whoever puts
//! a link into the way meanwhile gets an error, or another place below the root, and never one outside. A file is
//! replaced as a whole or not at all (`replace`).

mod append;
mod replace;
mod tree;
mod walk;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

pub(crate) use replace::{Fresh, Placed, Target};
pub use tree::{Entry, EntryKind};
use walk::Missing;

use crate::stamp::Stamp;

/// The largest file that is read, in bytes.
pub const READ_LIMIT: u64 = 32 * 1024 * 1024;

/// Why a file is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum BeneathError {
    /// The path leads out of the root.
    #[error("the path leads out of the workspace")]
    Outside,
    /// The path names no place below the root, or goes through what is no folder.
    #[error("the path names no place for a file")]
    NoPlace,
    /// There is no such file.
    #[error("there is no such file")]
    Missing,
    /// It is a directory, a pipe, a device or the like.
    #[error("it is no regular file")]
    NotAFile,
    /// It is there already.
    #[error("there is such a file already")]
    Exists,
    /// It is too large.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// How large it may be.
        limit: u64,
    },
    /// The system refuses.
    #[error("the system refuses: {0}")]
    System(#[source] io::Error),
}

/// An open root folder.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
}

/// What is known of a file or a folder without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// What it is.
    pub kind: EntryKind,
    /// How many bytes it holds.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub modified: i128,
}

/// A file that was read, and what tells it from what it becomes.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: Stamp,
}

impl Root {
    /// Opens the folder `path`, which may be reached through links: whoever names a root trusts the way to it.
    pub fn open(path: &Path) -> Result<Self, BeneathError> {
        let flags = walk::THROUGH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(folder) => Ok(Self { folder }),
            Err(error) => Err(refused(error)),
        }
    }

    /// Reads the file `path`.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, BeneathError> {
        self.read_stamped(path).map(|read| read.bytes)
    }

    /// Reads the file `path`; nothing if there is none.
    pub fn read_if_there(&self, path: &Path) -> Result<Option<Vec<u8>>, BeneathError> {
        match self.read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(BeneathError::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is at `path`, links followed.
    pub fn status(&self, path: &Path) -> Result<Status, BeneathError> {
        if path.as_os_str().is_empty() {
            return tree::status_of(&self.folder);
        }
        let (parent, name) = walk::parent(&self.folder, path, Missing::Fail)?;
        let status = statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(refused)?;
        Ok(tree::status(&status))
    }

    /// What is in the folder `path`, in the order of the names. An empty path is the root itself.
    pub fn entries(&self, path: &Path) -> Result<Vec<Entry>, BeneathError> {
        tree::entries(&self.open_folder(path)?)
    }

    /// What is in a folder that is open, in the order of the names.
    pub(crate) fn entries_of(folder: &OwnedFd) -> Result<Vec<Entry>, BeneathError> {
        tree::entries(folder)
    }

    /// What tells what is at `path` from what it becomes. A link is not followed.
    pub(crate) fn stamp(&self, path: &Path) -> Result<Stamp, BeneathError> {
        let (parent, name) = walk::parent_of_link(&self.folder, path)?;
        let status = statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(refused)?;
        Ok(Stamp::of(&status))
    }

    /// Puts `content` at `path` as a whole, making the folders that are missing. The rights of the old file are kept.
    pub fn replace(&self, path: &Path, content: &[u8]) -> Result<(), BeneathError> {
        let fresh = Fresh::make(self, path)?;
        fresh.fill(content)?;
        drop(fresh.put_in_place(Target::Any)?.settle());
        Ok(())
    }

    /// Puts `content` at `path`, where there must not be a file yet.
    pub fn create(&self, path: &Path, content: &[u8]) -> Result<(), BeneathError> {
        let fresh = Fresh::make(self, path)?;
        fresh.fill(content)?;
        drop(fresh.put_in_place(Target::New)?.settle());
        Ok(())
    }

    /// Makes the folder `path` with those above it.
    pub fn create_folder(&self, path: &Path) -> Result<(), BeneathError> {
        walk::folder(&self.folder, path, Missing::Make).map(drop)
    }

    /// Deletes the file `path`, or the link if it is one.
    pub fn remove_file(&self, path: &Path) -> Result<(), BeneathError> {
        let (parent, name) = walk::parent_of_link(&self.folder, path)?;
        tree::remove_file(&parent, &name)
    }

    /// Deletes the folder `path` if it is empty. Returns whether it was.
    pub fn remove_empty_folder(&self, path: &Path) -> Result<bool, BeneathError> {
        let (parent, name) = walk::parent_of_link(&self.folder, path)?;
        tree::remove_empty_folder(&parent, &name)
    }

    /// Deletes what is at `path` with everything in it. Links are deleted and not followed.
    pub fn remove_tree(&self, path: &Path) -> Result<(), BeneathError> {
        let (parent, name) = walk::parent_of_link(&self.folder, path)?;
        tree::remove(&parent, &name)
    }

    /// Moves what is at `from` to `to`, where there must be nothing. The folders above `to` have to be there.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), BeneathError> {
        let (from_parent, from_name) = walk::parent_of_link(&self.folder, from)?;
        let (to_parent, to_name) = walk::parent_of_link(&self.folder, to)?;
        replace::rename_new(&from_parent, &from_name, &to_parent, &to_name)
    }

    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// Opens the folder `path` for looking into it.
    pub(crate) fn open_folder(&self, path: &Path) -> Result<OwnedFd, BeneathError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Some(opened) = walk::open_at_once(&self.folder, path, flags) {
            return opened;
        }
        let through = walk::folder(&self.folder, path, Missing::Fail)?;
        openat(&through, ".", flags, Mode::empty()).map_err(refused)
    }

    pub(crate) fn read_stamped(&self, path: &Path) -> Result<ReadFile, BeneathError> {
        let (file, stamp, length) = regular(self.open_file(path)?)?;
        read_file(file, stamp, length)
    }

    /// Reads the file `path`, unless it is one that the caller knows by its stamp.
    pub(crate) fn read_unless(
        &self,
        path: &Path,
        is_known: impl FnOnce(&Stamp) -> bool,
    ) -> Result<Option<ReadFile>, BeneathError> {
        let (file, stamp, length) = regular(self.open_file(path)?)?;
        if is_known(&stamp) {
            return Ok(None);
        }
        read_file(file, stamp, length).map(Some)
    }

    fn open_file(&self, path: &Path) -> Result<OwnedFd, BeneathError> {
        // A pipe must not be waited for, and a terminal not become ours.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if let Some(opened) = walk::open_at_once(&self.folder, path, flags) {
            return opened;
        }
        let (parent, name) = walk::parent(&self.folder, path, Missing::Fail)?;
        openat(&parent, &name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(refused)
    }
}

fn regular(file: OwnedFd) -> Result<(OwnedFd, Stamp, u64), BeneathError> {
    let status = fstat(&file).map_err(refused)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(BeneathError::NotAFile);
    }
    let length = u64::try_from(status.st_size).unwrap_or_default();
    Ok((file, Stamp::of(&status), length))
}

fn read_file(file: OwnedFd, stamp: Stamp, length: u64) -> Result<ReadFile, BeneathError> {
    let too_large = BeneathError::TooLarge { limit: READ_LIMIT };
    if length > READ_LIMIT {
        return Err(too_large);
    }
    #[cfg(test)]
    READS.with(|reads| reads.set(reads.get() + 1));
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // It may grow while it is read.
    File::from(file)
        .take(READ_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(BeneathError::System)?;
    if bytes.len() as u64 > READ_LIMIT {
        return Err(too_large);
    }
    Ok(ReadFile { bytes, stamp })
}

#[cfg(test)]
thread_local! {
    /// How many files this thread has read.
    pub(crate) static READS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

pub(crate) fn refused(error: Errno) -> BeneathError {
    match error {
        Errno::NOENT => BeneathError::Missing,
        // `openat2` says so of a path that leads out of the root.
        Errno::XDEV => BeneathError::Outside,
        Errno::LOOP | Errno::NOTDIR | Errno::INVAL | Errno::NAMETOOLONG => BeneathError::NoPlace,
        // A socket, or a device without a driver.
        Errno::ISDIR | Errno::NXIO | Errno::NODEV => BeneathError::NotAFile,
        Errno::EXIST => BeneathError::Exists,
        error => BeneathError::System(error.into()),
    }
}

#[cfg(test)]
mod tests;
