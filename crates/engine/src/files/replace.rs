//! Replaces a file as a whole: a new one beside it, on the disk, and then in its place.
//!
//! Whoever reads the file sees the old or the new content. The bits of the old file's mode are kept but for those that
//! lend rights; its other names, if it has any, keep the old content.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use countersign_core::digest::Digest;
use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fstat, fsync, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::walk::{Missing, open_file_in, open_parent, refused};
use super::{FileError, read_whole};

/// The bits of a mode that say who may do what; those that lend rights do not pass to new content.
const RIGHTS: u32 = 0o777;

/// What a write came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The content is in the file now.
    Replaced,
    /// It was there before.
    Unchanged,
}

/// Puts `content` at `path`, if what is there has the digest `before`.
///
/// Between the last look and the rename somebody else could still write: no system has a way to rename on condition.
pub(super) fn replace(
    path: &Path,
    content: &[u8],
    before: Option<Digest>,
) -> Result<Written, FileError> {
    let missing = match before {
        Some(_) => Missing::Fail,
        None => Missing::Make,
    };
    let (parent, name) = match open_parent(path, missing) {
        Err(FileError::Missing) => return Err(FileError::Changed),
        opened => opened?,
    };
    let (now, rights) = look(&parent, name)?;
    if now == Some(Digest::of_bytes(content)) {
        return Ok(Written::Unchanged);
    }
    if now != before {
        return Err(FileError::Changed);
    }
    let fresh = Fresh::make(&parent)?;
    fresh.fill(content, rights)?;
    // Some agents write what they have us write, at the same moment: then it is there, and nothing else is.
    match look(&parent, name)?.0 {
        now if now == before => {}
        now if now == Some(Digest::of_bytes(content)) => return Ok(Written::Unchanged),
        Some(_) | None => return Err(FileError::Changed),
    }
    fresh.put_in_place(name, before)?;
    sync(&parent);
    Ok(Written::Replaced)
}

/// The digest and the rights of a file, if there is one.
fn look(parent: &OwnedFd, name: &OsStr) -> Result<(Option<Digest>, Option<Mode>), FileError> {
    let (file, length) = match open_file_in(parent, name) {
        Err(FileError::Missing) => return Ok((None, None)),
        opened => opened?,
    };
    let rights = Mode::from_raw_mode(fstat(&file).map_err(refused)?.st_mode & RIGHTS);
    let content = read_whole(file, length)?;
    Ok((Some(Digest::of_bytes(&content)), Some(rights)))
}

/// A new file under a name that nobody else has. Unless it is put in place, nothing of it is left.
struct Fresh<'a> {
    parent: &'a OwnedFd,
    name: String,
    file: File,
}

impl<'a> Fresh<'a> {
    fn make(parent: &'a OwnedFd) -> Result<Self, FileError> {
        let name = format!(".countersign-{:016x}", rand::random::<u64>());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(parent, &name, flags, Mode::from_raw_mode(0o666)).map_err(refused)?;
        Ok(Self {
            parent,
            name,
            file: File::from(file),
        })
    }

    fn fill(&self, content: &[u8], rights: Option<Mode>) -> Result<(), FileError> {
        (&self.file).write_all(content).map_err(FileError::System)?;
        if let Some(rights) = rights {
            fchmod(&self.file, rights).map_err(refused)?;
        }
        self.file.sync_all().map_err(FileError::System)
    }

    fn put_in_place(self, name: &OsStr, before: Option<Digest>) -> Result<(), FileError> {
        let parent = self.parent;
        let new = before.is_none();
        if new {
            // Unlike a rename this does not take the place of a file that came meanwhile.
            match linkat(parent, &self.name, parent, name, AtFlags::empty()) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => return Err(FileError::Changed),
                // Not every file system has a second name for a file.
                Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {}
                Err(error) => return Err(refused(error)),
            }
        }
        renameat(parent, &self.name, parent, name).map_err(refused)
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing under this name any more.
        match unlinkat(self.parent, &self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => tracing::warn!(error = %error, "`{}` was left behind", self.name),
        }
    }
}

/// Has the directory itself on the disk. The content is there already; a system that cannot do this loses the name at
/// worst, with its power.
fn sync(parent: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let synced = openat(parent, ".", flags, Mode::empty()).and_then(fsync);
    if let Err(error) = synced {
        tracing::debug!(error = %error, "a directory was not synchronised");
    }
}
