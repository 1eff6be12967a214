//! Systems other than Linux: builds, keeps an engine's first process, and promises nothing about the others.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, kill_process, setrlimit, setsid, test_kill_process,
};

use super::ProcessIdentity;

pub(super) const LIMITS: Option<&str> = Some(
    "this system has no subreaper: processes that an engine detaches outlive it, an engine outlives a killed keeper, \
     a process number that is used again is not noticed, and a local caller's descent from an engine is not known",
);

/// One line of the process table; without one, only whether the process is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) parent: u32,
    pub(super) start_time: u64,
    pub(super) alive: bool,
}

pub(super) fn age(_start_time: u64) -> Option<Duration> {
    None
}

pub(super) fn look(pid: u32) -> io::Result<Option<Seen>> {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(None);
    };
    match test_kill_process(number) {
        Ok(()) | Err(Errno::PERM) => Ok(Some(Seen {
            parent: 0,
            start_time: 0,
            alive: true,
        })),
        Err(Errno::SRCH) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns nobody: there is no portable process table.
#[expect(clippy::unnecessary_wraps, reason = "the Linux side can fail")]
pub(super) fn everyone() -> io::Result<Vec<(u32, Seen)>> {
    Ok(Vec::new())
}

pub(super) fn was_started_with(_pid: u32, _name: &str, _value: &str) -> bool {
    false
}

pub(super) fn send(to: ProcessIdentity, signal: Signal) -> io::Result<()> {
    let Some(number) = to.number() else {
        return Ok(());
    };
    match kill_process(number, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn exited(identity: ProcessIdentity) -> io::Result<()> {
    let mut look_again = tokio::time::interval(Duration::from_millis(50));
    while look(identity.pid)?.is_some() {
        look_again.tick().await;
    }
    Ok(())
}

pub(crate) fn withdraw_from_the_caller() -> io::Result<()> {
    match setsid() {
        Ok(_) | Err(Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    stand_before_an_agent()
}

pub(crate) fn stand_before_an_agent() -> io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    Ok(setrlimit(Resource::Core, none)?)
}

/// Returns nothing: there is no portable process table.
pub(crate) fn first_argument(_pid: u32) -> Option<String> {
    None
}

/// Does nothing: only Linux tells a child that its parent died.
pub(crate) fn die_with_parent(_command: &mut Command) {}

/// Returns the same name always: identities carry no start time here, so the boot adds nothing.
#[expect(clippy::unnecessary_wraps, reason = "the Linux side can fail")]
pub(crate) fn boot_id() -> io::Result<String> {
    Ok(String::new())
}

/// Returns the whole path: a socket address has no shorter form here.
pub(crate) fn short_path(_handle: BorrowedFd<'_>, directory: &Path, name: &str) -> PathBuf {
    directory.join(name)
}
