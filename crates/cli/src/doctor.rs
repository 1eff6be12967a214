//! `doctor`: looks at everything that has to be right, and says what to do about what is not.

use owo_colors::OwoColorize as _;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Call;
use crate::exit::Exit;

mod bridges;
mod jobs;
pub(crate) mod machine;
mod server;

use server::Found;

/// What to do besides looking.
#[derive(Debug, clap::Args)]
pub struct Doctor {
    /// Put right what can be put right without touching a file of yours: the data directory's mode, what a server
    /// left that is gone, jobs that nothing can come of any more
    #[arg(long)]
    fix: bool,
    /// Say where everything is, too
    #[arg(long)]
    verbose: bool,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Finding {
    /// As it should be.
    Ok,
    /// Not as it should be, and work goes on.
    Warn,
    /// Work does not go on.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq)]
struct Check {
    name: &'static str,
    finding: Finding,
    message: String,
    fix: Option<String>,
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self {
            name,
            finding: Finding::Ok,
            message: message.into(),
            fix: None,
        }
    }

    fn warn(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name,
            finding: Finding::Warn,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }

    fn fail(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            finding: Finding::Fail,
            ..Self::warn(name, message, fix)
        }
    }
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Doctor) -> anyhow::Result<Exit> {
    let fixed = if arguments.fix {
        jobs::fix(call).await?
    } else {
        Vec::new()
    };
    let (checks, server) = look(call).await?;
    if call.json() {
        call.output
            .json(&told(call, &arguments, &checks, &fixed).to_string())?;
    } else {
        for done in &fixed {
            call.output.line(&format!("{}  {done}", "fixed".green()))?;
        }
        for check in &checks {
            call.output.line(&line(check))?;
        }
        if arguments.verbose {
            for line in jobs::places(call) {
                call.output.line(&line)?;
            }
        }
    }
    if server == Found::Silent {
        Ok(Exit::ServerSilent)
    } else if checks.iter().any(|check| check.finding == Finding::Fail) {
        Ok(Exit::Failed)
    } else {
        Ok(Exit::Success)
    }
}

async fn look(call: &mut Call<'_>) -> anyhow::Result<(Vec<Check>, Found)> {
    let mut checks = Vec::new();
    let elsewhere = call.options.url.is_some();
    if !elsewhere {
        checks.push(machine::data_directory(call.surroundings.data.as_deref()));
    }
    let server = server::check(call, &mut checks).await?;
    let engine_is_ready = server == Found::Ready;
    if !elsewhere {
        checks.push(machine::opencode(call.surroundings.path.as_deref(), engine_is_ready).await);
        checks.push(machine::node(call.surroundings.path.as_deref()).await);
        checks.push(jobs::opencode_config(call));
        checks.push(jobs::plugin_data(call));
        checks.extend(jobs::disk(call.surroundings.data.as_deref()));
        checks.extend(bridges::look().await);
    }
    if server != Found::Silent {
        checks.extend(jobs::stuck(call).await);
    }
    Ok((checks, server))
}

/// The same for programs: our names for what was found, and those of the companion plugins.
fn told(call: &Call<'_>, arguments: &Doctor, checks: &[Check], fixed: &[String]) -> Value {
    let count = |finding| {
        checks
            .iter()
            .filter(|check| check.finding == finding)
            .count()
    };
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| {
            let status = match check.finding {
                Finding::Ok => "PASS",
                Finding::Warn => "WARN",
                Finding::Fail => "FAIL",
            };
            json!({
                "name": check.name, "finding": check.finding, "message": check.message,
                "fix": check.fix, "status": status, "detail": check.message, "hint": check.fix,
            })
        })
        .collect();
    let workspace = call.surroundings.directory.as_deref();
    json!({
        "summary": {
            "failures": count(Finding::Fail), "warnings": count(Finding::Warn),
            "fix": arguments.fix,
        },
        "checks": checks,
        "fixed": fixed,
        "workspace": workspace.map(crate::jobs::root),
        "stateRoot": call.surroundings.data,
    })
}

fn line(check: &Check) -> String {
    let finding = match check.finding {
        Finding::Ok => "ok  ".green().to_string(),
        Finding::Warn => "warn".yellow().to_string(),
        Finding::Fail => "fail".red().to_string(),
    };
    let head = format!("{finding}  {:<15}  {}", check.name, check.message);
    match &check.fix {
        Some(fix) => format!("{head}\n{:23}→ {fix}", ""),
        None => head,
    }
}
