//! Why a server's dealings with a keeper fail.

use std::io;
use std::path::{Path, PathBuf};

use super::state::Exit;
use crate::process::ProcessIdentity;

/// Why a keeper could not be started, found, or talked to.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The run directory cannot be used.
    #[error("the run directory `{path}` cannot be used")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A run directory is for one run alone.
    #[error("the run directory `{0}` has been used already")]
    Used(PathBuf),
    /// The keeper's program could not be started.
    #[error("the keeper could not be started")]
    Spawn(#[source] io::Error),
    /// The keeper ended before it listened; `log` is what it said.
    #[error("the keeper ended before it listened: {log}")]
    Died {
        /// The end of the keeper's log.
        log: String,
    },
    /// The keeper took too long.
    #[error("the keeper took too long to {0}")]
    TooLong(&'static str),
    /// The keeper refuses to talk to this process.
    #[error("the keeper refuses: {0}")]
    Refused(String),
    /// Somebody else than the keeper listens on its socket.
    #[error("process {found:?} listens in place of the keeper {expected}")]
    Impostor {
        /// Who should.
        expected: ProcessIdentity,
        /// Who does.
        found: Option<i32>,
    },
    /// The conversation with the keeper broke off.
    #[error("the keeper cannot be talked to")]
    Connection(#[source] io::Error),
    /// The keeper is gone.
    #[error("the keeper is gone")]
    Lost,
    /// The engine ended before it was ready.
    #[error("the engine ended before it was ready: {0}")]
    Exited(Exit),
    /// The engine's output cannot be had, or be acknowledged, from there.
    #[error("the engine's output is held from {oldest} to {end}, {asked} is not in it")]
    OutOfReach {
        /// The offset that was asked for.
        asked: u64,
        /// The oldest offset that can be asked for.
        oldest: u64,
        /// The newest.
        end: u64,
    },
    /// A newer connection has the engine's streams.
    #[error("a newer connection has the engine's streams")]
    Displaced,
    /// The engine takes no more input, and did not take this.
    #[error("the engine takes no more input")]
    InputOver,
    /// A frame of input, or its tag, is longer than the keeper takes.
    #[error("a {what} of {length} bytes is longer than the keeper takes ({limit})")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The processes that a keeper left could not be listed.
    #[error("the processes of the run cannot be listed")]
    Processes(#[source] io::Error),
}

impl KeeperError {
    pub(super) fn directory(path: &Path, source: io::Error) -> Self {
        Self::Directory {
            path: path.to_owned(),
            source,
        }
    }
}
