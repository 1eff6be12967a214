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
    AtFlags, FileType, Mode, OFlags, RawMode, RenameFlags, fchmod, fstat, fsync, openat, renameat,
    renameat_with, statat, unlinkat,
};
#[cfg(target_os = "linux")]
use rustix::fs::{CWD, linkat};
use rustix::io::Errno;

use super::tree::{self, EntryKind};
use super::walk::{self, Missing};
use super::{BeneathError, Root, refused};
use crate::stamp::Stamp;

/// The bits of a mode that say who may do what; those that lend rights do not pass to new content.
const RIGHTS: RawMode = 0o777;

/// The rights of a file where there was none, as far as the process gives them out.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

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

/// A new file under a name that nobody else has, beside the file that it is to replace or in a folder for such files. Unless
/// it is put in place, nothing of it is left.
#[derive(Debug)]
pub(crate) struct Fresh {
    place: Place,
    /// Where it is, if that is not beside its place.
    spare: Option<OwnedFd>,
    name: String,
    file: File,
    is_in_place: bool,
}

/// A file that is in its place for everybody to see. Until it is settled, a power cut may bring the old one back.
#[derive(Debug)]
#[must_use]
pub(crate) struct Placed {
    fresh: Fresh,
    /// The file that was there, held for as long: what it took on the disk is given back when nobody has it any more, and
    /// a disk may take its time for that.
    former: Option<OwnedFd>,
}

/// Where a file is to go.
#[derive(Debug)]
struct Place {
    parent: OwnedFd,
    target: OsString,
    /// The rights of the file that is there now.
    rights: Option<Mode>,
}

impl Place {
    fn find(root: &Root, path: &Path, missing: Missing) -> Result<Self, BeneathError> {
        let (parent, target) = walk::parent(root.folder(), path, missing)?;
        let rights = match statat(&parent, &target, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) if FileType::from_raw_mode(status.st_mode) == FileType::RegularFile => {
                Some(Mode::from_raw_mode(status.st_mode & RIGHTS))
            }
            Ok(_) => return Err(BeneathError::NotAFile),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(refused(error)),
        };
        Ok(Self {
            parent,
            target,
            rights,
        })
    }

    fn is(&self, other: &Self) -> bool {
        let folder = |place: &Self| {
            let status = fstat(&place.parent).ok()?;
            Some((status.st_dev, status.st_ino))
        };
        self.target == other.target
            && self.rights == other.rights
            && folder(self).is_some_and(|own| Some(own) == folder(other))
    }
}

impl Fresh {
    /// Makes it for `path`, with the folders above it.
    pub(crate) fn make(root: &Root, path: &Path) -> Result<Self, BeneathError> {
        let place = Place::find(root, path, Missing::Make)?;
        let name = fresh_name();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&place.parent, &name, flags, NEW_FILE).map_err(refused)?;
        Self::begin(place, None, name, File::from(file))
    }

    /// Makes it for `path` in such a way that nobody sees it beside its place: it has its name in `spare`. Nothing if that
    /// cannot be: folders would have to be made, it is elsewhere, or the system needs names.
    #[cfg(target_os = "linux")]
    pub(crate) fn make_unseen(
        root: &Root,
        path: &Path,
        spare: &Root,
    ) -> Result<Option<Self>, BeneathError> {
        use std::os::fd::AsRawFd as _;
        let place = match Place::find(root, path, Missing::Fail) {
            Ok(place) => place,
            Err(BeneathError::Missing) => return Ok(None),
            Err(error) => return Err(error),
        };
        // Whatever a file has from its folder it has from the right one.
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let Ok(file) = openat(&place.parent, ".", flags, NEW_FILE) else {
            return Ok(None);
        };
        let (file, name) = (File::from(file), fresh_name());
        let folder = spare.folder().try_clone().map_err(BeneathError::System)?;
        // It gets its name before it is filled: what is on the disk then is a file that is somewhere.
        let itself = format!("/proc/self/fd/{}", file.as_raw_fd());
        if linkat(CWD, &itself, &folder, &name, AtFlags::SYMLINK_FOLLOW).is_err() {
            return Ok(None);
        }
        Self::begin(place, Some(folder), name, file).map(Some)
    }

    /// Other systems have no files without names.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn make_unseen(
        _root: &Root,
        _path: &Path,
        _spare: &Root,
    ) -> Result<Option<Self>, BeneathError> {
        Ok(None)
    }

    /// Whether this is what would be made for `path` now: whoever waited has to look where the way leads by now.
    pub(crate) fn is_for(&self, root: &Root, path: &Path) -> bool {
        let place = Place::find(root, path, Missing::Fail);
        place.is_ok_and(|place| place.is(&self.place))
    }

    fn begin(
        place: Place,
        spare: Option<OwnedFd>,
        name: String,
        file: File,
    ) -> Result<Self, BeneathError> {
        let fresh = Self {
            place,
            spare,
            name,
            file,
            is_in_place: false,
        };
        if let Some(rights) = fresh.place.rights {
            fchmod(&fresh.file, rights).map_err(refused)?;
        }
        Ok(fresh)
    }

    /// Where it is.
    fn folder(&self) -> &OwnedFd {
        self.spare.as_ref().unwrap_or(&self.place.parent)
    }

    /// Has `content` in it, on the disk.
    pub(crate) fn fill(&self, content: &[u8]) -> Result<(), BeneathError> {
        (&self.file)
            .write_all(content)
            .and_then(|()| self.file.sync_all())
            .map_err(BeneathError::System)
    }

    /// Puts it where it is to go.
    pub(crate) fn put_in_place(mut self, target: Target) -> Result<Placed, BeneathError> {
        let parent = &self.place.parent;
        let (name, to) = (OsStr::new(&self.name), &self.place.target);
        let former = match target {
            Target::Any => {
                let flags = walk::THROUGH | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let former = openat(parent, to, flags, Mode::empty()).ok();
                renameat(self.folder(), name, parent, to).map_err(refused)?;
                former
            }
            Target::New => {
                rename_new(self.folder(), name, parent, to)?;
                None
            }
        };
        self.is_in_place = true;
        Ok(Placed {
            fresh: self,
            former,
        })
    }
}

impl Placed {
    /// Has it on the disk that the file is in its place, and tidies up there. Returns the file that was there.
    pub(crate) fn settle(self) -> Option<OwnedFd> {
        let parent = &self.fresh.place.parent;
        sync(parent);
        if self.fresh.spare.is_none() {
            sweep(parent, ABANDONED);
        }
        self.former
    }
}

/// A name that nobody else has.
fn fresh_name() -> String {
    format!("{PREFIX}{:016x}", rand::random::<u64>())
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if self.is_in_place {
            return;
        }
        match unlinkat(self.folder(), &self.name, AtFlags::empty()) {
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

impl Root {
    /// Deletes what was made ready in this folder and never put in place. Nobody else may be about to.
    pub(crate) fn discard_fresh(&self) {
        sweep(self.folder(), i128::MIN);
    }
}

/// Deletes what others left here when they were killed: what is older than `age`, in nanoseconds.
fn sweep(parent: &OwnedFd, age: i128) {
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
        let is_abandoned = status.is_ok_and(|status| Stamp::of(&status).age() > age);
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
