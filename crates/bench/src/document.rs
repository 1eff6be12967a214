//! The document with the figures: a table for each run that still has something to say, the newest first.
//!
//! A run replaces what earlier ones told of the topics that it measured, and leaves the rest as it is. What it failed to
//! measure it says, and the figures of an earlier run stay.

use std::fmt::Write as _;

use clap::ValueEnum as _;

use crate::measure::Topic;
use crate::report::{HEADINGS, Report, verdict};

/// What the part of a run begins with.
const RUN: &str = "## Measured on ";
/// What a topic begins with that a run failed to measure.
const FAILED: &str = "- Failed: `";
const METHOD: &str = include_str!("method.md");

/// The document after `report`, if it was `earlier` before.
pub(crate) fn after(report: &Report, earlier: &str) -> String {
    let mut runs = vec![Run::of(report)];
    for mut run in earlier.split(RUN).skip(1).map(Run::read) {
        run.give_way_to(report);
        if !run.failures.is_empty() || !run.rows.is_empty() {
            runs.push(run);
        }
    }
    let mut text = "# Benchmarks\n\n\
         Written by `cargo xtask bench --write`. Each figure stands next to a baseline of the same run; ratios carry over \
         to other machines, the figures themselves do not. There is a table for each run, the newest first: a run \
         replaces the figures of the topics that it measured, and those of other topics stay.\n\n"
        .to_owned();
    let missing: Vec<String> = Topic::value_variants()
        .iter()
        .map(|topic| topic.name())
        .filter(|topic| !runs.iter().any(|run| run.tells_of(topic)))
        .map(|topic| format!("`{topic}`"))
        .collect();
    // Writing to a string cannot fail.
    if !missing.is_empty() {
        let _ = write!(text, "Without figures: {}.\n\n", missing.join(", "));
    }
    for run in &runs {
        run.write(&mut text);
    }
    text.push_str(METHOD);
    text
}

/// One run, as lines of the document.
struct Run {
    date: String,
    /// How it was measured, and on what.
    about: Vec<String>,
    failures: Vec<Line>,
    rows: Vec<Line>,
}

/// A line about one topic.
struct Line {
    topic: String,
    text: String,
}

impl Run {
    fn of(report: &Report) -> Self {
        let machine = &report.machine;
        let about = vec![
            format!("- Command: `{}`", report.command),
            format!("- Commit: {}", machine.commit),
            format!(
                "- Machine: {}, {} cores, {} of memory, Linux {}, {}",
                machine.processor, machine.cores, machine.memory, machine.kernel, machine.disk
            ),
            format!("- Load when it began: {}", machine.load),
        ];
        let failure = |(topic, why): (&str, &str)| Line {
            topic: topic.to_owned(),
            // A reason may have lines of its own.
            text: format!("{FAILED}{topic}`: {}", why.replace('\n', " ")),
        };
        let row = |(topic, cells): (&str, [String; 7])| Line {
            topic: topic.to_owned(),
            text: row(&cells),
        };
        Self {
            date: machine.date.clone(),
            about,
            failures: report.failures().map(failure).collect(),
            rows: report.rows().map(row).collect(),
        }
    }

    /// Reads what [`Run::write`] wrote, from behind its heading's beginning on.
    fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let mut run = Self {
            date: lines.next().unwrap_or_default().trim().to_owned(),
            about: Vec::new(),
            failures: Vec::new(),
            rows: Vec::new(),
        };
        for line in lines.take_while(|line| !line.starts_with('#')) {
            let known = |topic: &str| Topic::from_str(topic, false).is_ok();
            let line_about = |topic: &str| Line {
                topic: topic.to_owned(),
                text: line.to_owned(),
            };
            if let Some(failed) = line.strip_prefix(FAILED) {
                let topic = failed.split('`').next().unwrap_or_default();
                run.failures.extend(known(topic).then(|| line_about(topic)));
            } else if line.starts_with("- ") {
                run.about.push(line.to_owned());
            } else if let Some(cells) = line.strip_prefix("| ") {
                let topic = cells.split(" | ").next().unwrap_or_default();
                // The headings are of no topic, and a topic that is gone has nothing to say.
                run.rows.extend(known(topic).then(|| line_about(topic)));
            }
        }
        run
    }

    /// Drops what `report` knows better.
    fn give_way_to(&mut self, report: &Report) {
        let measured = |line: &Line| report.rows().any(|(topic, _)| topic == line.topic);
        let failed = |line: &Line| report.failures().any(|(topic, _)| topic == line.topic);
        self.rows.retain(|row| !measured(row));
        self.failures
            .retain(|failure| !measured(failure) && !failed(failure));
    }

    fn tells_of(&self, topic: &str) -> bool {
        self.rows.iter().any(|row| row.topic == topic)
    }

    fn write(&self, text: &mut String) {
        let _ = write!(text, "{RUN}{}\n\n", self.date);
        for line in &self.about {
            let _ = writeln!(text, "{line}");
        }
        for failure in &self.failures {
            let _ = writeln!(text, "{}", failure.text);
        }
        text.push('\n');
        if self.rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "{}", row(&HEADINGS.map(str::to_owned)));
        let _ = writeln!(text, "{}", row(&HEADINGS.map(|_| "---".to_owned())));
        for row in &self.rows {
            let _ = writeln!(text, "{}", row.text);
        }
        let held = self.rows.iter().filter(|row| row.text.ends_with("| ok |"));
        let missed = self
            .rows
            .iter()
            .filter(|row| row.text.ends_with("| MISSED |"));
        let _ = write!(text, "\n{}\n\n", verdict(held.count(), missed.count()));
    }
}

fn row(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::report::{Figure, Limit, TopicReport, Unit};

    fn report(date: &str, topics: Vec<TopicReport>) -> Report {
        let word = || "some".to_owned();
        Report {
            machine: Machine {
                date: date.to_owned(),
                commit: format!("commit of {date}"),
                processor: word(),
                cores: 2,
                memory: word(),
                kernel: word(),
                disk: word(),
                load: word(),
            },
            command: format!("command of {date}"),
            topics,
        }
    }

    fn measured(topic: Topic, value: f64) -> TopicReport {
        let figure = Figure::new("something", value, Unit::Count).limited(Limit::AtMost(5.0));
        TopicReport::measured(topic, vec![figure])
    }

    #[test]
    fn a_run_replaces_its_own_topics_alone() {
        let first = report(
            "2026-01-01",
            vec![measured(Topic::Answers, 1.0), measured(Topic::Inbox, 2.0)],
        );
        let document = after(&first, "# Benchmarks\n\nin an older form\n");
        assert!(
            document.contains("| answers | something | 1 |"),
            "{document}"
        );
        assert!(document.contains("All 2 limits held."), "{document}");

        let second = report("2026-01-02", vec![measured(Topic::Inbox, 9.0)]);
        let document = after(&second, &document);
        assert!(
            document.contains("| answers | something | 1 |"),
            "{document}"
        );
        assert!(document.contains("| inbox | something | 9 |"), "{document}");
        assert!(
            !document.contains("| inbox | something | 2 |"),
            "{document}"
        );
        assert!(document.contains("All 1 limits held."), "{document}");
        assert!(
            document.contains("1 of 1 limits were missed."),
            "{document}"
        );
        assert!(document.contains("command of 2026-01-01"), "{document}");
        assert_eq!(document.matches(RUN).count(), 2, "{document}");
        assert_eq!(document.matches("## How it is measured").count(), 1);

        let third = report(
            "2026-01-03",
            vec![measured(Topic::Inbox, 3.0), measured(Topic::Answers, 3.0)],
        );
        let document = after(&third, &document);
        assert_eq!(document.matches(RUN).count(), 1, "{document}");
        assert!(
            !document.contains("Without figures: `answers`"),
            "{document}"
        );
        assert!(document.contains("`fuzz`"), "{document}");
    }

    #[test]
    fn what_failed_is_said_and_earlier_figures_stay() {
        let first = report("2026-01-01", vec![measured(Topic::Inbox, 2.0)]);
        let document = after(&first, "");
        let failed = || TopicReport::failed(Topic::Inbox, "no room\non the disk".to_owned());
        let document = after(&report("2026-01-02", vec![failed()]), &document);
        assert!(document.contains("| inbox | something | 2 |"), "{document}");
        assert!(
            document.contains("- Failed: `inbox`: no room on the disk"),
            "{document}"
        );
        // A second failure takes the place of the first.
        let document = after(&report("2026-01-03", vec![failed()]), &document);
        assert_eq!(document.matches("- Failed:").count(), 1, "{document}");
        let measured = report("2026-01-04", vec![measured(Topic::Inbox, 4.0)]);
        let document = after(&measured, &document);
        assert!(!document.contains("- Failed:"), "{document}");
        assert_eq!(document.matches(RUN).count(), 1, "{document}");
    }
}
