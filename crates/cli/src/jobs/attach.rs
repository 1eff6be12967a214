//! `attach`: a job as it goes on, with its asks answered right there.

use countersign_api::JobView;
use countersign_core::job::JobState;
use owo_colors::OwoColorize as _;

use super::progress::{Pursuit, job_is_kept};
use super::{lookup, text};
use crate::Call;
use crate::exit::Exit;
use crate::follow::Follow;
use crate::prompt::live::{self, Attached};

/// Which job.
#[derive(Debug, clap::Args)]
pub struct Attach {
    /// The job's id, or a beginning of it that no other has
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Attach) -> anyhow::Result<Exit> {
    let connection = call.connect_or_start().await?;
    let job = lookup::job(&connection, &arguments.id).await?.value;
    let mut pursuit = Pursuit::begin(&connection, &job.id).await?;
    pursuit.tell(call).await?;
    // A job that waits for its place has nothing to show yet.
    while !pursuit.has_ended() && pursuit.view.session.is_none() {
        pursuit.next(call).await?;
        pursuit.tell(call).await?;
    }
    if let (Some(session), Some(turn)) = (pursuit.view.session, pursuit.view.turn) {
        let follow = Follow::begin(&connection)
            .await?
            .advising(job_is_kept(&job.id));
        let view: JobView = lookup::job(&connection, job.id.as_str()).await?.value;
        let attached = Attached {
            session,
            turn,
            asks: view.open_asks,
        };
        let left = live::attach(call, &connection, follow, &attached).await?;
        if left == live::Left::ByInterrupt {
            let line = format!(
                "Left; the job goes on. `countersign attach {}` comes back",
                job.id
            );
            call.output.note(&line)?;
            return Ok(Exit::Success);
        }
    }
    while !pursuit.has_ended() {
        pursuit.next(call).await?;
    }
    ended(call, &pursuit.view)
}

fn ended(call: &mut Call<'_>, view: &JobView) -> anyhow::Result<Exit> {
    let (exit, line) = match view.state {
        JobState::Completed => (
            Exit::Success,
            format!("Job {} completed", view.id).dimmed().to_string(),
        ),
        JobState::Queued
        | JobState::Starting
        | JobState::Running
        | JobState::Waiting
        | JobState::Failed
        | JobState::Cancelled => (
            Exit::Failed,
            format!(
                "{}: job {} {}: {}",
                "error".red(),
                view.id,
                view.state.name(),
                text::why(view)
            ),
        ),
    };
    call.output.note(&line)?;
    Ok(exit)
}
