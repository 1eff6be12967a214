//! The engine and everything that came of it: who is left, who ended and how, and the end of them all.
//!
//! Whoever uses it is the subreaper of them all, and waits for no child by other means.

use std::cell::OnceCell;
use std::io;
use std::time::Duration;

use rustix::process::{WaitOptions, WaitStatus, wait};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, timeout_at};

use super::state::ExitStatus;
use super::terminals::Terminals;
use crate::process::{ProcessIdentity, tree};

/// How long children that were killed may take to be reaped.
const REAP_LIMIT: Duration = Duration::from_secs(5);

/// How soon to look again for children that no signal announces.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// All descendants of this process, which is their subreaper.
pub(crate) struct Brood {
    own: ProcessIdentity,
    engine: Option<ProcessIdentity>,
    engine_status: OnceCell<ExitStatus>,
    terminals: Terminals,
    child_ended: Signal,
}

/// Whether this process has children that have not ended.
#[derive(Debug, PartialEq, Eq)]
enum Children {
    None,
    Some,
}

impl Brood {
    /// Begins to watch, before there is anybody to be watched.
    pub(crate) fn of_this_process() -> io::Result<Self> {
        Ok(Self {
            own: ProcessIdentity::own()?,
            engine: None,
            engine_status: OnceCell::new(),
            terminals: Terminals::default(),
            child_ended: signal(SignalKind::child())?,
        })
    }

    pub(crate) fn keeper(&self) -> ProcessIdentity {
        self.own
    }

    /// The commands that run beside the engine.
    pub(super) fn terminals(&self) -> &Terminals {
        &self.terminals
    }

    pub(crate) fn engine(&self) -> Option<ProcessIdentity> {
        self.engine
    }

    /// Says which of the children is the engine. Nobody may be reaped before.
    pub(crate) fn add_engine(&mut self, engine: ProcessIdentity) {
        self.engine = Some(engine);
    }

    /// Waits for any child to end. Cancel-safe.
    pub(crate) async fn changed(&mut self) {
        self.child_ended.recv().await;
    }

    /// Reaps whoever ended, and returns how the engine did if it is over.
    pub(crate) fn engine_status(&self) -> Option<ExitStatus> {
        self.reap();
        self.engine_status.get().cloned()
    }

    /// Waits until the engine is over, and not longer than until `deadline`.
    pub(crate) async fn engine_over(&mut self, deadline: Instant) {
        while self.engine.is_some() && self.engine_status().is_none() {
            if timeout_at(deadline, self.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Ends everybody. Returns how many could not be ended.
    pub(crate) async fn end(&mut self, grace: Duration) -> usize {
        self.terminals.close();
        let kill_at = Instant::now() + grace;
        let give_up_at = kill_at + REAP_LIMIT;
        loop {
            let grace = kill_at.saturating_duration_since(Instant::now());
            let left = match tree::end_all(|| self.members(), grace).await {
                Ok(left) => left.len(),
                Err(error) => {
                    tracing::error!(error = %error, "the engine's processes cannot be listed");
                    1
                }
            };
            // The system knows best whether anybody is left: an orphan is a child of ours.
            let children = self.reap();
            if left > 0 || children == Children::None || Instant::now() >= give_up_at {
                return left;
            }
            let look_again = Instant::now() + LOOK_AGAIN;
            // Whether somebody ended or it was only time, the next look tells.
            drop(timeout_at(look_again, self.child_ended.recv()).await);
        }
    }

    /// Returns who is alive.
    fn members(&self) -> io::Result<Vec<ProcessIdentity>> {
        // Where there is no process table, only reaping shows that the engine is over.
        self.reap();
        let mut members = tree::descendants(self.own.pid)?;
        if let Some(engine) = self.engine
            && engine.is_alive()
            && !members.contains(&engine)
        {
            members.push(engine);
        }
        Ok(members)
    }

    /// Reaps every child that ended, the engine and those that were orphaned to this process.
    fn reap(&self) -> Children {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let number = u32::try_from(pid.as_raw_nonzero().get()).ok();
                    if number.is_some() && number == self.engine.map(|engine| engine.pid) {
                        // The first to end with this number is the engine; a later one is some orphan.
                        self.engine_status.get_or_init(|| exit_status(status));
                    }
                    if let Some(number) = number {
                        self.terminals.note_end(number, &exit_status(status));
                    }
                }
                Ok(None) => return Children::Some,
                Err(_) => return Children::None,
            }
        }
    }
}

fn exit_status(status: WaitStatus) -> ExitStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitStatus::Code(code),
        (None, Some(signal)) => ExitStatus::Signal(signal),
        (None, None) => ExitStatus::Unknown,
    }
}
