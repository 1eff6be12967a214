//! opencode over HTTP: its wire, its client, and how one is started.
//!
//! Nothing here decides anything: what the engine says is turned into values, and what it is told is
//! handed in. It is lenient in what it reads, as far as a mistake cannot become a leave.

mod ask;
mod client;
mod client_error;
mod command;
mod delegation;
mod endpoint;
mod failure;
mod launch;
mod offers;
mod policy;
mod prompt;
mod signal;
mod stream;
mod wire;

pub use crate::ask::EngineAsk;
pub use ask::{needs_input, permission_ask, question_ask};
pub use client::{Opencode, Replied, Reply};
pub use client_error::ClientError;
pub use command::Command;
pub use delegation::{Agent, AgentRule, AgentVerdict};
pub use endpoint::Endpoint;
pub use failure::MessageError;
pub use launch::{Launch, LaunchError, find_program, is_too_old, too_old};
pub use offers::Offers;
pub use policy::{acts_unasked, ask_rules, asked_as, contains, ends_with};
pub use prompt::{PromptContext, PromptText};
pub use signal::{Frame, Signal, frame};
pub use stream::{Frames, StreamError};
pub use wire::{
    CachedTokens, ListedSession, Message, MessageTokens, Part, Permission, PermissionRule,
    QuestionRequest, Session, SessionTime, Status, ToolReference, ToolState, Verdict,
};
