//! The keeper process itself: starts the engine, reaps its tree, listens to servers, and leaves nothing behind.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::brood::Brood;
use super::connection::{self, Event, Held, News};
use super::directory::RunDirectory;
use super::held::{Hold, Progress};
use super::launch::{Launched, launch};
use super::output::{Log, ReadyLine};
use super::spec::{KeeperSpec, ReadyRule, SPEC_FILE, Streams};
use super::state::{Exit, ExitCause, ExitStatus, Phase, STATE_FILE, State, Stopped};
use crate::process;

/// What the keeper prints once it can be talked to.
pub(super) const LISTENING: &str = "listening";

/// How long the leftovers of an engine that ended by itself get to end in order.
const LEFTOVER_GRACE: Duration = Duration::from_secs(2);

/// The longest time for which an engine may end by itself once its input is closed. It is never more than half the
/// grace: the rest is for those who do not mind the end of their input.
const END_OF_INPUT_LIMIT: Duration = Duration::from_secs(2);

/// How long the last output and the last news may take to be written when everything is over.
const FAREWELL_LIMIT: Duration = Duration::from_secs(5);

/// How long nobody is taken after a caller could not be.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why a keeper could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum KeeperFailure {
    /// The run directory cannot be used.
    #[error("the run directory `{path}` cannot be used")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The keeper could not be set up as the engine's parent.
    #[error("the keeper could not be set up")]
    SetUp(#[source] io::Error),
    /// What became of the engine could not be written down.
    #[error("the engine's state could not be recorded")]
    Record(#[source] io::Error),
}

/// Keeps the engine that `run_directory` describes, until it and everything that came of it is over.
///
/// Call it on the main thread, outside any runtime: the engine dies with the thread that started it.
pub fn run_keeper(run_directory: &Path) -> Result<(), KeeperFailure> {
    let unusable = |source| KeeperFailure::Directory {
        path: run_directory.to_owned(),
        source,
    };
    let directory = RunDirectory::open(run_directory).map_err(unusable)?;
    let _lock = directory.lock().map_err(unusable)?;
    let spec: KeeperSpec = directory.read(SPEC_FILE).map_err(unusable)?;
    process::withdraw_from_the_caller().map_err(KeeperFailure::SetUp)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(KeeperFailure::SetUp)?
        .block_on(async { Resident::settle(directory, &spec)?.keep(spec).await })
}

/// A keeper at work.
struct Resident {
    directory: RunDirectory,
    lonely_limit: Duration,
    grace: Duration,
    boot: String,
    brood: Brood,
    listener: UnixListener,
    phase: watch::Sender<Phase>,
    stopped: watch::Sender<Option<Stopped>>,
    ready: oneshot::Receiver<String>,
    capture: JoinSet<()>,
    /// The engine's streams, if they are held, and what reads and writes them.
    hold: Option<Hold>,
    streams: JoinSet<()>,
    terminate: Signal,
    servers: usize,
    lonely_since: Instant,
    told_exit: bool,
}

/// Why the keeper stops keeping.
enum Leave {
    /// The engine has ended and a server knows it, or none came to hear it.
    Over,
    /// The tree is to be ended first.
    End { cause: ExitCause, grace: Duration },
}

impl Resident {
    /// Starts everything: when it returns, servers can connect and the engine was started or is known not to be.
    fn settle(directory: RunDirectory, spec: &KeeperSpec) -> Result<Self, KeeperFailure> {
        let terminate = signal(SignalKind::terminate()).map_err(KeeperFailure::SetUp)?;
        let boot = process::boot_id().map_err(KeeperFailure::SetUp)?;
        let mut brood = Brood::of_this_process().map_err(KeeperFailure::SetUp)?;
        let listener = directory.listen().map_err(KeeperFailure::SetUp)?;
        let log = RunDirectory::open(directory.path())
            .and_then(Log::start)
            .map_err(KeeperFailure::SetUp)?;

        let (ready_found, ready) = oneshot::channel();
        let mut capture = JoinSet::new();
        let mut streams = JoinSet::new();
        let mut hold = match spec.streams {
            Streams::Logged => None,
            Streams::Held { .. } => Some(Hold::of_nothing()),
        };
        let phase = match launch(spec) {
            Ok(launched) => {
                let Launched {
                    identity,
                    outputs,
                    held,
                } = launched;
                brood.add_engine(identity);
                let (phase, line) = match spec.ready.clone() {
                    ReadyRule::Started => (Phase::Ready { line: None }, None),
                    ReadyRule::StdoutLine(beginning) => {
                        (Phase::Starting, Some(ReadyLine::new(beginning)))
                    }
                };
                capture.spawn(outputs.capture(log, line, ready_found));
                if let Some(ends) = held {
                    let taken = Hold::take(ends, spec.streams.spool_limit(), &mut streams);
                    hold = Some(taken.map_err(KeeperFailure::SetUp)?);
                }
                phase
            }
            Err(error) => Phase::Exited(Exit {
                status: ExitStatus::NotStarted(format!("{}: {error}", spec.program.display())),
                cause: ExitCause::Itself,
            }),
        };
        Ok(Self {
            lonely_limit: spec.lonely_limit(),
            grace: spec.grace(),
            boot,
            brood,
            listener,
            phase: watch::Sender::new(phase),
            stopped: watch::Sender::new(None),
            ready,
            capture,
            hold,
            streams,
            terminate,
            servers: 0,
            lonely_since: Instant::now(),
            told_exit: false,
            directory,
        })
    }

    /// Keeps the engine until there is a reason to leave, and leaves.
    async fn keep(mut self, spec: KeeperSpec) -> Result<(), KeeperFailure> {
        if let Err(error) = self.announce(spec) {
            // An engine that no later server could find must not go on.
            self.brood.end(self.grace).await;
            return Err(KeeperFailure::Record(error));
        }
        let mut connections = JoinSet::new();
        let leave = self.attend(&mut connections).await;
        if let Leave::End { cause, grace } = leave {
            let left = self.end_tree(grace).await;
            if self.exit().is_none() {
                let status = self.brood.engine_status().unwrap_or(ExitStatus::Unknown);
                self.note_exit(status, cause).await;
            }
            if let Some(exit) = self.exit() {
                self.stopped.send_replace(Some(Stopped { exit, left }));
            }
            self.bid_farewell(&mut connections).await;
        }
        // The state may have been refused by a full disk before.
        self.record()
            .and_then(|()| self.directory.remove(SPEC_FILE))
            .and_then(|()| self.directory.stop_listening(self.listener))
            .map_err(KeeperFailure::Record)
    }

    /// Writes down that the engine is there, takes what nobody needs off the disk, and says that servers may come.
    fn announce(&self, mut spec: KeeperSpec) -> io::Result<()> {
        self.record()?;
        spec.strike_secrets();
        self.directory.write(SPEC_FILE, &spec)?;
        // Whoever started the keeper may not care to know.
        drop(writeln!(io::stdout(), "{LISTENING}"));
        Ok(())
    }

    /// Listens to servers, and to the engine's fate, until there is a reason to leave.
    async fn attend(&mut self, connections: &mut JoinSet<()>) -> Leave {
        let (event_sender, mut events) = mpsc::channel(64);
        loop {
            let exited = self.exit().is_some();
            let output_taken = self.hold.as_ref().is_none_or(Hold::is_output_taken);
            if exited && self.told_exit && output_taken && self.servers == 0 {
                return Leave::Over;
            }
            let lonely_at = self.lonely_since + self.lonely_limit;
            // Every arm is cancel-safe: signals, channels, accept and timers lose nothing when another arm is taken.
            tokio::select! {
                () = self.brood.changed() => self.look_after_engine().await,
                _ = self.terminate.recv() => return Leave::End { cause: ExitCause::Stopped, grace: self.grace },
                Ok(line) = &mut self.ready, if !self.ready.is_terminated() && !exited => {
                    self.enter(Phase::Ready { line: Some(line) });
                }
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let news = News { phase: self.phase.subscribe(), stopped: self.stopped.subscribe() };
                        let keeper = self.brood.keeper();
                        let held = Held { hold: self.hold.clone(), terminals: self.brood.terminals().clone() };
                        connections.spawn(connection::attend(stream, keeper, news, held, event_sender.clone()));
                    }
                    Err(error) => {
                        tracing::warn!(error = %error, "a caller could not be taken");
                        // Out of file descriptors, most likely: others have to give some back first.
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(event) = events.recv() => match event {
                    Event::ServerCame => self.servers += 1,
                    Event::ServerWent { told_exit } => {
                        self.servers -= 1;
                        self.told_exit |= told_exit;
                        self.lonely_since = Instant::now();
                    }
                    Event::Stop { grace } => return Leave::End { cause: ExitCause::Stopped, grace },
                },
                Some(_) = connections.join_next() => {}
                // The last of the engine's output may be the last thing that was waited for.
                Some(_) = self.streams.join_next() => {}
                () = sleep_until(lonely_at), if self.servers == 0 => {
                    return if exited {
                        Leave::Over
                    } else {
                        Leave::End { cause: ExitCause::Lonely, grace: self.grace }
                    };
                }
            }
        }
    }

    /// Ends the engine and everybody who came of it. Returns how many could not be ended.
    async fn end_tree(&mut self, grace: Duration) -> usize {
        let kill_at = Instant::now() + grace;
        if let Some(hold) = &self.hold {
            hold.close_input();
            let patience = END_OF_INPUT_LIMIT.min(grace / 2);
            self.brood.engine_over(Instant::now() + patience).await;
        }
        let grace = kill_at.saturating_duration_since(Instant::now());
        self.brood.end(grace).await
    }

    /// Lets servers go that have heard the last news, and have acknowledged the last output if they have the streams.
    async fn bid_farewell(&self, connections: &mut JoinSet<()>) {
        let mut progress = self.hold.as_ref().map(Hold::progress);
        loop {
            let farewell = async {
                tokio::select! {
                    gone = connections.join_next() => gone.is_some(),
                    () = progress_in(&mut progress) => true,
                }
            };
            match timeout(FAREWELL_LIMIT, farewell).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    tracing::warn!("a server did not take the last news");
                    return;
                }
            }
        }
    }

    /// If the engine ended by itself, ends what it left behind and notes it.
    async fn look_after_engine(&mut self) {
        let status = self.brood.engine_status();
        if let Some(status) = status
            && self.exit().is_none()
        {
            let left = self.brood.end(LEFTOVER_GRACE).await;
            if left > 0 {
                tracing::error!(
                    left,
                    "processes of an engine that is over could not be ended"
                );
            }
            self.note_exit(status, ExitCause::Itself).await;
        }
    }

    /// Notes the engine's end, once its last output is in the log.
    async fn note_exit(&mut self, status: ExitStatus, cause: ExitCause) {
        let drained = async { while self.capture.join_next().await.is_some() {} };
        if timeout(FAREWELL_LIMIT, drained).await.is_err() {
            tracing::warn!("somebody still holds the engine's output open");
        }
        if let Some(hold) = &self.hold {
            hold.tree_is_over();
        }
        self.lonely_since = Instant::now();
        self.enter(Phase::Exited(Exit { status, cause }));
    }

    fn exit(&self) -> Option<Exit> {
        self.phase.borrow().exit().cloned()
    }

    /// Writes down the phase, and then tells of it. Servers are told even if the disk refuses: they can still act.
    fn enter(&self, phase: Phase) {
        if let Err(error) = self.write_state(&phase) {
            tracing::error!(error = %error, "the engine's state could not be recorded");
        }
        self.phase.send_replace(phase);
    }

    fn record(&self) -> io::Result<()> {
        self.write_state(&self.phase.borrow())
    }

    fn write_state(&self, phase: &Phase) -> io::Result<()> {
        let state = State {
            boot: self.boot.clone(),
            keeper: self.brood.keeper(),
            engine: self.brood.engine(),
            phase: phase.clone(),
        };
        self.directory.write(STATE_FILE, &state)
    }
}

async fn progress_in(streams: &mut Option<Progress>) {
    match streams {
        Some(progress) => progress.made().await,
        None => std::future::pending().await,
    }
}
