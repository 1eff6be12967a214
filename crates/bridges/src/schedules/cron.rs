//! When a scheduled prompt is due.

use std::fmt;
use std::time::Duration;

use countersign_core::time::Timestamp;
use cronexpr::{Crontab, MakeTimestamp, parse_crontab};

/// Minute, hour, day of the month, month and day of the week, in a time zone.
#[derive(Clone)]
pub struct Cron {
    crontab: Crontab,
    fields: String,
    time_zone: String,
    /// Whether it is at certain hours.
    is_of_the_day: bool,
}

/// Why something is no time to be due at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCron {
    /// There are not five fields.
    #[error("has {0} fields, and needs 5: minute, hour, day of the month, month, day of the week")]
    Fields(usize),
    /// A field or the time zone is wrong.
    #[error("cannot be: {0}")]
    Wrong(String),
    /// There is no such time.
    #[error("never comes")]
    Never,
}

impl Cron {
    /// Reads five fields, which are meant in `time_zone`.
    pub fn new(fields: &str, time_zone: &str, now: Timestamp) -> Result<Self, InvalidCron> {
        let count = fields.split_whitespace().count();
        if count != FIELDS {
            return Err(InvalidCron::Fields(count));
        }
        let crontab = parse_crontab(&format!("{fields} {time_zone}"))
            .map_err(|error| InvalidCron::Wrong(error.to_string()))?;
        let cron = Self {
            crontab,
            is_of_the_day: fields
                .split_whitespace()
                .nth(1)
                .is_some_and(|hours| !hours.starts_with('*')),
            fields: fields.to_owned(),
            time_zone: time_zone.to_owned(),
        };
        cron.after(now).ok_or(InvalidCron::Never)?;
        Ok(cron)
    }

    /// The five fields, as they were written.
    pub fn fields(&self) -> &str {
        &self.fields
    }

    /// The time zone's name.
    pub fn time_zone(&self) -> &str {
        &self.time_zone
    }

    /// The first time after `then`. Where clocks are put back, a time of day comes once all the same; what comes in every
    /// hour comes in each of them.
    pub fn after(&self, then: Timestamp) -> Option<Timestamp> {
        let mut then = MakeTimestamp::from_microsecond(then.as_micros()).ok()?;
        loop {
            let next = self.crontab.find_next(then).ok()?;
            let is_again = |back: &Duration| {
                let before = next.checked_sub(*back);
                before.is_ok_and(|before| before.datetime() == next.datetime())
            };
            if self.is_of_the_day && PUT_BACK.iter().any(is_again) {
                then = MakeTimestamp(next.timestamp());
                continue;
            }
            let micros = next.timestamp().as_microsecond();
            return Some(Timestamp::from_micros(micros));
        }
    }

    /// The last time after `then` that is not after `now`.
    pub fn last(&self, then: Timestamp, now: Timestamp) -> Option<Timestamp> {
        // Of every minute in a year none but the last hour's is looked at.
        let mut back = Duration::from_hours(1);
        loop {
            let from = now.before(back).max(then);
            let times = std::iter::successors(self.after(from), |time| self.after(*time));
            let last = times.take_while(|time| *time <= now).last();
            if last.is_some() || from <= then {
                return last;
            }
            back *= FURTHER;
        }
    }
}

const FIELDS: usize = 5;
/// By how much clocks are put back.
const PUT_BACK: [Duration; 3] = [
    Duration::from_mins(30),
    Duration::from_hours(1),
    Duration::from_hours(2),
];
/// How much further back is looked when nothing was found.
const FURTHER: u32 = 24;

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({} {})", self.fields, self.time_zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> Timestamp {
        serde_json::from_value(text.into()).unwrap()
    }

    fn cron(fields: &str, zone: &str) -> Cron {
        Cron::new(fields, zone, at("2026-01-01T00:00:00Z")).unwrap()
    }

    #[test]
    fn nine_in_berlin_is_another_hour_in_summer() {
        let cron = cron("0 9 * * 1-5", "Europe/Berlin");
        let winter = cron.after(at("2026-01-05T00:00:00Z"));
        assert_eq!(winter, Some(at("2026-01-05T08:00:00Z")));
        let summer = cron.after(at("2026-07-06T00:00:00Z"));
        assert_eq!(summer, Some(at("2026-07-06T07:00:00Z")));
        // A Friday at noon: Monday is next.
        let monday = cron.after(at("2026-07-10T12:00:00Z"));
        assert_eq!(monday, Some(at("2026-07-13T07:00:00Z")));
    }

    #[test]
    fn a_time_that_the_clocks_leave_out_or_have_twice_comes_once_a_day() {
        let nightly = cron("30 2 * * *", "Europe/Berlin");
        let times = |from: &str, until: &str| {
            let (from, until) = (at(from), at(until));
            let times = std::iter::successors(nightly.after(from), |it| nightly.after(*it));
            times.take_while(|it| *it < until).count()
        };
        // 2026-10-25 has half past two twice; 2026-03-29 has none.
        assert_eq!(times("2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"), 1);
        assert!(times("2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z") <= 1);
        assert_eq!(times("2026-03-29T12:00:00Z", "2026-03-30T12:00:00Z"), 1);
        let hourly = cron("30 * * * *", "Europe/Berlin");
        let times = std::iter::successors(hourly.after(at("2026-10-25T00:00:00Z")), |it| {
            hourly.after(*it)
        });
        let times = times.take_while(|it| *it < at("2026-10-25T03:00:00Z"));
        assert_eq!(times.count(), 3, "an hour is an hour");
    }

    #[test]
    fn what_cannot_be_is_told_apart() {
        let now = at("2026-01-01T00:00:00Z");
        let error = |fields, zone| Cron::new(fields, zone, now).unwrap_err();
        assert_eq!(error("* * * *", "UTC"), InvalidCron::Fields(4));
        assert_eq!(error("* * * * * *", "UTC"), InvalidCron::Fields(6));
        for (fields, zone) in [("61 * * * *", "UTC"), ("* * * * *", "Europe/Atlantis")] {
            assert!(matches!(error(fields, zone), InvalidCron::Wrong(_)));
        }
        assert_eq!(error("0 0 30 2 *", "UTC"), InvalidCron::Never);
    }

    proptest! {
        #[test]
        fn the_last_time_is_the_one_that_going_on_leads_to(
            fields in prop::sample::select(vec!["* * * * *", "*/7 * * * *", "0 9 * * *", "30 4 1 * *"]),
            back in 0i64..100_000,
            minute in 0i64..1_000_000,
        ) {
            let minutes = |count: i64| Timestamp::from_micros(1_767_225_600_000_000 + count * 60_000_000);
            let (then, now) = (minutes(minute - back), minutes(minute));
            let cron = cron(fields, "America/New_York");
            let all = std::iter::successors(cron.after(then), |it| cron.after(*it));
            // The slow way, for as long as it is bearable.
            if back < 5_000 {
                prop_assert_eq!(cron.last(then, now), all.take_while(|it| *it <= now).last());
            } else if let Some(last) = cron.last(then, now) {
                prop_assert!(then < last && last <= now);
                prop_assert!(cron.after(last).is_none_or(|next| next > now));
            }
        }
    }
}
