//! The commands of jobs: hand a task in, see how it stands, get its result or its reason.
//!
//! Names, flags, markers, JSON and exit codes are those of the companion plugins that people have scripts for; where
//! they differ, `docs/jobs.md` says so. If no server runs, these commands start one in the background.

pub(crate) mod attach;
pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod fate;
pub(crate) mod gate;
pub(crate) mod heal;
pub(crate) mod logs;
mod lookup;
mod progress;
pub(crate) mod result;
pub(crate) mod resume;
pub(crate) mod review;
mod safety;
pub(crate) mod setup;
mod shape;
pub(crate) mod status;
pub(crate) mod task;
mod text;
pub(crate) mod wait;
pub(crate) mod watch;
mod words;

pub(crate) use lookup::root;

#[cfg(test)]
pub(crate) mod fixtures;
