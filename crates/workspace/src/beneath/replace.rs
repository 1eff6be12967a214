//! Replaces a file as a whole: a new one beside it, on the disk, and then in its place.
//!
//! Whoever reads the file sees the old or the new content. The bits of the old file's mode are kept but for those that
//! lend rights; its other names, if it has any, keep the old content.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawMode, RenameFlags, fchmod, fsync, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::tree::{self, EntryKind};
use super::walk::{self, Missing};
use super::{BeneathError, Root, refused};
use crate::stamp::Stamp;

/// The bits of a mode that say who may do what; those that lend rights do not pass to new content.
const RIGHTS: RawMode = 0o777;

/// How the names of files begin that are not in their place yet.
const PREFIX: &str = ".countersign-";
/// How long such a name is.
const NAME: usize = PREFIX.len() + 16;
/// After how long nobody is at work on such a file any more, in nanoseconds.
const ABANDONED: i128 = 10 * 60 * 1_000_000_000;

/// What may be in the place of a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file or nothing.
    Any,
    /// Nothing.
    New,
}

/// A new file under a name that nobody else has, beside the file that it is to replace. Unless it is put in place, nothing
/// of it is left.
#[derive(Debug)]
pub(crate) struct Fresh {
    parent: OwnedFd,
    /// Where it is to go.
    target: OsString,
    /// Where it is.
    name: String,
    file: File,
}

impl Fresh {
    /// Makes it for `path`, with the folders above it.
    pub(crate) fn make(root: &Root, path: &Path) -> Result<Self, BeneathError> {
        let (parent, target) = walk::parent(root.folder(), path, Missing::Make)?;
        let rights = match statat(&parent, &target, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) if FileType::from_raw_mode(status.st_mode) == FileType::RegularFile => {
                Some(Mode::from_raw_mode(status.st_mode & RIGHTS))
            }
            Ok(_) => return Err(BeneathError::NotAFile),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(refused(error)),
        };
        let name = format!("{PREFIX}{:016x}", rand::random::<u64>());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&parent, &name, flags, Mode::from_raw_mode(0o666)).map_err(refused)?;
        let fresh = Self {
            parent,
            target,
            name,
            file: File::from(file),
        };
        if let Some(rights) = rights {
            fchmod(&fresh.file, rights).map_err(refused)?;
        }
        Ok(fresh)
    }

    /// Has `content` in it, on the disk.
    pub(crate) fn fill(&self, content: &[u8]) -> Result<(), BeneathError> {
        (&self.file)
            .write_all(content)
            .and_then(|()| self.file.sync_all())
            .map_err(BeneathError::System)
    }

    /// Puts it where it is to go, and has that on the disk too.
    pub(crate) fn put_in_place(self, target: Target) -> Result<(), BeneathError> {
        match target {
            Target::Any => {
                renameat(&self.parent, &self.name, &self.parent, &self.target).map_err(refused)?;
            }
            Target::New => rename_new(
                &self.parent,
                OsStr::new(&self.name),
                &self.parent,
                &self.target,
            )?,
        }
        sync(&self.parent);
        sweep(&self.parent);
        Ok(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // After a rename there is nothing under this name any more.
        match unlinkat(&self.parent, &self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => tracing::warn!(error = %error, "`{}` was left behind", self.name),
        }
    }
}

/// Renames to a name that nobody has yet.
pub(super) fn rename_new(
    from: &OwnedFd,
    from_name: &OsStr,
    to: &OwnedFd,
    to_name: &OsStr,
) -> Result<(), BeneathError> {
    match renameat_with(from, from_name, to, to_name, RenameFlags::NOREPLACE) {
        // Not every file system can do this in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if statat(to, to_name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(BeneathError::Exists);
            }
            renameat(from, from_name, to, to_name).map_err(refused)
        }
        renamed => renamed.map_err(refused),
    }
}

/// Deletes what others left here when they were killed.
fn sweep(parent: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(parent, ".", flags, Mode::empty()) else {
        return;
    };
    for entry in tree::entries(&folder).unwrap_or_default() {
        let name = entry.name.to_string_lossy();
        let is_fresh = name.len() == NAME && name.starts_with(PREFIX);
        if !is_fresh || entry.kind != EntryKind::File {
            continue;
        }
        let status = statat(parent, &entry.name, AtFlags::SYMLINK_NOFOLLOW);
        let is_abandoned = status.is_ok_and(|status| Stamp::of(&status).age() > ABANDONED);
        if is_abandoned && let Err(error) = unlinkat(parent, &entry.name, AtFlags::empty()) {
            tracing::debug!(error = %error, "`{name}` was not swept up");
        }
    }
}

/// Has the directory itself on the disk. The content is there already; a system that cannot do this loses the name at
/// worst, with its power.
pub(super) fn sync(parent: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let synced = openat(parent, ".", flags, Mode::empty()).and_then(fsync);
    if let Err(error) = synced {
        tracing::debug!(error = %error, "a directory was not synchronised");
    }
}
