//! Every adapter against its platform, or a fake of it: the same promises for all, and what is particular to each.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

mod conformance;
mod discord;
mod matrix;
mod slack;
mod telegram;
