//! Times on the wire: milliseconds since 1970.

use countersign_core::time::Timestamp;

/// `time` in milliseconds since 1970.
pub(crate) fn millis(time: Timestamp) -> i64 {
    time.as_micros() / 1_000
}
