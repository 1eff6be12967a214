//! Linux: `/proc`, process file descriptors and `prctl`.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    DumpableBehavior, PidfdFlags, Resource, Rlimit, Signal, getpid, getppid, pidfd_open,
    pidfd_send_signal, set_child_subreaper, set_dumpable_behavior, set_parent_process_death_signal,
    setrlimit, setsid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::ProcessIdentity;

pub(super) const LIMITS: Option<&str> = None;

/// One line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) parent: u32,
    pub(super) start_time: u64,
    pub(super) alive: bool,
}

/// Returns what the process table says of `pid`, `None` if there is no such process.
pub(super) fn look(pid: u32) -> io::Result<Option<Seen>> {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(text) => parse(&text).map(Some).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("/proc/{pid}/stat is not understood"),
            )
        }),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns how long ago it was that `start_time` ticks had passed since the machine booted.
pub(super) fn age(start_time: u64) -> Option<std::time::Duration> {
    /// What the kernel tells user space of its clock, whatever it is inside.
    const TICKS_PER_SECOND: u64 = 100;
    let text = fs::read_to_string("/proc/uptime").ok()?;
    let up: f64 = text.split_whitespace().next()?.parse().ok()?;
    let up = std::time::Duration::try_from_secs_f64(up).ok()?;
    let started = std::time::Duration::from_millis(start_time * 1_000 / TICKS_PER_SECOND);
    Some(up.saturating_sub(started))
}

/// Returns the whole process table, as far as it stood still while it was read.
pub(super) fn everyone() -> io::Result<Vec<(u32, Seen)>> {
    let mut table = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if let Some(seen) = look(pid)? {
            table.push((pid, seen));
        }
    }
    Ok(table)
}

/// Tells whether the process was started with the variable `name` set to `value`.
pub(super) fn was_started_with(pid: u32, name: &str, value: &str) -> bool {
    let wanted = format!("{name}={value}");
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == wanted.as_bytes())
    })
}

pub(super) fn send(to: ProcessIdentity, signal: Signal) -> io::Result<()> {
    let Some(process) = hold(to)? else {
        return Ok(());
    };
    match pidfd_send_signal(process, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[expect(
    unsafe_code,
    reason = "tokio watches a file descriptor only on the word that it stays open"
)]
pub(super) async fn exited(identity: ProcessIdentity) -> io::Result<()> {
    let Some(process) = hold(identity)? else {
        return Ok(());
    };
    // SAFETY: the descriptor is owned, open, and neither replaced nor closed before the registration is dropped.
    let process = unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) }?;
    process.readable().await.map(drop)
}

/// Opens the very process that `identity` names: from here on its number cannot be used again unnoticed.
fn hold(identity: ProcessIdentity) -> io::Result<Option<OwnedFd>> {
    let Some(number) = identity.number() else {
        return Ok(None);
    };
    let process = match pidfd_open(number, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok((ProcessIdentity::of(identity.pid) == Some(identity)).then_some(process))
}

/// The first argument that a process was started with, if it has one.
pub(crate) fn first_argument(pid: u32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let argument = line.split(|byte| *byte == 0).nth(1)?;
    String::from_utf8(argument.to_vec()).ok()
}

/// Makes the calling process stand on its own: its own session, the new parent of every orphan among its
/// descendants, closed to inspection by other processes of the same user, and with nothing of its caller's to pass on.
pub(crate) fn withdraw_from_the_caller() -> io::Result<()> {
    match setsid() {
        // A process that leads its group already is refused: it was started by hand, and its terminal stays.
        Ok(_) | Err(Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    stand_before_an_agent()
}

/// Makes the calling process fit to start an agent: the new parent of every orphan among its descendants, closed to
/// inspection by other processes of the same user, and with nothing of its caller's to pass on.
pub(crate) fn stand_before_an_agent() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    keep_inherited_files()
}

/// Keeps open files that this process inherited, such as its caller's listening sockets, from the programs it starts.
#[expect(
    unsafe_code,
    reason = "inherited files are known by their numbers alone"
)]
fn keep_inherited_files() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let Some(number) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if number > 2 {
            // SAFETY: the file was open when it was listed, and its number is used for this one call. Should it have
            // been closed since, as the listing itself is, the call fails.
            match fcntl_setfd(unsafe { BorrowedFd::borrow_raw(number) }, FdFlags::CLOEXEC) {
                Ok(()) | Err(Errno::BADF) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// Has the kernel kill the started process when the thread that starts it ends.
#[expect(
    unsafe_code,
    reason = "the signal has to be set between fork and exec, for which std has no safe way"
)]
pub(crate) fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    // SAFETY: the closure makes two system calls and allocates nothing, so it may run between fork and exec.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // A parent that died before the signal was set does not send it.
            if getppid() == Some(parent) {
                Ok(())
            } else {
                Err(Errno::SRCH.into())
            }
        });
    }
}

/// Returns the name of the machine's present boot: process identities of another boot mean nothing.
pub(crate) fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

/// Returns a path to `name` in `directory` that is short enough for a socket address, however deep the directory is.
///
/// Good in this process alone, and only while `handle` is open.
pub(crate) fn short_path(handle: BorrowedFd<'_>, _directory: &Path, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", handle.as_raw_fd()))
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Reads `/proc/PID/stat`. The second field is the program's name in parentheses, and a program may put anything into it.
fn parse(text: &[u8]) -> Option<Seen> {
    let end_of_name = text.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(text.get(end_of_name + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let state = *fields.first()?;
    let threads: u32 = fields.get(17)?.parse().ok()?;
    Some(Seen {
        parent: fields.get(1)?.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
        // A first thread that ended before the others shows as a zombie while its process goes on.
        alive: !matches!(state, "Z" | "X" | "x") || threads > 1,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(name: &[u8], state: &str, threads: u32) -> Vec<u8> {
        let mut line = b"4242 (".to_vec();
        line.extend_from_slice(name);
        line.extend_from_slice(
            format!(
                ") {state} 17 4242 4242 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 {threads} 0 987654 1 2\n"
            )
            .as_bytes(),
        );
        line
    }

    proptest! {
        #[test]
        fn a_program_cannot_forge_its_parent_by_its_name(name in proptest::collection::vec(any::<u8>(), 0..40)) {
            let expected = Seen { parent: 17, start_time: 987_654, alive: true };
            prop_assert_eq!(parse(&line(&name, "S", 1)), Some(expected));
        }

        #[test]
        fn any_text_is_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let understood = parse(&text).is_some();
            prop_assert!(!understood || text.contains(&b')'));
        }
    }

    #[test]
    fn a_name_that_looks_like_the_fields_after_it_is_only_a_name() {
        let seen = parse(&line(b") R 1 1 1 0 (", "S", 1)).unwrap();
        assert_eq!((seen.parent, seen.start_time), (17, 987_654));
    }

    #[test]
    fn a_zombie_with_running_threads_is_alive() {
        assert!(!parse(&line(b"sh", "Z", 1)).unwrap().alive);
        assert!(parse(&line(b"sh", "Z", 3)).unwrap().alive);
    }
}
