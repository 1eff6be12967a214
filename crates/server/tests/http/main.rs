//! The server over real connections: who gets in, what is refused and how, and what a stream never loses.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

mod access;
mod answering;
mod app;
mod client;
mod document;
mod grants;
mod holdings;
mod jobs;
mod ledger;
mod local;
mod malformed;
mod origins;
mod own_time;
mod pairing;
mod previewing;
mod pushing;
mod resuming;
mod revoking;
mod scopes;
mod searching;
mod serving;
mod slow_peers;
mod stage;
mod stopped_peers;
mod stream_limits;
mod unread_bodies;
mod writes;
