//! The agent that is always there: `countersign demo-agent`, an ACP agent that needs no model, no key and no network.
//!
//! It does a short scripted piece of work in the session's directory (a read, a question, an edit with a diff, a
//! command), asks before each act, and does what it is told: allowed, it acts; denied, it says so and goes on;
//! cancelled, it stops. Tests script it with [directives](HELP) in the prompt. It ends when its input ends, with everything
//! that it started.

mod agent;
mod archive;
mod connection;
mod prompt;
mod script;
mod serve;
mod session;
mod settings;
mod tour;
mod turn;

pub use script::HELP;
pub use serve::run;
