//! Memory that was freed and that the allocator keeps for later: a keeper that was full once may never be again.

/// Gives the system back what is free, where the allocator does not do so by itself.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator is C's")]
pub(super) fn give_back() {
    // SAFETY: it takes a number, touches only memory that nobody has, and may be called at any time.
    unsafe { libc::malloc_trim(0) };
}

/// Does nothing: these allocators give it back, or cannot be asked to.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back() {}
