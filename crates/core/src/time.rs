//! Points in time, and the clock that is handed to whoever needs one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The year 9999 begins: the last point that is ever meant.
const LAST_MICROS: i64 = 253_370_764_800_000_000;

/// A point in time in microseconds since 1970, as it is stored; RFC 3339 in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The point `micros` microseconds after 1970 began.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970 began.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The point `duration` later, or the last one that is ever meant.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros).min(LAST_MICROS))
    }

    /// The point `duration` earlier, or the beginning of 1970.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(micros).max(0))
    }

    /// How long ago `earlier` was; nothing if it has not been yet.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time:.6}"),
            // Beyond what a calendar can say; the number is still true.
            Err(_) => write!(f, "{}µs", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Self(time.as_microsecond()))
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .format(Some(utoipa::openapi::SchemaFormat::KnownFormat(
                utoipa::openapi::KnownFormat::DateTime,
            )))
            .into()
    }
}

impl utoipa::ToSchema for Timestamp {}

/// Tells the time: the machine's, or one that a test sets.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A clock that stands still until it is set.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that shows `start` until it is moved with [`Clock::advance`].
    pub fn manual(start: Timestamp) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(start.as_micros())))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        match self {
            #[expect(
                clippy::disallowed_methods,
                reason = "this is the clock that everybody else is handed"
            )]
            Self::System => Timestamp(jiff::Timestamp::now().as_microsecond()),
            Self::Manual(micros) => Timestamp(micros.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock on; the machine's own is not ours to move.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(micros) = self {
            let to = self.now().after(by);
            micros.store(to.as_micros(), Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_rfc_3339_to_the_microsecond() {
        let time = Timestamp::from_micros(1_794_768_237_833_001);
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, "\"2026-11-15T18:43:57.833001Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), time);
    }

    #[test]
    fn no_duration_leads_beyond_what_can_be_written_and_read() {
        let end = Timestamp::from_micros(0).after(Duration::MAX);
        let json = serde_json::to_string(&end).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), end);
    }

    #[test]
    fn a_clock_that_runs_backwards_gives_no_negative_duration() {
        assert_eq!(
            Timestamp::from_micros(5).since(Timestamp::from_micros(9)),
            Duration::ZERO
        );
    }
}
