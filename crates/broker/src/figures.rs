//! Figures about the asks of the last days: how many there were, how long people took, who answered what, and whether it
//! was in time.
//!
//! The ledger counts, day by day and from the newest back; here the days are put together. How many asks are counted is
//! bounded, and said.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_core::actor::{Actor, Surface};
use countersign_core::ask::AskPhase;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{ActorId, WorkspaceId};
use countersign_core::time::Timestamp;
use countersign_store::{AnsweredCount, Slice, SliceFigures, UnansweredCount};

use crate::Broker;
use crate::error::BrokerError;

const DAY: Duration = Duration::from_hours(24);
/// How many asks are counted.
const MOST: i64 = 500_000;
/// How many tools and how many people are told apart; there are rarely more.
const LONGEST: usize = 30;

/// Which figures are wanted.
#[derive(Debug, Clone, Copy)]
pub struct FiguresWish {
    /// Only of this workspace.
    pub workspace: Option<WorkspaceId>,
    /// How many days, the one that is under way included.
    pub days: u32,
    /// How many minutes the days begin before those of Greenwich.
    pub utc_offset_min: i64,
    /// How long an answer may take.
    pub target: Duration,
}

/// Figures about the asks of the last days.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Figures {
    /// Whether all asks of these days were counted; otherwise the oldest days are missing.
    pub complete: bool,
    /// The days, oldest first.
    pub days: Vec<DayFigures>,
    /// How long people took over all of them.
    pub waits: Waits,
    /// Who answered how many, the busiest first; rules are not among them.
    pub people: Vec<AnswererFigures>,
    /// What became of what each tool wanted, the one most asked for first.
    pub tools: Vec<ToolFigures>,
    /// How many asks should have been answered by a person within the target time.
    pub counted: i64,
    /// How many of these were.
    pub in_time: i64,
}

/// Figures about the asks that were opened on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayFigures {
    /// When the day begins.
    pub from: Timestamp,
    /// What became of its asks.
    pub fates: Fates,
    /// How long people took.
    pub waits: Waits,
}

/// What became of asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fates {
    /// A person said yes.
    pub allowed: i64,
    /// A person said no.
    pub denied: i64,
    /// A rule said yes.
    pub allowed_by_rule: i64,
    /// A rule said no.
    pub denied_by_rule: i64,
    /// Nobody answered in time.
    pub expired: i64,
    /// Nobody could answer any more.
    pub withdrawn: i64,
    /// They wait.
    pub open: i64,
}

/// How long people took, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// How many answers this is about.
    pub answers: i64,
    /// Half of them took no longer.
    pub p50_s: Option<i64>,
    /// Nine in ten took no longer.
    pub p90_s: Option<i64>,
}

/// What one person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswererFigures {
    /// Who.
    pub actor: Actor,
    /// How often yes.
    pub allowed: i64,
    /// How often no.
    pub denied: i64,
}

/// What became of what one tool wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFigures {
    /// The tool.
    pub tool: String,
    /// What became of it.
    pub fates: Fates,
}

impl Fates {
    /// How many there are.
    pub const fn all(&self) -> i64 {
        self.allowed
            + self.denied
            + self.allowed_by_rule
            + self.denied_by_rule
            + self.expired
            + self.withdrawn
            + self.open
    }

    fn add_answered(&mut self, count: &AnsweredCount) {
        let field = match (count.surface, count.yes) {
            (Surface::Rule, true) => &mut self.allowed_by_rule,
            (Surface::Rule, false) => &mut self.denied_by_rule,
            (_, true) => &mut self.allowed,
            (_, false) => &mut self.denied,
        };
        *field += count.asks;
    }

    fn add_unanswered(&mut self, count: &UnansweredCount) {
        let field = match count.phase {
            AskPhase::Expired => &mut self.expired,
            AskPhase::Withdrawn => &mut self.withdrawn,
            // Without an answer it is nothing else.
            AskPhase::Open | AskPhase::Answered | AskPhase::Delivered | AskPhase::Undeliverable => {
                &mut self.open
            }
        };
        *field += count.asks;
    }
}

impl Broker {
    /// Figures about the asks of the last days that the caller may see.
    pub async fn figures(
        &self,
        caller: &Caller,
        wish: FiguresWish,
    ) -> Result<Figures, BrokerError> {
        caller.require(Grant::Read)?;
        let workspace = wish.workspace.or(caller.workspace());
        if let Some(workspace) = workspace {
            caller.require_in(Grant::Read, workspace)?;
            self.supervisor(workspace)?;
        }
        let now = self.clock.now();
        let mut from = midnight(now, wish.utc_offset_min);
        let mut to = from.after(DAY);
        let mut tally = Tally::default();
        for _ in 0..wish.days {
            let left = MOST - tally.asks;
            if left <= 0 {
                break;
            }
            let slice = Slice {
                from,
                to,
                workspace,
                most: left,
                target: i64::try_from(wish.target.as_micros()).unwrap_or(i64::MAX),
                late: now.before(wish.target),
            };
            tally.take_day(from, self.store.figures(slice).await?);
            to = from;
            from = from.before(DAY);
        }
        Ok(tally.told(wish.days))
    }
}

/// When the day began, where days begin `utc_offset_min` minutes before those of Greenwich.
fn midnight(now: Timestamp, utc_offset_min: i64) -> Timestamp {
    const MINUTE: i64 = 60_000_000;
    const DAY: i64 = 24 * 60 * MINUTE;
    let offset = utc_offset_min * MINUTE;
    let local = now.as_micros() + offset;
    Timestamp::from_micros(local - local.rem_euclid(DAY) - offset)
}

/// What was counted so far; days come newest first.
#[derive(Default)]
struct Tally {
    asks: i64,
    days: Vec<DayFigures>,
    seconds: BTreeMap<i64, i64>,
    people: BTreeMap<ActorId, AnswererFigures>,
    tools: BTreeMap<String, Fates>,
    counted: i64,
    in_time: i64,
}

impl Tally {
    fn take_day(&mut self, from: Timestamp, day: SliceFigures) {
        let mut fates = Fates::default();
        for count in day.unanswered {
            fates.add_unanswered(&count);
            self.counted += match count.phase {
                AskPhase::Withdrawn => 0,
                AskPhase::Expired => count.asks,
                // What waits counts from when it is late.
                AskPhase::Open
                | AskPhase::Answered
                | AskPhase::Delivered
                | AskPhase::Undeliverable => count.late,
            };
            if let Some(tool) = &count.tool {
                self.tool(tool).add_unanswered(&count);
            }
        }
        for count in day.answered {
            fates.add_answered(&count);
            if let Some(tool) = &count.tool {
                self.tool(tool).add_answered(&count);
            }
            if count.surface != Surface::Rule {
                self.counted += count.asks;
                self.in_time += count.in_time;
                self.add_person(count);
            }
        }
        let seconds: BTreeMap<i64, i64> = day.seconds.into_iter().collect();
        for (second, answers) in &seconds {
            *self.seconds.entry(*second).or_default() += answers;
        }
        self.asks += fates.all();
        self.days.push(DayFigures {
            from,
            fates,
            waits: waits(&seconds),
        });
    }

    fn tool(&mut self, tool: &str) -> &mut Fates {
        self.tools.entry(tool.to_owned()).or_default()
    }

    fn add_person(&mut self, count: AnsweredCount) {
        let person = self
            .people
            .entry(count.by.id)
            .or_insert_with(|| AnswererFigures {
                actor: count.by,
                allowed: 0,
                denied: 0,
            });
        if count.yes {
            person.allowed += count.asks;
        } else {
            person.denied += count.asks;
        }
    }

    fn told(mut self, days: u32) -> Figures {
        // The day on which the bound was reached is there in part.
        let complete = self.asks < MOST && self.days.len() == usize::try_from(days).unwrap_or(0);
        self.days.reverse();
        let mut people: Vec<AnswererFigures> = self.people.into_values().collect();
        people.sort_by_key(|person| -(person.allowed + person.denied));
        people.truncate(LONGEST);
        let tools = self.tools.into_iter();
        let mut tools: Vec<ToolFigures> = tools
            .map(|(tool, fates)| ToolFigures { tool, fates })
            .collect();
        tools.sort_by_key(|tool| -tool.fates.all());
        tools.truncate(LONGEST);
        Figures {
            complete,
            days: self.days,
            waits: waits(&self.seconds),
            people,
            tools,
            counted: self.counted,
            in_time: self.in_time,
        }
    }
}

fn waits(seconds: &BTreeMap<i64, i64>) -> Waits {
    let answers: i64 = seconds.values().sum();
    // The first length of time that so many of ten answers did not exceed.
    let within = |tenths: i64| {
        let mut sum = 0;
        seconds.iter().find_map(|(second, count)| {
            sum += count;
            (sum * 10 >= answers * tenths).then_some(*second)
        })
    };
    Waits {
        answers,
        p50_s: within(5),
        p90_s: within(9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_nine_in_ten_are_of_the_answers_that_there_are() {
        let of = |counts: &[(i64, i64)]| {
            let waits = waits(&counts.iter().copied().collect());
            (waits.p50_s, waits.p90_s)
        };
        assert_eq!(of(&[]), (None, None));
        assert_eq!(of(&[(3, 1)]), (Some(3), Some(3)));
        assert_eq!(of(&[(1, 9), (60, 1)]), (Some(1), Some(1)));
        assert_eq!(of(&[(1, 8), (60, 2)]), (Some(1), Some(60)));
        assert_eq!(of(&[(1, 4), (2, 1), (9, 5)]), (Some(2), Some(9)));
    }

    #[test]
    fn a_day_begins_where_somebody_lives() {
        let at = |text: &str| -> Timestamp { serde_json::from_value(text.into()).unwrap() };
        let now = at("2026-11-17T22:30:00Z");
        assert_eq!(midnight(now, 0), at("2026-11-17T00:00:00Z"));
        assert_eq!(midnight(now, 120), at("2026-11-17T22:00:00Z"));
        assert_eq!(midnight(now, -300), at("2026-11-17T05:00:00Z"));
    }
}
