//! What tells a file from what it was: as long as it is the same, the file need not be read again.

use rustix::fs::Stat;
use rustix::time::{ClockId, clock_gettime};

/// How long after a change another one might not show: the clocks of file systems tick, at worst a hundred times a second.
const TICK: i128 = 20_000_000;

/// What tells a file from what it was. Systems have numbers of different kinds for these; all of them fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: i128,
    inode: i128,
    size: i128,
    modified: i128,
    changed: i128,
}

impl Stamp {
    pub(crate) fn of(status: &Stat) -> Self {
        Self {
            device: status.st_dev.into(),
            inode: status.st_ino.into(),
            size: status.st_size.into(),
            modified: nanoseconds(status.st_mtime, status.st_mtime_nsec),
            changed: nanoseconds(status.st_ctime, status.st_ctime_nsec),
        }
    }

    /// When the content was changed, in nanoseconds since 1970.
    pub(crate) const fn modified(&self) -> i128 {
        self.modified
    }

    /// Whether what has this stamp now is so old that every later change gives it another one.
    pub(crate) fn is_settled(&self) -> bool {
        now() - self.modified.max(self.changed) > TICK
    }

    /// How long ago the content was changed, in nanoseconds.
    pub(crate) fn age(&self) -> i128 {
        now() - self.modified
    }
}

/// The clock that file systems stamp with. No decision of ours depends on it but whether to read once more, and whether
/// somebody may still be at work on a file.
fn now() -> i128 {
    let now = clock_gettime(ClockId::Realtime);
    nanoseconds(now.tv_sec, now.tv_nsec)
}

fn nanoseconds(seconds: impl Into<i128>, nanoseconds: impl Into<i128>) -> i128 {
    seconds.into() * 1_000_000_000 + nanoseconds.into()
}
