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
//! An engine that is talked to on its standard input and output has them *held* ([`Streams::Held`]): they are sockets whose
//! other ends only the keeper has. A server takes them up on a second connection ([`Keeper::streams`]). Then
//! - what the engine prints is kept by absolute offset until a server acknowledges it, within a limit beyond which the
//!   engine has to wait; the next server reads on where the last one was safe, also when the engine is over by then;
//! - a frame of input reaches the engine whole and in order, or not at all; with a tag it does so once in a life of the
//!   engine, however often servers send it. A frame that was accepted is written even if its server goes away;
//! - one server has the streams at a time, and the newest wins;
//! - an engine that is to be ended first sees the end of its input.
//!
//! Commands that a server runs for the engine are children of the keeper too ([`Keeper::terminals`]): they outlive the
//! server and end with the engine, and no descendant of theirs is listened to.
//!
//! A keeper that is killed outright takes the engine's first process with it, and [`Attach::Orphaned`] finds the rest.
//!
//! The run directory (0700) holds `spec.json`, `state.json`, `keeper.sock`, `keeper.lock`, `keeper.log` and
//! `engine.log` with its predecessor `engine.log.1`, all 0600.

pub(crate) mod brood;
mod client;
mod connection;
mod directory;
mod error;
mod held;
mod launch;
mod orphan;
mod output;
mod resident;
mod spec;
mod state;
mod terminals;
mod wire;

pub use client::{Attach, Keeper};
pub use error::KeeperError;
pub use held::{Chunk, HeldInput, HeldOutput, HeldStreams};
pub use orphan::Orphan;
pub use output::engine_log_tail;
pub use resident::{KeeperFailure, run_keeper};
pub use spec::{KeeperSpec, ReadyRule, Streams};
pub use state::{Exit, ExitCause, ExitStatus, Phase, Stopped};
pub use terminals::{
    OUTPUT_LIMIT, Printed, TerminalClient as Terminals, TerminalError, TerminalSpec, Waiting,
};
