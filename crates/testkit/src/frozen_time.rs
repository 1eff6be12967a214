//! Time that passes only when a test lets it: a limit of minutes costs seconds.

use std::sync::mpsc;
use std::time::Duration;

/// How long sockets and other threads get, really, for what they do in one step.
const REAL_PAUSE: Duration = Duration::from_millis(4);

/// The time of a runtime with one thread, from now until this is dropped.
#[derive(Debug)]
pub struct FrozenTime(#[expect(dead_code, reason = "it is held")] mpsc::Sender<()>);

impl FrozenTime {
    /// Stops the time of this runtime.
    #[expect(
        clippy::new_without_default,
        reason = "there is nothing usual about it"
    )]
    pub fn new() -> Self {
        tokio::time::pause();
        let (sender, receiver) = mpsc::channel();
        // A paused runtime that has nothing to do moves its time to the next timer. It does not while a blocking task
        // runs: a wait for the ledger or a socket would count as a long one.
        tokio::task::spawn_blocking(move || receiver.recv());
        Self(sender)
    }

    /// Lets `time` pass at once, after everything that is under way has had its chance.
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's own time stands still"
    )]
    pub async fn pass(&self, time: Duration) {
        let slept = tokio::task::spawn_blocking(|| std::thread::sleep(REAL_PAUSE));
        slept.await.expect("sleeping does not panic");
        tokio::time::advance(time).await;
    }
}

impl Drop for FrozenTime {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test]
    async fn time_passes_only_when_it_is_let() {
        let time = FrozenTime::new();
        let start = Instant::now();
        let mut sleep = std::pin::pin!(tokio::time::sleep(Duration::from_mins(1)));
        time.pass(Duration::from_secs(59)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(59));
        let early = tokio::select! {
            biased;
            () = &mut sleep => true,
            () = tokio::task::yield_now() => false,
        };
        assert!(!early);
        time.pass(Duration::from_secs(2)).await;
        sleep.await;
    }
}
