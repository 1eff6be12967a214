//! How an engine fares: what the keeper tells servers, and what it leaves in `state.json` for those to come.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::process::ProcessIdentity;

pub(super) const STATE_FILE: &str = "state.json";

/// Where an engine is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It was started and is not ready yet.
    Starting,
    /// It is ready.
    Ready {
        /// The line that showed it, if it had to print one.
        line: Option<String>,
    },
    /// It is over, and so is every process that it left behind.
    Exited(Exit),
}

impl Phase {
    /// Returns how the engine ended, if it did.
    pub fn exit(&self) -> Option<&Exit> {
        match self {
            Self::Exited(exit) => Some(exit),
            Self::Starting | Self::Ready { .. } => None,
        }
    }
}

/// How and why an engine ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// What the system says of its first process.
    pub status: ExitStatus,
    /// Who ended it.
    pub cause: ExitCause,
}

impl Exit {
    pub(super) const KEEPER_LOST: Self = Self {
        status: ExitStatus::Unknown,
        cause: ExitCause::KeeperLost,
    };
}

/// A sentence about the engine.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cause, &self.status) {
            (ExitCause::Stopped, _) => f.write_str("it was stopped"),
            (ExitCause::Lonely, _) => f.write_str("it was without a server for too long"),
            (ExitCause::KeeperLost, _) => f.write_str("its keeper was killed"),
            (ExitCause::Itself, ExitStatus::Code(code)) => {
                write!(f, "it exited with status {code}")
            }
            (ExitCause::Itself, ExitStatus::Signal(signal)) => {
                write!(f, "signal {signal} killed it")
            }
            (ExitCause::Itself, ExitStatus::NotStarted(why)) => {
                write!(f, "it could not be started: {why}")
            }
            (ExitCause::Itself, ExitStatus::Unknown) => f.write_str("it ended"),
        }
    }
}

/// What the system says of an ended process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It ended with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It could not be started, for this reason.
    NotStarted(String),
    /// Nobody was there to see it.
    Unknown,
}

/// Who ended an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitCause {
    /// The engine itself, or somebody who does not answer to the keeper.
    Itself,
    /// A server, or the system as it shut down, told the keeper to.
    Stopped,
    /// The keeper, since no server was there for too long.
    Lonely,
    /// The keeper was killed or the machine went down, and the engine with it.
    KeeperLost,
}

/// The outcome of an orderly stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// How the engine ended.
    pub exit: Exit,
    /// How many processes of its tree could not be ended: none, unless the system refuses.
    pub left: usize,
}

/// What is in `state.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The boot of the machine in which the identities mean something.
    pub(super) boot: String,
    pub(super) keeper: ProcessIdentity,
    pub(super) engine: Option<ProcessIdentity>,
    pub(super) phase: Phase,
}
