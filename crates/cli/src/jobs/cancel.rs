//! `cancel`: ends a job, and says so when it has ended.

use std::time::Duration;

use countersign_api::JobView;
use countersign_core::job::JobState;
use serde_json::json;
use tokio::time::Instant;

use super::lookup::{self, Listed};
use super::wait::until_ended;
use super::{shape, text};
use crate::Call;
use crate::exit::{Exit, Failure};

/// How long the engine may take to let go of the job.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which job.
#[derive(Debug, clap::Args)]
pub struct Cancel {
    /// The job's id, or a beginning of it that no other has; the one that is under way in this folder if it is not said
    #[arg(value_name = "ID")]
    id: Option<String>,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Cancel) -> anyhow::Result<Exit> {
    let connection = call.connect_or_start().await?;
    let view = if let Some(id) = &arguments.id {
        Some(lookup::job(&connection, id).await?.value)
    } else {
        let directory = lookup::directory(call, None)?;
        let jobs = lookup::list(&connection, Listed::AtAGlance(&directory)).await?;
        only_one(&jobs)?
    };
    let active = view.filter(|view| !view.state.is_terminal());
    let Some(view) = active else {
        if call.json() {
            call.output
                .json(&json!({"jobId": null, "status": "none"}).to_string())?;
        } else {
            call.output.line("No active job to cancel.")?;
        }
        return Ok(Exit::Success);
    };
    let had_turn = view.turn.is_some();
    let path = format!("/api/v1/jobs/{}/cancel", view.id);
    let wished: JobView = connection.post_nothing(&path).await?.value;
    let deadline = Instant::now() + PATIENCE;
    let ended = if wished.state.is_terminal() {
        wished
    } else {
        until_ended(call, connection, &view.id, deadline).await?
    };
    said(call, &ended, had_turn)
}

/// The one job that is under way.
fn only_one(jobs: &[JobView]) -> anyhow::Result<Option<JobView>> {
    let snapshot = shape::Snapshot::of(jobs, 0);
    match snapshot.running.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).clone())),
        several => {
            let mut sentence = "Multiple running jobs. Please specify a job ID prefix:".to_owned();
            for view in several {
                sentence.push_str("\n  ");
                sentence.push_str(view.id.as_str());
                sentence.push_str("  ");
                sentence.push_str(&text::one_line(&view.title));
            }
            Err(Failure::Usage(sentence).into())
        }
    }
}

fn said(call: &mut Call<'_>, view: &JobView, had_turn: bool) -> anyhow::Result<Exit> {
    let cancelled = view.state == JobState::Cancelled;
    if call.json() {
        let told = json!({
            "jobId": view.id, "status": view.state.name(), "title": view.title,
            "turnInterruptAttempted": had_turn, "turnInterrupted": had_turn && cancelled,
        });
        call.output.json(&told.to_string())?;
    } else if cancelled {
        call.output.line(&format!("Canceled job: {}", view.id))?;
    } else if view.state.is_terminal() {
        call.output.line(&format!(
            "Job {} had ended before it could be cancelled: {}",
            view.id,
            view.state.name()
        ))?;
    } else {
        call.output.line(&format!(
            "Job {} is being cancelled; its engine has not let go of it yet",
            view.id
        ))?;
        return Ok(Exit::Failed);
    }
    Ok(Exit::Success)
}
