//! Agents as processes and as peers: the keeper that holds them, and how each kind is talked to.

pub mod acp;
pub mod address;
pub mod ask;
pub mod contained;
pub mod difference;
pub mod environment;
pub mod files;
pub mod keeper;
pub mod opencode;
pub mod process;
pub mod program;
pub mod proxied;
