//! The server over real connections: who gets in, what is refused and how, and what a stream never loses.

mod answering;
mod app;
mod client;
mod document;
mod grants;
mod local;
mod malformed;
mod origins;
mod pairing;
mod resuming;
mod revoking;
mod slow_peers;
mod stage;
