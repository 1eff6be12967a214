//! Work that goes on, whoever stops waiting for it.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use tokio_util::task::TaskTracker;

/// Does `work` to its end, also if the one who waits here goes away: here as far as it goes without waiting, and from then
/// on as a task of its own. Nothing comes of work that panics.
///
/// What waits for nothing, as most of what is written to a file does, thereby takes no way to another thread and back. It comes
/// in a box, in which it goes there: whoever waits here need not have room for it.
pub async fn to_the_end<T: Send + 'static>(
    tasks: &TaskTracker,
    mut work: Pin<Box<impl Future<Output = T> + Send + 'static>>,
) -> Option<T> {
    let begun = poll_fn(|context| {
        // Whoever panics has said so already, and is not called again.
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        Poll::Ready(polled.map_or(Poll::Ready(None), |polled| polled.map(Some)))
    });
    match begun.await {
        Poll::Ready(done) => done,
        Poll::Pending => tasks.spawn(work).await.ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn what_waits_for_nothing_is_done_at_once_and_the_rest_without_whoever_waited() {
        let tasks = TaskTracker::new();
        assert_eq!(to_the_end(&tasks, Box::pin(async { 7 })).await, Some(7));
        assert!(tasks.is_empty(), "it took no task");

        let (gate, done) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let work = {
            let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
            async move {
                gate.acquire().await.unwrap().forget();
                done.add_permits(1);
            }
        };
        let waiting = to_the_end(&tasks, Box::pin(work));
        tokio::select! {
            biased;
            _ = waiting => panic!("the gate is closed"),
            () = async {} => {}
        }
        gate.add_permits(1);
        done.acquire().await.unwrap().forget();
    }

    #[tokio::test]
    async fn nothing_comes_of_what_panics_before_or_after_it_waited() {
        async fn panic_after(waits: usize) {
            for _ in 0..waits {
                tokio::task::yield_now().await;
            }
            panic!("on purpose");
        }
        let tasks = TaskTracker::new();
        for waits in 0..2 {
            assert_eq!(to_the_end(&tasks, Box::pin(panic_after(waits))).await, None);
        }
    }
}
