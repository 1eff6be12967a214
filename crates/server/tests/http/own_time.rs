//! Time as the program under test gets to see it: a limit that is held is not missed because the machine is busy.

use std::time::Duration;

/// The least that lies between two beats.
const BEAT: Duration = Duration::from_millis(10);

/// How many beats fit into `time`, at most.
pub(crate) fn beats_in(time: Duration) -> u128 {
    time.as_millis() / BEAT.as_millis()
}

/// Does `work`, and counts the beats of the runtime meanwhile, on which the server runs as well. While the machine leaves
/// it no time there are none.
pub(crate) async fn count_beats<T>(work: impl Future<Output = T>) -> (T, u128) {
    let mut beats = 0;
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return (done, beats),
            () = tokio::time::sleep(BEAT) => beats += 1,
        }
    }
}
