//! `countersign openwork-server` as OpenWork's clients meet it.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail where it stands, and shows what it saw"
)]

mod approvals;
mod audit;
mod files;
mod fixture;
mod golden;
mod json;
mod jsonc;
mod kills;
mod later;
mod normal;
mod owners;
mod portable;
mod proxy;
mod reading;
mod reloads;
mod replay;
mod server;
mod start;
#[expect(dead_code, reason = "what is typed into a terminal is for other tests")]
#[path = "../plugin/terminal.rs"]
mod terminal;
mod tokens;
mod upstream;
mod wire;
mod writes;
