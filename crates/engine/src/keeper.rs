//! The keeper: a small process that is an engine's parent in the server's stead, so that the engine outlives the server.
//!
//! The server writes a [`KeeperSpec`] into a run directory of its own and starts the keeper ([`Keeper::spawn`]); the
//! keeper ([`run_keeper`]) starts the engine and listens on a socket in that directory. A server that went away is
//! followed by another ([`Keeper::attach`]). It guarantees that
//! - the engine and everything that ever descended from it are ended when a server says so, when the engine ends by
//!   itself, when no server was there for `lonely_limit_s`, or when the keeper is told to terminate;
//! - what became of the engine is in the run directory before anybody is told of it, unless the disk refuses;
//! - no descendant of the engine is listened to, and nobody of another user.
//!
//! A keeper that is killed outright takes the engine's first process with it, and [`Attach::Orphaned`] finds the rest.
//!
//! The run directory (0700) holds `spec.json`, `state.json`, `keeper.sock`, `keeper.lock`, `keeper.log` and
//! `engine.log` with its predecessor `engine.log.1`, all 0600.

mod brood;
mod client;
mod connection;
mod directory;
mod error;
mod launch;
mod orphan;
mod output;
mod resident;
mod spec;
mod state;
mod wire;

pub use client::{Attach, Keeper};
pub use error::KeeperError;
pub use orphan::Orphan;
pub use output::engine_log_tail;
pub use resident::{KeeperFailure, run_keeper};
pub use spec::{KeeperSpec, ReadyRule};
pub use state::{Exit, ExitCause, ExitStatus, Phase, Stopped};
