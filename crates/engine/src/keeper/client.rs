//! The server's side of a keeper: start one, find one again, hear from it, stop it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::process::Command;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::directory::RunDirectory;
use super::error::KeeperError;
use super::held::{Greeted, HeldStreams, take_up};
use super::orphan::Orphan;
use super::output::tail;
use super::resident::LISTENING;
use super::spec::{KeeperSpec, SPEC_FILE};
use super::state::{Exit, Phase, STATE_FILE, State, Stopped};
use super::terminals::TerminalClient as Terminals;
use super::wire::{self, Lines, Notice, Request, Role};
use crate::process::{self, ProcessIdentity};

const KEEPER_LOG: &str = "keeper.log";

/// How long a keeper may take to start the engine and to listen.
const START_LIMIT: Duration = Duration::from_secs(30);

/// How long a keeper may take to greet.
const GREETING_LIMIT: Duration = Duration::from_secs(10);

/// How long, beyond the grace, a keeper may take to end a tree and to leave.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// A connection to a live keeper. Dropping it closes the connection; the engine lives on.
#[derive(Debug)]
pub struct Keeper {
    directory: PathBuf,
    identity: ProcessIdentity,
    engine: Option<ProcessIdentity>,
    phase: watch::Receiver<Phase>,
    stopped: watch::Receiver<Option<Stopped>>,
    requests: mpsc::Sender<Request>,
    /// Ends with this handle.
    _conversation: JoinSet<()>,
}

/// What is found in the run directory of an earlier server.
#[derive(Debug)]
pub enum Attach {
    /// The keeper is there.
    Live(Keeper),
    /// The run is over and nothing is left of it.
    Gone {
        /// How the engine ended.
        exit: Exit,
    },
    /// The keeper is gone, and processes of the engine are left: end them.
    Orphaned(Orphan),
}

impl Keeper {
    /// Starts a keeper for `spec` in `run_directory`, which is made if need be, and connects to it.
    ///
    /// `program` is our own executable; it is called as `program keeper --run-directory DIR`, with an empty
    /// environment. When this returns the engine has been started or [`Phase::Exited`] says why not.
    pub async fn spawn(
        program: &Path,
        run_directory: &Path,
        spec: &KeeperSpec,
    ) -> Result<Self, KeeperError> {
        let unusable = |source| KeeperError::directory(run_directory, source);
        let directory = RunDirectory::create(run_directory).map_err(unusable)?;
        if directory.has(SPEC_FILE).map_err(unusable)?
            || directory.has(STATE_FILE).map_err(unusable)?
        {
            return Err(KeeperError::Used(run_directory.to_owned()));
        }
        directory.write(SPEC_FILE, spec).map_err(unusable)?;
        let log = directory.start_file(KEEPER_LOG).map_err(unusable)?;
        let mut child = Command::new(program)
            .args(["keeper", "--run-directory"])
            .arg(directory.path())
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(KeeperError::Spawn)?;

        let mut said = String::new();
        let listening = match child.stdout.take() {
            Some(stdout) => timeout(START_LIMIT, BufReader::new(stdout).read_line(&mut said)).await,
            None => Ok(Ok(0)),
        };
        match listening {
            Ok(Ok(_)) if said.trim_end() == LISTENING => {}
            Ok(Ok(_)) => {
                let log = tail(&directory.path().join(KEEPER_LOG), 4096).map_err(unusable)?;
                return Err(KeeperError::Died {
                    log: log.trim_end().to_owned(),
                });
            }
            Ok(Err(error)) => return Err(KeeperError::Connection(error)),
            Err(_) => {
                if let Some(keeper) = child.id().and_then(ProcessIdentity::of) {
                    // The engine dies with its keeper.
                    keeper.send(Signal::KILL).map_err(KeeperError::Spawn)?;
                }
                return Err(KeeperError::TooLong("listen"));
            }
        }
        // The child is not waited for here: the runtime reaps it should it end before this process does.
        let state = directory.read(STATE_FILE).map_err(unusable)?;
        Self::connect(&directory, &state).await
    }

    /// Finds out what became of the run in `run_directory`, and connects to its keeper if there is one.
    pub async fn attach(run_directory: &Path) -> Result<Attach, KeeperError> {
        let unusable = |source| KeeperError::directory(run_directory, source);
        let directory = RunDirectory::open(run_directory).map_err(unusable)?;
        let deadline = Instant::now() + GREETING_LIMIT;
        loop {
            let Some(state) = optional(directory.read::<State>(STATE_FILE)).map_err(unusable)?
            else {
                // The keeper writes its state right after it starts the engine, which dies with it.
                return left_behind(&directory, None);
            };
            let same_boot = process::boot_id().map_err(unusable)? == state.boot;
            if !same_boot {
                let exit = state.phase.exit().cloned().unwrap_or(Exit::KEEPER_LOST);
                return Ok(Attach::Gone { exit });
            }
            if !state.keeper.is_alive() {
                return left_behind(&directory, Some(state));
            }
            match Self::connect(&directory, &state).await {
                Ok(keeper) => return Ok(Attach::Live(keeper)),
                // It may be about to leave: then its end is what there is to learn.
                Err(KeeperError::Connection(_) | KeeperError::Lost)
                    if Instant::now() < deadline =>
                {
                    let soon = deadline.min(Instant::now() + Duration::from_millis(100));
                    if let Ok(Err(error)) = timeout_at(soon, state.keeper.exited()).await {
                        return Err(KeeperError::Connection(error));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns who the keeper is.
    pub fn identity(&self) -> ProcessIdentity {
        self.identity
    }

    /// Returns who the engine's first process is, `None` if it could not be started.
    pub fn engine(&self) -> Option<ProcessIdentity> {
        self.engine
    }

    /// Returns how the engine fares, now and from now on.
    ///
    /// A keeper that is lost shows as an exit with the cause [`KeeperLost`](super::ExitCause::KeeperLost): then
    /// [`Keeper::attach`] tells what is left.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }

    /// Waits until the engine is ready and returns the line that showed it.
    pub async fn ready(&self, limit: Duration) -> Result<Option<String>, KeeperError> {
        let mut phase = self.phase.clone();
        let settled = phase.wait_for(|phase| *phase != Phase::Starting);
        let settled = timeout(limit, settled)
            .await
            .map_err(|_| KeeperError::TooLong("make the engine ready"))?
            .map_err(|_| KeeperError::Lost)?;
        match &*settled {
            Phase::Ready { line } => Ok(line.clone()),
            Phase::Exited(exit) => Err(KeeperError::Exited(exit.clone())),
            Phase::Starting => Err(KeeperError::Lost),
        }
    }

    /// Takes up the engine's streams, with its output from the offset `from` on.
    ///
    /// Only one has them: whoever had them before is told [`KeeperError::Displaced`], and what it was in the middle of
    /// sending never reaches the engine. Refused if they are not held ([`Streams::Held`](super::Streams::Held)).
    pub async fn streams(&self, from: u64) -> Result<HeldStreams, KeeperError> {
        timeout(GREETING_LIMIT, self.take_up_streams(from))
            .await
            .map_err(|_| KeeperError::TooLong("hand over the engine's streams"))?
    }

    async fn take_up_streams(&self, from: u64) -> Result<HeldStreams, KeeperError> {
        let directory = RunDirectory::open(&self.directory)
            .map_err(|source| KeeperError::directory(&self.directory, source))?;
        let (mut lines, writer) = call(&directory, self.identity, Role::Streams { from }).await?;
        let greeting = match lines.next().await.map_err(KeeperError::Connection)? {
            Some(Notice::Streams(greeting)) => greeting,
            Some(Notice::OutOfReach(there)) => {
                return Err(KeeperError::OutOfReach {
                    asked: from,
                    oldest: there.oldest,
                    end: there.end,
                });
            }
            Some(Notice::Refused(reason)) => return Err(KeeperError::Refused(reason)),
            Some(Notice::Phase(_) | Notice::Stopped(_)) | None => return Err(KeeperError::Lost),
        };
        let (reader, read) = lines.into_rest();
        take_up(Greeted {
            reader,
            read,
            writer,
            greeting,
            from,
        })
        .await
    }

    /// Returns the way to the commands that run beside the engine.
    pub fn terminals(&self) -> Terminals {
        Terminals {
            directory: self.directory.clone(),
            keeper: self.identity,
        }
    }

    /// Ends the engine and everything that came of it, and waits for the keeper to leave.
    ///
    /// An engine whose streams are held first sees the end of its input. What it still prints can be had meanwhile: the
    /// keeper waits a little for those who have the streams to acknowledge all of it, and not at all for those who drop
    /// them.
    pub async fn stop(&self, grace: Duration) -> Result<Stopped, KeeperError> {
        let deadline = Instant::now() + grace + STOP_LIMIT;
        let request = Request::Stop {
            grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX),
        };
        self.requests
            .send(request)
            .await
            .map_err(|_| KeeperError::Lost)?;
        let mut stopped = self.stopped.clone();
        let outcome = timeout_at(deadline, stopped.wait_for(Option::is_some))
            .await
            .map_err(|_| KeeperError::TooLong("end the engine"))?
            .map_err(|_| KeeperError::Lost)?
            .clone()
            .ok_or(KeeperError::Lost)?;
        timeout_at(deadline, self.identity.exited())
            .await
            .map_err(|_| KeeperError::TooLong("leave"))?
            .map_err(KeeperError::Connection)?;
        Ok(outcome)
    }

    async fn connect(directory: &RunDirectory, state: &State) -> Result<Self, KeeperError> {
        let conversation = Self::greet(directory, state);
        timeout(GREETING_LIMIT, conversation)
            .await
            .map_err(|_| KeeperError::TooLong("greet"))?
    }

    async fn greet(directory: &RunDirectory, state: &State) -> Result<Self, KeeperError> {
        let (mut lines, writer) = call(directory, state.keeper, Role::Server).await?;
        let first = match lines.next().await.map_err(KeeperError::Connection)? {
            Some(Notice::Phase(phase)) => phase,
            Some(Notice::Refused(reason)) => return Err(KeeperError::Refused(reason)),
            Some(Notice::Stopped(_) | Notice::Streams(_) | Notice::OutOfReach(_)) | None => {
                return Err(KeeperError::Lost);
            }
        };
        let (phase_sender, phase) = watch::channel(first);
        let (stopped_sender, stopped) = watch::channel(None);
        let (requests, wanted) = mpsc::channel(4);
        let mut conversation = JoinSet::new();
        conversation.spawn(converse(
            lines,
            writer,
            wanted,
            phase_sender,
            stopped_sender,
        ));
        Ok(Self {
            directory: directory.path().to_owned(),
            identity: state.keeper,
            engine: state.engine,
            phase,
            stopped,
            requests,
            _conversation: conversation,
        })
    }
}

/// Connects to the keeper, and to nobody else, and says hello.
pub(super) async fn call(
    directory: &RunDirectory,
    keeper: ProcessIdentity,
    role: Role,
) -> Result<(Lines, OwnedWriteHalf), KeeperError> {
    let stream = UnixStream::connect(directory.socket())
        .await
        .map_err(KeeperError::Connection)?;
    let listener = stream.peer_cred().map_err(KeeperError::Connection)?.pid();
    let is_keeper = listener.and_then(|pid| u32::try_from(pid).ok()) == Some(keeper.pid);
    if !(is_keeper && keeper.is_alive()) {
        return Err(KeeperError::Impostor {
            expected: keeper,
            found: listener,
        });
    }
    let (reader, mut writer) = stream.into_split();
    wire::say(&mut writer, &Request::Hello(role))
        .await
        .map_err(KeeperError::Connection)?;
    Ok((Lines::new(reader), writer))
}

/// Finds out what a keeper that is gone left behind.
fn left_behind(directory: &RunDirectory, state: Option<State>) -> Result<Attach, KeeperError> {
    let unusable = |source| KeeperError::directory(directory.path(), source);
    let spec = optional(directory.read::<KeeperSpec>(SPEC_FILE)).map_err(unusable)?;
    let mark = spec.as_ref().and_then(KeeperSpec::marked);
    let orphan = Orphan {
        engine: state.as_ref().and_then(|state| state.engine),
        mark: mark.map(|(name, value)| (name.to_owned(), value.to_owned())),
    };
    if orphan.members()?.is_empty() {
        let exit = state.and_then(|state| state.phase.exit().cloned());
        return Ok(Attach::Gone {
            exit: exit.unwrap_or(Exit::KEEPER_LOST),
        });
    }
    Ok(Attach::Orphaned(orphan))
}

/// Carries requests and news until either side is gone.
async fn converse(
    mut lines: Lines,
    mut writer: OwnedWriteHalf,
    mut wanted: mpsc::Receiver<Request>,
    phase: watch::Sender<Phase>,
    stopped: watch::Sender<Option<Stopped>>,
) {
    loop {
        // Both arms are cancel-safe: a half-read line is kept, and a request is taken whole.
        tokio::select! {
            notice = lines.next() => match notice {
                Ok(Some(Notice::Phase(now))) => { phase.send_replace(now); }
                Ok(Some(Notice::Stopped(outcome))) => { stopped.send_replace(Some(outcome)); }
                Ok(Some(Notice::Refused(reason))) => tracing::warn!(reason, "the keeper refuses a request"),
                Ok(Some(Notice::Streams(_) | Notice::OutOfReach(_))) => {
                    tracing::warn!("the keeper speaks of streams where there are none");
                    break;
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(error = %error, "the keeper is not understood");
                    break;
                }
            },
            Some(request) = wanted.recv() => {
                if let Err(error) = wire::say(&mut writer, &request).await {
                    tracing::warn!(error = %error, "the keeper takes no request");
                    break;
                }
            }
        }
    }
    phase.send_if_modified(|phase| {
        let lost = phase.exit().is_none();
        if lost {
            *phase = Phase::Exited(Exit::KEEPER_LOST);
        }
        lost
    });
}

fn optional<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_can_be_shared_between_tasks() {
        fn shareable<T: Send + Sync + 'static>() {}
        shareable::<Keeper>();
        shareable::<Attach>();
    }
}
