//! What the server wants kept: the program, where and with what it runs, and when it counts as ready.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::directory::RunDirectory;

pub(super) const SPEC_FILE: &str = "spec.json";

/// One engine to be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperSpec {
    /// The engine's program; looked for in the `PATH` of [`Self::environment`] if it is a bare name.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The directory it is started in.
    pub working_directory: PathBuf,
    /// Its whole environment: nothing is inherited.
    pub environment: BTreeMap<String, String>,
    /// The variables that the next server needs in order to talk to the engine.
    ///
    /// All the others leave the disk as soon as the engine runs.
    #[serde(default)]
    pub kept_variables: BTreeSet<String>,
    /// A variable in [`Self::environment`] whose value no other process has.
    ///
    /// What carries it belongs to this run, even when it is nobody's child any more. It is kept on disk.
    #[serde(default)]
    pub mark: Option<String>,
    /// When the engine counts as ready.
    pub ready: ReadyRule,
    /// For how many seconds the engine goes on without a server.
    #[serde(default = "default_lonely_limit_s")]
    pub lonely_limit_s: u64,
    /// How many milliseconds the engine's processes get between being asked to end and being killed, if nobody says.
    #[serde(default = "default_grace_ms")]
    pub grace_ms: u64,
}

/// What shows that an engine is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadyRule {
    /// It is ready as soon as it is started.
    Started,
    /// It prints a line that starts with this.
    StdoutLine(String),
}

impl KeeperSpec {
    /// For how many seconds an engine goes on without a server, if nothing else is wished.
    pub const DEFAULT_LONELY_LIMIT_S: u64 = 600;
    /// How many milliseconds processes get to end in order, if nothing else is wished.
    pub const DEFAULT_GRACE_MS: u64 = 5_000;

    /// Reads the description of the run in `run_directory`.
    ///
    /// While the engine runs, only the kept variables are still in its environment; once it has ended there is no
    /// description any more.
    pub fn read(run_directory: &Path) -> io::Result<Self> {
        RunDirectory::open(run_directory)?.read(SPEC_FILE)
    }

    pub(super) fn lonely_limit(&self) -> Duration {
        Duration::from_secs(self.lonely_limit_s)
    }

    pub(super) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    /// Returns the mark with its value.
    pub(super) fn marked(&self) -> Option<(&str, &str)> {
        let name = self.mark.as_deref()?;
        Some((name, self.environment.get(name)?))
    }

    /// Forgets all variables that the next server does not need.
    pub(super) fn strike_secrets(&mut self) {
        let Self {
            environment,
            kept_variables,
            mark,
            ..
        } = self;
        environment.retain(|name, _| kept_variables.contains(name) || mark.as_ref() == Some(name));
    }
}

fn default_lonely_limit_s() -> u64 {
    KeeperSpec::DEFAULT_LONELY_LIMIT_S
}

fn default_grace_ms() -> u64 {
    KeeperSpec::DEFAULT_GRACE_MS
}
