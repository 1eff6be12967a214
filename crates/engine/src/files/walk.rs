//! Opens a place by walking down to it from the root of the file system, one directory after the other, no link followed.
//!
//! Each step is taken from the directory that was opened before it, so nothing that is renamed or linked meanwhile can
//! lead elsewhere.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;

use super::FileError;

/// How a directory is opened that is only gone through.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = OFlags::RDONLY;

/// What to do where a directory is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Fail.
    Fail,
    /// Make it.
    Make,
}

/// Opens the directory `path`.
pub(crate) fn open_folder(path: &Path) -> Result<OwnedFd, FileError> {
    walk(path, Missing::Fail)
}

/// Opens the directory that holds `path`, and returns it with the name in it.
pub(super) fn open_parent(
    path: &Path,
    missing: Missing,
) -> Result<(OwnedFd, &std::ffi::OsStr), FileError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::NoPlace);
    };
    Ok((walk(parent, missing)?, name))
}

/// Opens the regular file `path` for reading, and returns its length too. Nothing else is opened, however it is called.
pub(super) fn open_file(path: &Path) -> Result<(File, u64), FileError> {
    let (parent, name) = open_parent(path, Missing::Fail)?;
    open_file_in(&parent, name)
}

/// Opens the regular file `name` in `parent`.
pub(super) fn open_file_in(
    parent: &OwnedFd,
    name: &std::ffi::OsStr,
) -> Result<(File, u64), FileError> {
    // A pipe must not be waited for, and a terminal not become ours.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(parent, name, flags, Mode::empty()).map_err(|error| match error {
        // A socket, or a device without a driver.
        Errno::NXIO | Errno::NODEV => FileError::NotAFile,
        error => refused(error),
    })?;
    let status = fstat(&file).map_err(refused)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(FileError::NotAFile);
    }
    let length = u64::try_from(status.st_size).unwrap_or_default();
    Ok((File::from(file), length))
}

fn walk(path: &Path, missing: Missing) -> Result<OwnedFd, FileError> {
    let flags = THROUGH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = openat(CWD, "/", flags, Mode::empty()).map_err(refused)?;
    for part in path.components() {
        let name = match part {
            Component::RootDir => continue,
            Component::Normal(name) => name,
            Component::CurDir | Component::ParentDir | Component::Prefix(_) => {
                return Err(FileError::NoPlace);
            }
        };
        here = match openat(&here, name, flags, Mode::empty()) {
            Err(Errno::NOENT) if missing == Missing::Make => {
                match mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(refused(error)),
                }
                openat(&here, name, flags, Mode::empty()).map_err(refused)?
            }
            opened => opened.map_err(refused)?,
        };
    }
    Ok(here)
}

pub(super) fn refused(error: Errno) -> FileError {
    match error {
        Errno::NOENT => FileError::Missing,
        // Where a directory was resolved there is a link or something else now.
        Errno::LOOP | Errno::NOTDIR => FileError::Replaced,
        error => FileError::System(error.into()),
    }
}
