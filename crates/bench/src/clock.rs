//! One clock for all processes that take part: the machine's time of day.

use countersign_core::time::{Clock, Timestamp};

/// What time it is.
pub(crate) fn now() -> Timestamp {
    Clock::System.now()
}

/// The milliseconds from `earlier` to `later`; negative if the clock was set back in between.
pub(crate) fn milliseconds(earlier: Timestamp, later: Timestamp) -> f64 {
    to_f64(later.as_micros() - earlier.as_micros()) / 1e3
}

/// Measurements are far below the numbers that a float cannot hold.
#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds and counts are small"
)]
fn to_f64(value: i64) -> f64 {
    value as f64
}
