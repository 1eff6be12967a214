//! What is in folders, and deleting it.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::{BeneathError, Status, refused, replace};
use crate::stamp::Stamp;

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is called.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// What something in a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, wherever it leads.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        if kind == FileType::RegularFile {
            Self::File
        } else if kind == FileType::Directory {
            Self::Folder
        } else if kind == FileType::Symlink {
            Self::Link
        } else {
            Self::Other
        }
    }
}

pub(super) fn entries(folder: &OwnedFd) -> Result<Vec<Entry>, BeneathError> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(status) => kind = FileType::from_raw_mode(status.st_mode),
                // It is gone already.
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(refused(error)),
            }
        }
        entries.push(Entry {
            name: name.to_owned(),
            kind: kind.into(),
        });
    }
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

pub(super) fn status_of(folder: &OwnedFd) -> Result<Status, BeneathError> {
    fstat(folder).map(|it| status(&it)).map_err(refused)
}

pub(super) fn status(status: &Stat) -> Status {
    Status {
        kind: FileType::from_raw_mode(status.st_mode).into(),
        size: u64::try_from(status.st_size).unwrap_or_default(),
        modified: Stamp::of(status).modified(),
    }
}

pub(super) fn remove_file(parent: &OwnedFd, name: &OsStr) -> Result<(), BeneathError> {
    unlinkat(parent, name, AtFlags::empty()).map_err(refused)?;
    replace::sync(parent);
    Ok(())
}

pub(super) fn remove_empty_folder(parent: &OwnedFd, name: &OsStr) -> Result<bool, BeneathError> {
    match unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(error) => Err(refused(error)),
    }
}

pub(super) fn remove(parent: &OwnedFd, name: &OsStr) -> Result<(), BeneathError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(parent, name, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::LOOP | Errno::NOTDIR) => return remove_file(parent, name),
        Err(error) => return Err(refused(error)),
    };
    for entry in entries(&folder)? {
        match entry.kind {
            EntryKind::Folder => remove(&folder, &entry.name)?,
            EntryKind::File | EntryKind::Link | EntryKind::Other => {
                unlinkat(&folder, &entry.name, AtFlags::empty()).map_err(refused)?;
            }
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(refused)?;
    replace::sync(parent);
    Ok(())
}
