//! `doctor`: looks at everything that has to be right, and says what to do about what is not.

use owo_colors::OwoColorize as _;
use serde::Serialize;

use crate::Call;
use crate::exit::Exit;

mod machine;
mod server;

/// Nothing to choose.
#[derive(Debug, clap::Args)]
pub struct Doctor {}

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
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Check {
    name: &'static str,
    finding: Finding,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
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

pub(crate) async fn run(call: &mut Call<'_>, _: Doctor) -> anyhow::Result<Exit> {
    let mut checks = Vec::new();
    let elsewhere = call.options.url.is_some();
    if !elsewhere {
        checks.push(machine::data_directory(call.surroundings.data.as_deref()));
    }
    let engine_is_ready = server::check(call, &mut checks).await?;
    if !elsewhere {
        checks.push(machine::opencode(call.surroundings.path.as_deref(), engine_is_ready).await);
        checks.push(machine::node(call.surroundings.path.as_deref()).await);
    }
    if call.json() {
        call.output.json(&serde_json::to_string(&checks)?)?;
    } else {
        for check in &checks {
            call.output.line(&line(check))?;
        }
    }
    if checks.iter().any(|check| check.finding == Finding::Fail) {
        Ok(Exit::Failed)
    } else {
        Ok(Exit::Success)
    }
}

fn line(check: &Check) -> String {
    let finding = match check.finding {
        Finding::Ok => "ok  ".green().to_string(),
        Finding::Warn => "warn".yellow().to_string(),
        Finding::Fail => "fail".red().to_string(),
    };
    let head = format!("{finding}  {:<10}  {}", check.name, check.message);
    match &check.fix {
        Some(fix) => format!("{head}\n{:18}→ {fix}", ""),
        None => head,
    }
}
