//! Feeds the ACP door what no agent would say, and looks whether its promises hold.
//!
//! Streams are made from what real agents were recorded with, changed at random as bytes and as JSON ([`mutation`]). Each goes
//! through the reader ([`Target::Reader`]) or through everything that is made of a message ([`Target::Dispatcher`]) and
//! must keep what those promise, within a ration of memory and time; [`whole_server`] does the same to a server from
//! outside. Every trial has dice of its own, so that a seed and a number repeat it alone.

mod corpus;
mod dispatcher;
mod finding;
mod hunt;
pub mod mutation;
mod oracle;
pub mod ration;
mod reader;
pub mod whole_server;

pub use corpus::Corpus;
pub use finding::{Broken, Finding};
pub use hunt::{Hunt, Hunted, Limit, Target, note_panics};
