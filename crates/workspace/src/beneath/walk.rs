//! Walks down from a root, and follows only the links that stay below it.
//!
//! Where the kernel can do it in one call (`openat2`), it does. Elsewhere, and wherever the folder of a file is needed,
//! each step is taken from the directory that was opened before it, a link is read and its own steps are taken, and
//! `..` goes back to the directory that the walk came from. What is renamed or linked meanwhile cannot lead out.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, mkdirat, openat, readlinkat};
use rustix::io::Errno;

use super::{BeneathError, refused};

/// How something is opened that is only gone through, or held.
#[cfg(target_os = "linux")]
pub(super) const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(super) const THROUGH: OFlags = OFlags::RDONLY;

/// How many links are followed on one way.
const LINKS: usize = 40;

/// What to do where a directory is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Fail.
    Fail,
    /// Make it.
    Make,
}

/// What to do with a link at the end of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastLink {
    /// Go where it leads.
    Follow,
    /// Stay: it is the link that is meant.
    Keep,
}

/// Opens `path` with one call, if the kernel can hold it below `root` itself. Nothing if it cannot tell.
#[cfg(target_os = "linux")]
pub(super) fn open_at_once(
    root: &OwnedFd,
    path: &Path,
    flags: OFlags,
) -> Option<Result<OwnedFd, BeneathError>> {
    use rustix::fs::{ResolveFlags, openat2};
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let below = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, flags, Mode::empty(), below) {
        // An old kernel, a sandbox that does not know the call, or somebody who renames all the time.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => None,
        opened => Some(opened.map_err(refused)),
    }
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn open_at_once(
    _root: &OwnedFd,
    _path: &Path,
    _flags: OFlags,
) -> Option<Result<OwnedFd, BeneathError>> {
    None
}

/// Opens the directory that holds what `path` leads to, and returns it with the name in it.
///
/// There is no link under that name at that moment: one at the end of the way is followed too.
pub(super) fn parent(
    root: &OwnedFd,
    path: &Path,
    missing: Missing,
) -> Result<(OwnedFd, OsString), BeneathError> {
    let mut walk = Walk::begin(root, path)?;
    let name = walk.go(missing, LastLink::Follow)?;
    Ok((walk.here()?, name.ok_or(BeneathError::NoPlace)?))
}

/// Opens the directory that holds `path` itself, which may be a link, and returns it with the name in it.
pub(super) fn parent_of_link(
    root: &OwnedFd,
    path: &Path,
) -> Result<(OwnedFd, OsString), BeneathError> {
    let mut walk = Walk::begin(root, path)?;
    let name = walk.go(Missing::Fail, LastLink::Keep)?;
    Ok((walk.here()?, name.ok_or(BeneathError::NoPlace)?))
}

/// Opens the directory `path` for going through it.
pub(super) fn folder(
    root: &OwnedFd,
    path: &Path,
    missing: Missing,
) -> Result<OwnedFd, BeneathError> {
    let mut walk = Walk::begin(root, path)?;
    if let Some(name) = walk.go(missing, LastLink::Follow)? {
        walk.enter(&name, missing)?;
    }
    walk.here()
}

struct Walk<'a> {
    root: &'a OwnedFd,
    /// The directories that the walk is in, from below the root to the innermost one.
    inside: Vec<OwnedFd>,
    /// The steps that are still to be taken.
    ahead: VecDeque<OsString>,
    /// How many links were followed.
    links: usize,
}

impl<'a> Walk<'a> {
    fn begin(root: &'a OwnedFd, path: &Path) -> Result<Self, BeneathError> {
        let mut walk = Self {
            root,
            inside: Vec::new(),
            ahead: VecDeque::new(),
            links: 0,
        };
        walk.put_ahead(path)?;
        Ok(walk)
    }

    /// Goes on until one step is left, and returns that; nothing if the walk ended in a directory that it is in.
    fn go(&mut self, missing: Missing, last: LastLink) -> Result<Option<OsString>, BeneathError> {
        while let Some(step) = self.ahead.pop_front() {
            if step == ".." {
                self.inside.pop().ok_or(BeneathError::Outside)?;
            } else if !self.ahead.is_empty() {
                self.enter(&step, missing)?;
            } else if last == LastLink::Keep || !self.follow(&step)? {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// Goes into the directory `name`, or puts the steps of the link of that name ahead.
    fn enter(&mut self, name: &OsStr, missing: Missing) -> Result<(), BeneathError> {
        let flags = THROUGH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut opened = openat(self.innermost(), name, flags, Mode::empty());
        if opened.as_ref().err() == Some(&Errno::NOENT) && missing == Missing::Make {
            match mkdirat(self.innermost(), name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(refused(error)),
            }
            opened = openat(self.innermost(), name, flags, Mode::empty());
        }
        match opened {
            Ok(directory) => {
                self.inside.push(directory);
                Ok(())
            }
            Err(Errno::LOOP | Errno::NOTDIR) => {
                if self.follow(name)? {
                    Ok(())
                } else {
                    Err(BeneathError::NoPlace)
                }
            }
            Err(error) => Err(refused(error)),
        }
    }

    /// Puts the steps of the link `name` ahead. Returns whether it is one.
    fn follow(&mut self, name: &OsStr) -> Result<bool, BeneathError> {
        match readlinkat(self.innermost(), name, Vec::new()) {
            Ok(target) => {
                self.links += 1;
                if self.links > LINKS {
                    return Err(BeneathError::NoPlace);
                }
                let target = target.into_bytes();
                self.put_ahead(Path::new(as_os_str(&target)))?;
                Ok(true)
            }
            Err(Errno::INVAL | Errno::NOENT) => Ok(false),
            Err(error) => Err(refused(error)),
        }
    }

    fn put_ahead(&mut self, path: &Path) -> Result<(), BeneathError> {
        let mut steps = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => steps.push(name.to_owned()),
                Component::ParentDir => steps.push(OsString::from("..")),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(BeneathError::Outside),
            }
        }
        for step in steps.into_iter().rev() {
            self.ahead.push_front(step);
        }
        Ok(())
    }

    fn innermost(&self) -> BorrowedFd<'_> {
        self.inside.last().unwrap_or(self.root).as_fd()
    }

    /// The directory that the walk is in.
    fn here(mut self) -> Result<OwnedFd, BeneathError> {
        if let Some(innermost) = self.inside.pop() {
            return Ok(innermost);
        }
        let flags = THROUGH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(self.root, ".", flags, Mode::empty()).map_err(refused)
    }
}

fn as_os_str(bytes: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}
