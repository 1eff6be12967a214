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
    /// When the engine counts as ready. One whose streams are held is so as soon as it is started.
    pub ready: ReadyRule,
    /// What becomes of the engine's standard input and output.
    #[serde(default)]
    pub streams: Streams,
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

/// What becomes of an engine's standard input and output. Its standard error is always logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// There is no input, and the output is logged.
    #[default]
    Logged,
    /// The keeper holds both for servers ([`Keeper::streams`](super::Keeper::streams)).
    Held {
        /// How many bytes of output are held that no server has acknowledged. The engine has to wait beyond them.
        #[serde(default = "default_spool_bytes")]
        spool_bytes: u64,
    },
}

impl Streams {
    /// How many bytes of output are held, if nothing else is wished.
    pub const DEFAULT_SPOOL_BYTES: u64 = 4 * 1024 * 1024;

    /// Returns streams that are held, within the usual limits.
    pub fn held() -> Self {
        Self::Held {
            spool_bytes: Self::DEFAULT_SPOOL_BYTES,
        }
    }

    /// Returns how many bytes of output are held.
    pub(super) fn spool_limit(self) -> usize {
        match self {
            Self::Logged => 0,
            Self::Held { spool_bytes } => usize::try_from(spool_bytes).unwrap_or(usize::MAX),
        }
    }
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

fn default_spool_bytes() -> u64 {
    Streams::DEFAULT_SPOOL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_from_before_streams_could_be_held_is_still_read() {
        let spec = r#"{"program":"p","args":[],"working_directory":"/","environment":{},"ready":"started"}"#;
        let spec: KeeperSpec = serde_json::from_str(spec).unwrap();
        assert_eq!(spec.streams, Streams::Logged);
        let held: Streams = serde_json::from_str(r#"{"held":{}}"#).unwrap();
        assert_eq!(held, Streams::held());
    }
}
