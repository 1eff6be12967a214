//! Commands that run beside an engine, for it: children of the keeper, so that they end with the engine, and outlive the
//! server as it does.
//!
//! A server starts one under an id of its own, and the same id never starts a second ([`Terminals::start`]). What it
//! prints is kept by its newest bytes ([`mod@tail`]), and how it ended, until it is released. Killing ends a command with
//! everything that came of it, and keeps what it printed; releasing does both and forgets it. Who waits for an end is
//! remembered too, so that the next server can go on waiting in the last one's stead.

mod client;
mod tail;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

pub use client::{TerminalError, Terminals as TerminalClient};
use tail::Tail;
pub(super) use wire::{LONGEST, Reply, Wish};
pub use wire::{Printed, TerminalSpec, Waiting};

use super::orphan::Orphan;
use super::state::ExitStatus;
use crate::files::open_folder;
use crate::process::{self, ProcessIdentity};

/// How many commands there are at a time that have not been released. When there are more, the oldest one that has ended is
/// forgotten; if all of them run, there is no room for another.
const MOST: usize = 16;
/// How many wait for the ends of all of them.
const MOST_WAITING: usize = 64;
/// The most that is kept of what one command prints.
pub const OUTPUT_LIMIT: usize = 1024 * 1024;
/// How long a command gets to end in order before it is killed.
const GRACE: Duration = Duration::from_secs(1);
/// How long the last output of a command that has ended may take: somebody else may hold its pipe.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Marks what belongs to one command.
const MARK: &str = "COUNTERSIGN_TERMINAL";

/// The commands of one keeper. Clones are of the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Terminals(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    open: BTreeMap<String, Terminal>,
    captures: JoinSet<()>,
    /// How many there ever were.
    count: u64,
    /// Whether nothing more is started.
    closed: bool,
}

#[derive(Debug)]
struct Terminal {
    /// How many there were before it.
    number: u64,
    label: String,
    process: ProcessIdentity,
    tail: Arc<Mutex<Tail>>,
    /// What the system said of its end.
    ended: watch::Sender<Option<ExitStatus>>,
    /// The same, once what it printed before is here.
    told: watch::Receiver<Option<ExitStatus>>,
    waiting: Vec<Waiting>,
    capture: AbortHandle,
}

impl Terminal {
    fn family(&self, id: &str) -> Orphan {
        Orphan {
            engine: Some(self.process),
            mark: Some((MARK.to_owned(), id.to_owned())),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.capture.abort();
    }
}

impl Terminals {
    /// Does what a server wishes, and returns what came of it.
    pub(super) async fn fulfil(&self, wish: Wish) -> Reply {
        match wish {
            Wish::Start(spec) => self.start(&spec),
            Wish::Output { id } => self.output(&id),
            Wish::Expect { id, waiting } => self.expect(&id, waiting),
            Wish::Wait { id } => self.wait(&id).await,
            Wish::Kill { id } => self.kill(&id).await,
            Wish::KillAll => {
                let ids: Vec<String> = self.lock().open.keys().cloned().collect();
                let killed = join_all(ids.iter().map(|id| self.kill(id))).await;
                let refused = |reply: &Reply| matches!(reply, Reply::Refused(_));
                killed.into_iter().find(refused).unwrap_or(Reply::Done)
            }
            Wish::Release { id } => self.release(&id).await,
            Wish::List => self.list(),
        }
    }

    /// Starts nothing more: the engine is over, or about to be.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    fn start(&self, spec: &TerminalSpec) -> Reply {
        let mut inner = self.lock();
        if inner.open.contains_key(&spec.id) {
            return Reply::Done;
        }
        if inner.closed {
            return Reply::Refused("the agent has ended".to_owned());
        }
        if inner.open.len() >= MOST && !inner.make_room() {
            return Reply::Refused(format!(
                "{MOST} commands run already; end one of them first"
            ));
        }
        while inner.captures.try_join_next().is_some() {}
        match inner.launch(spec) {
            Ok(terminal) => {
                inner.open.insert(spec.id.clone(), terminal);
                Reply::Done
            }
            Err(error) => Reply::Refused(format!("the command could not be started: {error}")),
        }
    }

    /// Learns that a child of the keeper has ended.
    pub(super) fn note_end(&self, pid: u32, status: &ExitStatus) {
        let inner = self.lock();
        let mut all = inner.open.values();
        // The first to end with this number is the command; a later one is some orphan.
        if let Some(terminal) = all.find(|it| it.process.pid == pid && it.ended.borrow().is_none())
        {
            terminal.ended.send_replace(Some(status.clone()));
        }
    }

    fn output(&self, id: &str) -> Reply {
        let inner = self.lock();
        let Some(terminal) = inner.open.get(id) else {
            return Reply::Unknown;
        };
        Reply::Printed(terminal.printed())
    }

    /// Remembers who waits for the end of a command.
    fn expect(&self, id: &str, waiting: Waiting) -> Reply {
        let mut inner = self.lock();
        let all: usize = inner.open.values().map(|it| it.waiting.len()).sum();
        let Some(terminal) = inner.open.get_mut(id) else {
            return Reply::Unknown;
        };
        if !terminal.waiting.contains(&waiting) {
            if all >= MOST_WAITING {
                return Reply::Refused("too many wait already".to_owned());
            }
            terminal.waiting.push(waiting);
        }
        Reply::Done
    }

    async fn wait(&self, id: &str) -> Reply {
        let told = self.lock().open.get(id).map(|it| it.told.clone());
        let Some(mut told) = told else {
            return Reply::Unknown;
        };
        let ended = told.wait_for(Option::is_some).await;
        match ended.as_deref() {
            Ok(Some(status)) => Reply::Ended(status.clone()),
            // It was released, and ended with that.
            Ok(None) | Err(_) => Reply::Ended(ExitStatus::Signal(KILLED)),
        }
    }

    async fn kill(&self, id: &str) -> Reply {
        let Some((family, mut told)) = ({
            let inner = self.lock();
            let terminal = inner.open.get(id);
            terminal.map(|it| (it.family(id), it.told.clone()))
        }) else {
            return Reply::Unknown;
        };
        match family.end(GRACE).await {
            Ok(left) if left.is_empty() => {}
            Ok(left) => {
                return Reply::Refused(format!("{} processes could not be ended", left.len()));
            }
            Err(error) => return Reply::Refused(error.to_string()),
        }
        // It has ended; how is known as soon as it is reaped.
        drop(timeout(GRACE, told.wait_for(Option::is_some)).await);
        Reply::Done
    }

    async fn release(&self, id: &str) -> Reply {
        let killed = self.kill(id).await;
        // What cannot be ended is not forgotten either.
        if killed == Reply::Done {
            self.lock().open.remove(id);
        }
        killed
    }

    fn list(&self) -> Reply {
        let inner = self.lock();
        let waiting = inner.open.iter().flat_map(|(id, terminal)| {
            let waiting = terminal.waiting.iter();
            waiting.map(|waiting| (id.clone(), waiting.clone()))
        });
        Reply::Waiting(waiting.collect())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere leaves nothing half done here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What `SIGKILL` is on every system.
const KILLED: i32 = 9;

impl Inner {
    /// Forgets the oldest command that has ended and that nobody released.
    fn make_room(&mut self) -> bool {
        let ended = self
            .open
            .iter()
            .filter(|(_, it)| it.told.borrow().is_some());
        let oldest = ended.min_by_key(|(_, it)| it.number);
        let Some(id) = oldest.map(|(id, _)| id.clone()) else {
            return false;
        };
        self.open.remove(&id).is_some()
    }

    /// Starts a command. It dies with the calling thread, which has to be the one that keeps it and reaps.
    fn launch(&mut self, spec: &TerminalSpec) -> io::Result<Terminal> {
        let folder = open_folder(&spec.directory).map_err(io::Error::other)?;
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.args)
            .env_clear()
            .envs(&spec.environment)
            .env("PWD", &spec.directory)
            .env(MARK, &spec.id)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        enter(&mut command, &folder, spec);
        process::die_with_parent(&mut command);
        let child = command.spawn()?;
        // The command's ends of the pipe are in here, and would keep it open.
        drop(command);
        let process = ProcessIdentity::of(child.id())
            .ok_or_else(|| io::Error::other("the process table does not show the command"))?;
        let limit = spec.output_limit.min(OUTPUT_LIMIT);
        let tail = Arc::new(Mutex::new(Tail::new(limit)));
        let (ended, ending) = watch::channel(None);
        let (tell, told) = watch::channel(None);
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let capture = self
            .captures
            .spawn(capture(output, Arc::clone(&tail), ending, tell));
        self.count += 1;
        Ok(Terminal {
            number: self.count,
            label: spec.label.clone(),
            process,
            tail,
            ended,
            told,
            waiting: Vec::new(),
            capture,
        })
    }
}

/// Has the command run in the directory that was opened, whatever is called so by then.
#[cfg(target_os = "linux")]
fn enter(command: &mut Command, folder: &OwnedFd, _spec: &TerminalSpec) {
    // Between fork and exec the number still means the same.
    command.current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()));
}

#[cfg(not(target_os = "linux"))]
fn enter(command: &mut Command, _folder: &OwnedFd, spec: &TerminalSpec) {
    command.current_dir(&spec.directory);
}

impl Terminal {
    fn printed(&self) -> Printed {
        let exit = self.told.borrow().clone();
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, truncated) = tail.text(exit.is_some());
        Printed {
            label: self.label.clone(),
            text,
            truncated,
            exit,
        }
    }
}

/// Keeps what a command prints, and tells its end once the last of that is here.
async fn capture(
    mut output: pipe::Receiver,
    tail: Arc<Mutex<Tail>>,
    mut ending: watch::Receiver<Option<ExitStatus>>,
    told: watch::Sender<Option<ExitStatus>>,
) {
    let mut piece = vec![0; 16 * 1024];
    let mut take = async |output: &mut pipe::Receiver| match output.read(&mut piece).await {
        Ok(size @ 1..) => {
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            tail.push(piece.get(..size).unwrap_or_default());
            true
        }
        Ok(0) | Err(_) => false,
    };
    let mut goes_on = true;
    let status = loop {
        // Both arms are cancel-safe: a read takes bytes only when it completes.
        tokio::select! {
            more = take(&mut output), if goes_on => goes_on = more,
            ended = ending.wait_for(Option::is_some) => break match ended {
                Ok(status) => status.clone(),
                Err(_) => return,
            },
        }
    };
    let rest = async {
        while goes_on {
            goes_on = take(&mut output).await;
        }
    };
    drop(timeout(LAST_WORDS, rest).await);
    told.send_replace(status);
    // Whoever it left behind may go on printing.
    while goes_on {
        goes_on = take(&mut output).await;
    }
}
