//! `countersign openwork-server` between real clients and a real opencode: OpenWork's own command line and orchestrator,
//! and opencode's SDK through the proxy. The model is the only stub.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail where it stands, and shows what it saw"
)]

mod approvals;
mod command;
mod conversations;
mod files;
mod gate;
mod orchestrator;
mod questions;
mod sdk;
mod stage;
mod streams;
