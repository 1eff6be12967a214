//! Runs steps in order, tells how long each took, and stops at the first that fails.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use anyhow::anyhow;

use crate::invocation::Invocation;

/// One step of a longer run.
pub(crate) struct Step {
    name: &'static str,
    /// The command that repeats this step alone.
    repeat: String,
    work: Box<dyn FnOnce() -> anyhow::Result<()>>,
}

impl Step {
    /// A step that runs one command.
    pub(crate) fn command(name: &'static str, invocation: Invocation) -> Self {
        Self {
            name,
            repeat: invocation.to_string(),
            work: Box::new(move || invocation.run()),
        }
    }

    /// A step that does `work`, which the command `repeat` would do again.
    pub(crate) fn work(
        name: &'static str,
        repeat: &str,
        work: impl FnOnce() -> anyhow::Result<()> + 'static,
    ) -> Self {
        Self {
            name,
            repeat: repeat.to_owned(),
            work: Box::new(work),
        }
    }
}

/// How one step ended.
struct Ended {
    name: &'static str,
    passed: bool,
    took: Duration,
}

/// Runs `steps` and prints a summary.
#[expect(
    clippy::print_stdout,
    reason = "progress is for the person at the terminal"
)]
pub(crate) fn run_all(steps: Vec<Step>) -> anyhow::Result<()> {
    let total = steps.len();
    let mut ended = Vec::new();
    let mut failure = None;
    for (index, step) in steps.into_iter().enumerate() {
        println!(
            "\n==> [{}/{total}] {}: {}",
            index + 1,
            step.name,
            step.repeat
        );
        let start = Instant::now();
        let outcome = (step.work)();
        let took = start.elapsed();
        ended.push(Ended {
            name: step.name,
            passed: outcome.is_ok(),
            took,
        });
        println!("    {} took {}", step.name, seconds(took));
        if let Err(error) = outcome {
            failure = Some(error.context(anyhow!(
                "{} failed; to repeat it alone: {}\nbecause",
                step.name,
                step.repeat
            )));
            break;
        }
    }
    println!("\n{}", summary(&ended, total));
    failure.map_or(Ok(()), Err)
}

fn summary(ended: &[Ended], total: usize) -> String {
    let mut lines = String::from("Summary\n");
    for Ended { name, passed, took } in ended {
        let verdict = if *passed { "ok" } else { "FAILED" };
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "  {verdict:<7}{name:<24}{:>10}", seconds(*took));
    }
    let all = ended.iter().map(|step| step.took).sum();
    let left = total - ended.len();
    let rest = if left == 0 {
        String::new()
    } else {
        format!(", {left} not run")
    };
    let _ = write!(
        lines,
        "  {} of {total} steps in {}{rest}",
        ended.len(),
        seconds(all)
    );
    lines
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use anyhow::ensure;

    use super::*;

    #[test]
    fn the_first_failure_stops_the_run_and_says_how_to_repeat_it() {
        let ran = Rc::new(RefCell::new(Vec::new()));
        let step = |name: &'static str, fails: bool| {
            let ran = Rc::clone(&ran);
            Step::work(name, &format!("repeat {name}"), move || {
                ran.borrow_mut().push(name);
                ensure!(!fails, "broken");
                Ok(())
            })
        };

        let error = run_all(vec![
            step("one", false),
            step("two", true),
            step("three", false),
        ])
        .unwrap_err();

        assert_eq!(*ran.borrow(), ["one", "two"]);
        assert!(format!("{error:#}").contains("repeat two"), "{error:#}");
    }

    #[test]
    fn the_summary_counts_what_was_not_run() {
        let ended = [
            Ended {
                name: "formatting",
                passed: true,
                took: Duration::from_millis(1_200),
            },
            Ended {
                name: "lints",
                passed: false,
                took: Duration::from_secs(61),
            },
        ];

        let expected = "Summary\n  ok     formatting                   1.2 s\n  FAILED lints                       61.0 s\n  2 of 5 steps in 62.2 s, 3 not run";
        assert_eq!(summary(&ended, 5), expected);
    }
}
