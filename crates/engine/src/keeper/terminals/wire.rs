//! What servers and keepers say to each other about commands: one wish on a connection, and one reply.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::state::ExitStatus;

/// The longest wish, and the longest reply: what a command printed, all of it in escapes.
pub(in crate::keeper) const LONGEST: usize = 8 * 1024 * 1024;

/// A command that is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSpec {
    /// What it is called. The same name means the same command.
    pub id: String,
    /// What it is for people.
    pub label: String,
    /// The program; looked for in the `PATH` of [`Self::environment`] if it is a bare name.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The directory it runs in, resolved: no link is followed to it.
    pub directory: PathBuf,
    /// Its whole environment: nothing is inherited.
    pub environment: BTreeMap<String, String>,
    /// How many bytes are kept of what it prints, at most [`OUTPUT_LIMIT`](super::OUTPUT_LIMIT).
    pub output_limit: usize,
}

/// Somebody who waits for the end of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The engine's request, as JSON.
    pub request: String,
    /// The tag of the reply to it.
    pub tag: String,
}

/// What a command printed so far, and how it ended if it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// What the command is for people.
    pub label: String,
    /// The newest of it.
    pub text: String,
    /// Whether there was more before.
    pub truncated: bool,
    /// How it ended.
    pub exit: Option<ExitStatus>,
}

/// What a server wishes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::keeper) enum Wish {
    Start(TerminalSpec),
    Output { id: String },
    Expect { id: String, waiting: Waiting },
    Wait { id: String },
    Kill { id: String },
    KillAll,
    Release { id: String },
    List,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::keeper) enum Reply {
    Done,
    Printed(Printed),
    Ended(ExitStatus),
    /// Who waits, each with the command.
    Waiting(Vec<(String, Waiting)>),
    /// There is no such command.
    Unknown,
    Refused(String),
}
