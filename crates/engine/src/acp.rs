//! The Agent Client Protocol: what an agent on the other end of two pipes says, and what it is told.
//!
//! Nothing here reads, writes or waits: bytes become values, and values become bytes. What is sent is built
//! from the protocol's own types; what is received is read leniently from the JSON itself, so that a word
//! that nobody knows never loses a request. A mistake in reading never becomes a leave.

pub mod agents;
pub mod ask;
mod density;
pub mod elicitation;
mod fields;
pub mod hosted;
pub mod initialize;
pub mod launch;
pub mod lines;
pub mod message;
pub mod reply;
pub mod session;
pub mod settings;
pub mod tool_call;
pub mod update;
