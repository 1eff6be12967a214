//! Notifications by the whole program: nothing is missed, everything is tried as often as it is said, and nothing that is
//! run for one is left behind.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

mod commands;
mod desktops;
mod scene;
mod webhooks;
