//! Waiting for the disk without holding up the tasks that wait for the network.

use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};

/// What is waited for in place: a thread that is away for so long holds nobody up more than one that is busy.
const SHORT: Duration = Duration::from_millis(1);
/// How many waits are remembered, about: one that is long does not make a disk slow.
const MEMORY: u32 = 16;

/// Does `work`, which waits for the disk or takes long, while the tasks that would wait behind it go on elsewhere.
///
/// It is done here, in this thread: nobody can go away in the middle of it, and it does not have to wait for another
/// thread to wake up. A runtime with a single thread has nowhere else to go on; only tests have one.
pub(crate) fn aside<T>(work: impl FnOnce() -> T) -> T {
    if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// What the disk lately took to make something durable, on average.
///
/// Having the other tasks go on elsewhere wakes another thread, and with a good disk that costs more than it saves.
#[derive(Debug, Default)]
pub(super) struct Pace(Duration);

impl Pace {
    /// Whether the disk is to be waited for in place.
    pub(super) fn is_good(&self) -> bool {
        self.0 < SHORT
    }

    /// Learns from a wait that began at `began` and ends now.
    pub(super) fn learn(&mut self, began: Instant) {
        self.note(began.elapsed());
    }

    fn note(&mut self, took: Duration) {
        self.0 = (self.0 * (MEMORY - 1) + took) / MEMORY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_waited_for_in_place_until_it_is_slow_and_when_it_has_long_been_quick() {
        let (quick, slow) = (Duration::from_micros(100), Duration::from_millis(10));
        let mut pace = Pace::default();
        assert!(pace.is_good());
        pace.note(slow);
        assert!(pace.is_good(), "that happens");
        pace.note(slow);
        assert!(!pace.is_good());
        pace.note(quick);
        assert!(!pace.is_good(), "it was slow a moment ago");
        for _ in 0..100 {
            pace.note(quick);
        }
        assert!(pace.is_good());
    }
}
