//! `heal`: has the server look at jobs that have not ended, and end those that nothing can come of any more.

use countersign_api::{HealAction, HealReport, HealRequest};
use countersign_core::visible::visible;
use serde_json::json;

use super::lookup;
use crate::Call;
use crate::connection::Connection;
use crate::exit::Exit;

/// How to heal.
#[derive(Debug, clap::Args)]
pub struct Heal {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Look at the jobs of every folder
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Heal) -> anyhow::Result<Exit> {
    let connection = call.connect_or_start().await?;
    let directory = lookup::directory(call, None)?;
    let request = HealRequest {
        dry_run: arguments.dry_run,
        all: arguments.all,
        directory: directory.to_str().map(str::to_owned),
    };
    let report = ask(&connection, &request).await?;
    if call.json() {
        let told = json!({
            "workspaceRoot": lookup::root(&directory), "dryRun": report.dry_run,
            "scanned": report.scanned, "actions": report.actions,
        });
        call.output.json(&told.to_string())?;
        return Ok(Exit::Success);
    }
    call.output.line(&format!(
        "Looked at {} jobs that have not ended.",
        report.scanned
    ))?;
    for healed in &report.actions {
        let action = match healed.action {
            HealAction::HealedCompleted => "healed-completed",
            HealAction::HealedFailed => "healed-failed",
            HealAction::WouldComplete => "would-complete",
            HealAction::WouldFail => "would-fail",
        };
        call.output.line(&format!(
            "- {} {action}: {}",
            healed.id,
            visible(&healed.details)
        ))?;
    }
    if report.actions.is_empty() {
        call.output.line("All of them are well.")?;
    }
    Ok(Exit::Success)
}

/// Has the server heal.
pub(crate) async fn ask(
    connection: &Connection,
    request: &HealRequest,
) -> anyhow::Result<HealReport> {
    let patience = std::time::Duration::from_mins(1);
    let reply = connection
        .post_waiting("/api/v1/jobs/heal", request, patience)
        .await?;
    Ok(reply.value)
}
