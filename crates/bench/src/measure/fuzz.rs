//! Fuzzing of the ACP door: how much was fed, and whether anything was found.

use std::process::Stdio;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use tokio::process::Command;

use crate::measure::Bench;
use crate::report::{Figure, Limit, Unit};
use crate::served::beside_this_program;

/// A line of what the fuzzer tells.
#[derive(Debug, Deserialize)]
#[serde(tag = "target", rename_all = "lowercase")]
enum Told {
    Reader(Hunted),
    Dispatcher(Hunted),
    Server { streams: u32, requests: u32 },
}

#[derive(Debug, Deserialize)]
struct Hunted {
    trials: u32,
    seconds: f64,
    findings: u32,
}

impl Bench {
    pub(super) async fn fuzz(&self) -> anyhow::Result<Vec<Figure>> {
        let output = Command::new(beside_this_program("countersign-fuzz")?)
            .args(["--seconds", &self.fuzz_seconds.to_string()])
            .arg("--server")
            .arg(beside_this_program("countersign")?)
            .arg("--agent")
            .arg(beside_this_program("hostile-agent")?)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start the fuzzer")?
            // Not `output`, which would keep what it finds, told on standard error, to itself.
            .wait_with_output()
            .await
            .context("failed to wait for the fuzzer")?;
        let told = String::from_utf8_lossy(&output.stdout);
        let (mut figures, mut findings) = (Vec::new(), 0);
        let mut fed = |what: &str, hunted: Hunted| {
            findings += hunted.findings;
            Figure::new(
                format!("fuzzed: trials of the {what}"),
                f64::from(hunted.trials) / hunted.seconds,
                Unit::PerSecond,
            )
        };
        for line in told.lines() {
            match serde_json::from_str(line).with_context(|| format!("the fuzzer says `{line}`"))? {
                Told::Reader(hunted) => figures.push(fed("reader", hunted)),
                Told::Dispatcher(hunted) => figures.push(fed("dispatcher", hunted)),
                Told::Server { streams, requests } => figures.extend([
                    Figure::new(
                        "fuzzed: streams into a server",
                        f64::from(streams),
                        Unit::Count,
                    ),
                    Figure::new(
                        "fuzzed: requests that it answered",
                        f64::from(requests),
                        Unit::Count,
                    ),
                ]),
            }
        }
        if figures.len() < 4 || (!output.status.success() && findings == 0) {
            bail!("the fuzzer ended with {}", output.status);
        }
        let what = format!("fuzzed for {} s: findings", self.fuzz_seconds);
        figures
            .push(Figure::new(what, f64::from(findings), Unit::Count).limited(Limit::AtMost(0.0)));
        Ok(figures)
    }
}
