//! Waiting for a condition that nobody announces, with a deadline.

use std::time::Duration;

use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Calls `probe` until it returns `Some`, and panics with `description` when `deadline` has passed.
///
/// A probe that is still running at the deadline is given up, so it needs no time limit of its own.
pub async fn eventually<T>(
    deadline: Duration,
    description: &str,
    mut probe: impl AsyncFnMut() -> Option<T>,
) -> T {
    let end = Instant::now() + deadline;
    let mut pause = FIRST_PAUSE;
    loop {
        match tokio::time::timeout_at(end, probe()).await {
            Ok(Some(found)) => return found,
            Ok(None) if Instant::now() < end => {}
            Ok(None) | Err(_) => panic!("not within {deadline:?}: {description}"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_value_that_was_waited_for_is_returned() {
        let mut calls = 0;
        let found = eventually(Duration::from_secs(5), "three calls", async || {
            calls += 1;
            (calls == 3).then_some("here")
        })
        .await;
        assert_eq!((found, calls), ("here", 3));
    }

    #[tokio::test]
    #[should_panic(expected = "a probe that answers")]
    async fn a_probe_that_hangs_does_not_outlive_the_deadline() {
        let deadline = Duration::from_millis(20);
        eventually::<()>(deadline, "a probe that answers", async || {
            std::future::pending().await
        })
        .await;
    }
}
