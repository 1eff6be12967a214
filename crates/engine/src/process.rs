//! Processes of this machine: who they are, whose descendants they are, and how a whole tree of them is ended.
//!
//! Everything here is proved on Linux. Elsewhere it builds, and [`PLATFORM_LIMITS`] says what cannot be promised.

mod identity;
mod listener;
#[cfg_attr(target_os = "linux", path = "process/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "process/elsewhere.rs")]
mod platform;
pub mod tree;

pub use identity::ProcessIdentity;
pub use listener::listening_on;
pub(crate) use platform::{
    boot_id, die_with_parent, short_path, stand_before_an_agent, withdraw_from_the_caller,
};

/// What the processes of an engine's life carry in their environment; its value is the life's id.
pub const RUN_MARK: &str = "COUNTERSIGN_RUN";

/// What this platform cannot promise about engines' processes; `None` where everything holds.
pub const PLATFORM_LIMITS: Option<&str> = platform::LIMITS;
