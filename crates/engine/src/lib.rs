//! Agents behind one engine, and the keeper that holds their processes.

pub mod environment;
pub mod keeper;
pub mod process;
