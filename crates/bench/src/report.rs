//! Figures, their limits, and how they are told.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::machine::Machine;

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    PerSecond,
    Milliseconds,
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
    pub(crate) command: String,
    pub(crate) figures: Vec<Figure>,
}

const HEADINGS: [&str; 6] = ["what", "measured", "next to", "ratio", "limit", ""];

impl Report {
    /// How many limits were missed.
    pub(crate) fn missed(&self) -> usize {
        self.limits().filter(|held| !held).count()
    }

    fn limits(&self) -> impl Iterator<Item = bool> {
        self.figures.iter().filter_map(|figure| figure.held)
    }

    /// The last line.
    pub(crate) fn verdict(&self) -> String {
        let all = self.limits().count();
        match self.missed() {
            0 => format!("All {all} limits held."),
            missed => format!("{missed} of {all} limits were missed."),
        }
    }

    /// For a terminal.
    pub(crate) fn table(&self) -> String {
        let rows: Vec<[String; 6]> = self.figures.iter().map(Figure::cells).collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(HEADINGS[column].len())
        };
        let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
        let mut text = String::new();
        for row in std::iter::once(&HEADINGS.map(str::to_owned)).chain(&rows) {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                // Writing to a string cannot fail.
                let _ = write!(line, "{cell:<width$}  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// For the repository.
    pub(crate) fn markdown(&self) -> String {
        let machine = &self.machine;
        let mut text = format!(
            "# Benchmarks\n\n\
             Written by `{} --write`. Each figure stands next to a baseline of the same run; ratios carry over \
             to other machines, the figures themselves do not.\n\n\
             - Date: {}\n- Commit: {}\n- Machine: {}, {} cores, {} of memory, Linux {}, {}\n\
             - Load when it began: {}\n- Command: `{}`\n\n",
            self.command,
            machine.date,
            machine.commit,
            machine.processor,
            machine.cores,
            machine.memory,
            machine.kernel,
            machine.disk,
            machine.load,
            self.command,
        );
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text.push_str(&row(&HEADINGS.map(str::to_owned)));
        text.push_str(&row(&HEADINGS.map(|_| "---".to_owned())));
        for figure in &self.figures {
            text.push_str(&row(&figure.cells()));
        }
        let _ = write!(text, "\n{}\n\n{METHOD}", self.verdict());
        text
    }
}

const METHOD: &str = include_str!("method.md");

#[cfg(test)]
mod tests {
    use super::*;

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
