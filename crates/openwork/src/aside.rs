//! Work that waits for the disk, beside the tasks that wait for the network.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::runtime::{Handle, RuntimeFlavor};

/// What is done in place, in microseconds: a thread that waits for so long holds nobody up more than one that is busy.
const SHORT: u64 = 1_000;
/// How many times are remembered, about: once does not make a kind of work slow.
const MEMORY: u64 = 16;

/// What a kind of work lately took on average, in microseconds.
///
/// Having the tasks that would wait behind it go on elsewhere wakes another thread, and that costs more than it saves if
/// the work is a look at a file or two.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU64);

impl Pace {
    /// Of work that was never done.
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn is_good(&self) -> bool {
        self.0.load(Ordering::Relaxed) < SHORT
    }

    fn learn(&self, took: u64) {
        let known = self.0.load(Ordering::Relaxed);
        let learnt = known.saturating_mul(MEMORY - 1).saturating_add(took) / MEMORY;
        // Of two that learn at once, one is enough.
        self.0.store(learnt, Ordering::Relaxed);
    }
}

/// Does `work` where waiting is allowed; nothing comes of work that panics.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    // Most of it takes less time than another thread takes to wake up. So it is done here, and the tasks that would wait
    // behind it go on elsewhere.
    if has_threads() {
        return caught(|| tokio::task::block_in_place(work));
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "work beside the tasks failed"
            );
            None
        }
    }
}

/// Does `work` in place while work of its kind is quick, and else as [`aside`] does.
pub(crate) async fn briefly<T: Send + 'static>(
    pace: &'static Pace,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let timed = move || {
        let began = Instant::now();
        let done = work();
        pace.learn(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
        done
    };
    if has_threads() && pace.is_good() {
        return caught(timed);
    }
    aside(timed).await
}

fn has_threads() -> bool {
    Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread
}

/// Whoever panics has said so already.
fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    static PACE: Pace = Pace::new();

    #[test]
    fn slow_work_is_remembered_until_it_has_long_been_quick() {
        let pace = Pace::new();
        assert!(pace.is_good());
        pace.learn(10_000);
        assert!(pace.is_good(), "that happens");
        pace.learn(10_000);
        pace.learn(100);
        assert!(!pace.is_good());
        for _ in 0..100 {
            pace.learn(100);
        }
        assert!(pace.is_good());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_is_done_briefly_is_done_wherever_it_is_done() {
        for _ in 0..3 {
            assert_eq!(briefly(&PACE, || 7).await, Some(7));
            let panics = || -> u8 { panic!("on purpose") };
            assert_eq!(briefly(&PACE, panics).await, None);
            PACE.learn(20_000);
        }
    }
}
