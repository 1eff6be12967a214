//! Figures, their limits, and how they are told.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::machine::Machine;
use crate::measure::Topic;

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    PerSecond,
    Milliseconds,
    Microseconds,
    Kibibytes,
    Megabytes,
    Count,
}

/// A value with its unit.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Quantity {
    pub(crate) value: f64,
    pub(crate) unit: Unit,
}

/// What a figure may be.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "value")]
pub(crate) enum Limit {
    /// The value itself is at most this.
    AtMost(f64),
    /// The value divided by its baseline is at most this.
    RatioAtMost(f64),
    /// The value divided by its baseline is at least this.
    RatioAtLeast(f64),
}

/// Something that was measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) measured: Quantity,
    /// What it stands next to.
    pub(crate) baseline: Option<Baseline>,
    /// The measured value divided by the baseline's.
    pub(crate) ratio: Option<f64>,
    pub(crate) limit: Option<Limit>,
    /// Whether the limit held; nothing where there is none.
    pub(crate) held: Option<bool>,
}

/// What was measured next to it, in the same unit.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Baseline {
    pub(crate) what: String,
    pub(crate) value: f64,
}

impl Figure {
    pub(crate) fn new(what: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self {
            what: what.into(),
            measured: Quantity { value, unit },
            baseline: None,
            ratio: None,
            limit: None,
            held: None,
        }
    }

    /// Puts it next to `value`, measured in the same run.
    pub(crate) fn next_to(mut self, what: impl Into<String>, value: f64) -> Self {
        self.baseline = Some(Baseline {
            what: what.into(),
            value,
        });
        let ratio = self.measured.value / value;
        self.ratio = ratio.is_finite().then_some(ratio);
        self
    }

    /// Limits it; a baseline has to be there before.
    pub(crate) fn limited(mut self, limit: Limit) -> Self {
        let ratio = self.ratio.unwrap_or(f64::NAN);
        // What is no number holds no limit.
        self.held = Some(match limit {
            Limit::AtMost(most) => self.measured.value <= most,
            Limit::RatioAtMost(most) => ratio <= most,
            Limit::RatioAtLeast(least) => ratio >= least,
        });
        self.limit = Some(limit);
        self
    }

    fn cells(&self) -> [String; 6] {
        let unit = self.measured.unit;
        [
            self.what.clone(),
            self.measured.to_string(),
            self.baseline.as_ref().map_or_else(String::new, |baseline| {
                let value = Quantity {
                    value: baseline.value,
                    unit,
                };
                format!("{value} {}", baseline.what)
            }),
            self.ratio
                .map_or_else(String::new, |ratio| format!("{ratio:.2}×")),
            self.limit.map_or_else(String::new, |limit| match limit {
                Limit::AtMost(value) => format!("≤ {}", Quantity { value, unit }),
                Limit::RatioAtMost(value) => format!("≤ {value}×"),
                Limit::RatioAtLeast(value) => format!("≥ {value}×"),
            }),
            match self.held {
                Some(true) => "ok".to_owned(),
                Some(false) => "MISSED".to_owned(),
                None => String::new(),
            },
        ]
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.unit {
            Unit::PerSecond => write!(f, "{value:.0}/s"),
            Unit::Milliseconds if value < 10.0 => write!(f, "{value:.2} ms"),
            Unit::Milliseconds => write!(f, "{value:.0} ms"),
            Unit::Microseconds if value < 100.0 => write!(f, "{value:.1} µs"),
            Unit::Microseconds => write!(f, "{value:.0} µs"),
            Unit::Kibibytes => write!(f, "{value:.1} KiB"),
            Unit::Megabytes => write!(f, "{value:.1} MB"),
            Unit::Count => write!(f, "{value:.0}"),
        }
    }
}

/// Everything that one run measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    /// What the run can be repeated with.
    pub(crate) command: String,
    pub(crate) topics: Vec<TopicReport>,
}

/// What came of one topic.
#[derive(Debug, Serialize)]
pub(crate) struct TopicReport {
    topic: String,
    figures: Vec<Figure>,
    /// Why there are no figures.
    failure: Option<String>,
}

impl TopicReport {
    pub(crate) fn measured(topic: Topic, figures: Vec<Figure>) -> Self {
        Self {
            topic: topic.name(),
            figures,
            failure: None,
        }
    }

    pub(crate) fn failed(topic: Topic, why: String) -> Self {
        Self {
            topic: topic.name(),
            figures: Vec::new(),
            failure: Some(why),
        }
    }
}

/// What is above the cells of [`Report::rows`].
pub(crate) const HEADINGS: [&str; 7] =
    ["topic", "what", "measured", "next to", "ratio", "limit", ""];

impl Report {
    /// Whether everything was measured, and every limit held.
    pub(crate) fn is_good(&self) -> bool {
        self.failures().next().is_none() && self.limits().all(|held| held)
    }

    /// The topics that were not measured, and why.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.topics
            .iter()
            .filter_map(|topic| Some((topic.topic.as_str(), topic.failure.as_deref()?)))
    }

    /// The figures with their topics.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, [String; 7])> {
        self.topics.iter().flat_map(|topic| {
            let cells = |figure: &Figure| {
                let [what, measured, next_to, ratio, limit, held] = figure.cells();
                let name = topic.topic.clone();
                [name, what, measured, next_to, ratio, limit, held]
            };
            let rows = topic.figures.iter().map(cells);
            rows.map(|cells| (topic.topic.as_str(), cells))
        })
    }

    fn limits(&self) -> impl Iterator<Item = bool> {
        let figures = self.topics.iter().flat_map(|topic| &topic.figures);
        figures.filter_map(|figure| figure.held)
    }

    /// The last lines: what failed, and whether the limits held.
    pub(crate) fn verdict(&self) -> String {
        let mut text = String::new();
        for (topic, why) in self.failures() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "`{topic}` could not be measured: {why}");
        }
        let held = self.limits().filter(|held| *held).count();
        text + &verdict(held, self.limits().count() - held)
    }

    /// For a terminal.
    pub(crate) fn table(&self) -> String {
        let rows: Vec<[String; 7]> = self.rows().map(|(_, cells)| cells).collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(HEADINGS[column].len())
        };
        let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
        let mut text = String::new();
        for row in std::iter::once(&HEADINGS.map(str::to_owned)).chain(&rows) {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(line, "{cell:<width$}  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// What is to be said of limits of which so many held and so many were missed.
pub(crate) fn verdict(held: usize, missed: usize) -> String {
    let all = held + missed;
    match (all, missed) {
        (0, _) => "No limit was put to the test.".to_owned(),
        (_, 0) => format!("All {all} limits held."),
        (_, missed) => format!("{missed} of {all} limits were missed."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_failed_spoils_the_run_and_not_the_others() {
        let figure = || Figure::new("list", 1.0, Unit::Count).limited(Limit::AtMost(2.0));
        let report = |topics| Report {
            machine: crate::machine::describe(std::path::Path::new("/")),
            command: "cargo xtask bench".to_owned(),
            topics,
        };
        let measured = || TopicReport::measured(Topic::Inbox, vec![figure()]);
        assert!(report(vec![measured()]).is_good());
        let failed = TopicReport::failed(Topic::Start, "no room".to_owned());
        let report = report(vec![failed, measured()]);
        assert!(!report.is_good());
        assert_eq!(report.rows().count(), 1);
        assert_eq!(
            report.verdict(),
            "`start` could not be measured: no room\nAll 1 limits held."
        );
    }

    #[test]
    fn a_figure_is_held_against_its_limit() {
        let figure = |value| Figure::new("list", value, Unit::Milliseconds).next_to("small", 2.0);
        assert_eq!(
            figure(4.0).limited(Limit::RatioAtMost(2.0)).held,
            Some(true)
        );
        assert_eq!(
            figure(4.1).limited(Limit::RatioAtMost(2.0)).held,
            Some(false)
        );
        assert_eq!(
            figure(1.0).limited(Limit::RatioAtLeast(0.8)).held,
            Some(false)
        );
        assert_eq!(
            figure(f64::NAN).limited(Limit::AtMost(9.0)).held,
            Some(false)
        );
    }
}
