//! What the process holds in memory once it has started: the start takes far more than what comes after it.

use std::convert::Infallible;
use std::time::Duration;

/// So long after a server has begun to serve, nothing of its start goes on.
const STARTED: Duration = Duration::from_secs(1);

/// Gives back what only the start needed, and then waits for ever.
pub(crate) async fn shrink_after_start() -> Infallible {
    tokio::time::sleep(STARTED).await;
    if let Err(error) = tokio::task::spawn_blocking(give_back).await {
        tracing::debug!("what the start needed is kept: {error}");
    }
    std::future::pending().await
}

/// Gives back what is free in the heap, and those parts of the program that are in memory. What is still needed of them
/// comes back by itself, from the file.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator is C's, and so is the call")]
fn give_back() {
    // SAFETY: it takes a number, touches only memory that nobody has, and may be called at any time.
    unsafe { libc::malloc_trim(0) };
    let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    for part in unwritten(&mappings) {
        // SAFETY: nobody can write there and nobody has, so what is read after this is what was read before it: the file.
        unsafe {
            libc::madvise(
                part.start as *mut libc::c_void,
                part.len(),
                libc::MADV_DONTNEED,
            )
        };
    }
}

/// Does nothing: these allocators give back what is free, or cannot be asked to.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

/// Where files are mapped that are not written to there, and of which no page was ever made the process's own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn unwritten(mappings: &str) -> Vec<std::ops::Range<usize>> {
    let mut parts = Vec::new();
    let (mut part, mut own) = (None, None);
    for line in mappings.lines() {
        let mut words = line.split_whitespace();
        let word = words.next().unwrap_or_default();
        match word {
            "Anonymous:" => own = words.next(),
            // A page of the process's own that was swapped out is no longer among those.
            "Swap:" if own == Some("0") && words.next() == Some("0") => parts.extend(part.take()),
            _ if !word.ends_with(':') => (part, own) = (file_to_read(word, words), None),
            _ => {}
        }
    }
    parts
}

/// The place that the first line of a mapping tells, if a file is there that is only read.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn file_to_read<'a>(
    place: &str,
    mut words: impl Iterator<Item = &'a str>,
) -> Option<std::ops::Range<usize>> {
    let is_private = matches!(words.next()?, "r--p" | "r-xp");
    // Behind the offset, the device and the inode.
    let is_file = words.nth(3)?.starts_with('/');
    let (start, end) = place.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    (is_private && is_file).then_some(address(start)?..address(end)?)
}

/// Has threads share the places from which memory is handed out, two to one at the most. Each is asked of the system in steps of
/// a page, one call each, and a server that starts with one for every thread makes a thousand of them before it is ready.
/// Before any thread is started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator is C's")]
pub(crate) fn share_memory() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let places = std::ffi::c_int::try_from(threads / 2).unwrap_or(1).max(1);
    // SAFETY: it takes numbers, and nobody else calls it at the same time: no thread was started.
    let is_set = unsafe { libc::mallopt(libc::M_ARENA_MAX, places) };
    if is_set == 0 {
        tracing::debug!("the allocator does not take it");
    }
}

/// Does nothing: these allocators have no such places, or cannot be told.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share_memory() {}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    fn mapping(head: &str, anonymous: u32, swap: u32) -> String {
        format!(
            "{head}\nSize: 8 kB\nRss: 8 kB\nAnonymous: {anonymous} kB\nSwap: {swap} kB\nVmFlags: rd mr\n"
        )
    }

    #[test]
    fn only_what_is_as_it_is_in_its_file_is_given_back() {
        let all = [
            mapping(
                "1000-3000 r-xp 00001000 08:01 42   /usr/bin/a program",
                0,
                0,
            ),
            // Constants that were put right when the program was loaded.
            mapping("3000-4000 r--p 00003000 08:01 42 /usr/bin/a", 4, 0),
            mapping("4000-5000 r--p 00003000 08:01 42 /usr/bin/a", 0, 4),
            mapping("5000-6000 rw-p 00003000 08:01 42 /usr/bin/a", 0, 0),
            mapping("6000-7000 r--s 00003000 08:01 42 /var/ledger.db-shm", 0, 0),
            mapping("7000-8000 r-xp 00000000 00:00 0 [vdso]", 0, 0),
            mapping("8000-9000 r--p 00000000 00:00 0", 0, 0),
        ];
        assert_eq!(unwritten(&all.concat()), vec![0x1000..0x3000]);
        assert!(unwritten("Anonymous: 0 kB\nSwap: 0 kB\n").is_empty());
    }

    #[test]
    fn a_process_goes_on_without_what_it_gave_back() {
        let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
        assert!(!unwritten(&mappings).is_empty());
        give_back();
        let text: String = ["and", "goes", "on"].join(" ");
        assert_eq!(text, "and goes on");
    }
}
