//! When a failed attempt is made again, and when it is given up.

use std::time::Duration;

/// How often something is tried, and with what pauses between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// How often at most.
    pub tries: u32,
    /// The pause after the first attempt, at most; it doubles with each further one.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
}

impl Default for Schedule {
    /// For a little more than an hour.
    fn default() -> Self {
        Self {
            tries: 12,
            first_pause: Duration::from_secs(2),
            longest_pause: Duration::from_hours(1),
        }
    }
}

impl Schedule {
    /// The pause after `attempts` of them, or nothing if that was the last. `roll` is of `0.0..1.0`: at least half of the
    /// pause is certain and the rest is left to chance, so that what failed together does not come back together.
    pub fn pause_after(&self, attempts: u32, roll: f64) -> Option<Duration> {
        if attempts >= self.tries {
            return None;
        }
        let doublings = attempts.saturating_sub(1).min(31);
        let whole = self
            .first_pause
            .saturating_mul(1 << doublings)
            .min(self.longest_pause);
        let half = whole / 2;
        let roll = if roll.is_finite() { roll } else { 0.0 };
        Some((half + half.mul_f64(roll.clamp(0.0, 1.0))).min(whole))
    }
}
