//! A process, named so that a later process with the same number is never taken for it.

use std::{fmt, io};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::platform;

/// One process: its number and the clock tick at which it started.
///
/// Numbers are used again, the pair is not (within one boot of the machine).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process's number.
    pub pid: u32,
    /// When it started, in clock ticks since the machine booted.
    pub start_time: u64,
}

impl ProcessIdentity {
    /// Returns who has the number `pid` now, dead but not yet reaped processes included.
    pub fn of(pid: u32) -> Option<Self> {
        let seen = platform::look(pid).ok().flatten()?;
        Some(Self {
            pid,
            start_time: seen.start_time,
        })
    }

    /// Returns who the calling process is.
    pub fn own() -> io::Result<Self> {
        let pid = std::process::id();
        Self::of(pid)
            .ok_or_else(|| io::Error::other("the process table does not show this process"))
    }

    /// Tells whether this very process still runs. A zombie does not.
    pub fn is_alive(self) -> bool {
        platform::look(self.pid)
            .ok()
            .flatten()
            .is_some_and(|seen| seen.start_time == self.start_time && seen.alive)
    }

    /// Returns when this process has ended; at once if it is gone already.
    ///
    /// Cancel-safe. The caller sets the deadline.
    pub async fn exited(self) -> io::Result<()> {
        platform::exited(self).await
    }

    /// How long ago it was started, where that can be known.
    pub fn age(self) -> Option<std::time::Duration> {
        platform::age(self.start_time)
    }

    /// Sends `signal` to this very process; a process that is gone is no error.
    pub(crate) fn send(self, signal: Signal) -> io::Result<()> {
        platform::send(self, signal)
    }

    pub(super) fn number(self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.pid).ok()?)
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.pid, self.start_time)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn this_process_is_alive_and_a_namesake_with_another_start_is_not() {
        let own = ProcessIdentity::own().unwrap();
        assert!(own.is_alive());
        let namesake = ProcessIdentity {
            start_time: own.start_time + 1,
            ..own
        };
        assert!(!namesake.is_alive());
        assert!(
            namesake.send(Signal::KILL).is_ok(),
            "and a signal for it reaches nobody"
        );
    }

    #[tokio::test]
    async fn a_zombie_is_not_alive() {
        let mut child = Command::new("true").spawn().unwrap();
        let identity = ProcessIdentity::of(child.id()).unwrap();
        tokio::time::timeout(std::time::Duration::from_secs(10), identity.exited())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            ProcessIdentity::of(child.id()),
            Some(identity),
            "not reaped yet"
        );
        assert!(!identity.is_alive());
        child.wait().unwrap();
        assert_eq!(ProcessIdentity::of(child.id()), None);
        identity.exited().await.unwrap();
    }
}
