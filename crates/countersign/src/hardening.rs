//! Makes the process less readable to others of the same user: no core dumps, no debuggers, no look into
//! its memory. Against root nothing of this helps.

#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Hardens this process as far as the system lets it.
pub(crate) fn harden() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!("core dumps could not be switched off: {error}");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!("this process can be looked into by others of its user: {error}");
    }
}
