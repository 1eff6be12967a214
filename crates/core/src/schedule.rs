//! Scheduled prompts: when they are due, where they go, and what became of the last one.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::Timestamp;

/// A scheduled prompt, as the configuration says it and as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// What people call it.
    pub name: String,
    /// When it is due: minute, hour, day of the month, month, day of the week.
    pub cron: String,
    /// The time zone that this is meant in, by its IANA name.
    pub time_zone: String,
    /// Where the prompt goes.
    pub to: ScheduleTarget,
    /// What becomes of a time that passed while no server ran.
    pub missed: Missed,
    /// Every time up to this one is dealt with.
    pub handled_until: Timestamp,
    /// When it is due next; nothing if the configuration names it no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// The last time that was left out because the run before had not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_at: Option<Timestamp>,
    /// The last time that was not left out, and what became of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ScheduledRun>,
}

/// Where a scheduled prompt goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ScheduleTarget {
    /// It becomes a job.
    Job {
        /// The engine; the usual one if it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        engine: Option<String>,
        /// The workspace, by path or name; the first if it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
    },
    /// It is said in a channel, and begins a session in a thread there.
    Channel {
        /// The bridge, such as `matrix`.
        bridge: String,
        /// What the platform calls the channel.
        channel: String,
    },
}

/// What becomes of a time that passed while no server ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// However many passed, the prompt is given once, for the last of them.
    #[default]
    RunOnce,
    /// Nothing.
    Skip,
}

/// A time that came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledRun {
    /// When it was due.
    pub due_at: Timestamp,
    /// What became of it.
    pub outcome: RunOutcome,
}

/// What became of a time that came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunOutcome {
    /// It is said in its channel, and begins when the platform has that.
    Announced,
    /// The prompt was given.
    Begun {
        /// The job, or what came into the chat.
        run: String,
    },
    /// It passed while no server ran, and was left out.
    Missed,
    /// It could not be given.
    Failed {
        /// Why.
        why: String,
    },
}

/// What to do about a time that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Give the prompt.
    Begin,
    /// Leave it out: the one before has not ended.
    Overlaps,
    /// Leave it out: it passed while no server ran.
    IsMissed,
}

impl Missed {
    /// What to do about a time that came `late` ago, if the run before is still at work or not.
    pub fn decide(self, late: std::time::Duration, is_at_work: bool) -> Due {
        match self {
            _ if is_at_work => Due::Overlaps,
            Self::Skip if late > IN_TIME => Due::IsMissed,
            Self::Skip | Self::RunOnce => Due::Begin,
        }
    }
}

/// A time that is dealt with later than this was missed.
pub const IN_TIME: std::time::Duration = std::time::Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_time_is_left_out_when_it_overlaps_or_was_missed_and_that_is_wished() {
        let (soon, late) = (Duration::from_secs(2), Duration::from_hours(3));
        for missed in [Missed::RunOnce, Missed::Skip] {
            assert_eq!(missed.decide(soon, false), Due::Begin);
            assert_eq!(missed.decide(soon, true), Due::Overlaps);
            assert_eq!(missed.decide(late, true), Due::Overlaps);
        }
        assert_eq!(Missed::RunOnce.decide(late, false), Due::Begin);
        assert_eq!(Missed::Skip.decide(late, false), Due::IsMissed);
    }
}
