//! `status`: how jobs stand, and what those that run do now.

use std::time::Duration;

use countersign_api::JobView;
use countersign_core::visible::visible;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::lookup::{self, Found, Listed};
use super::shape::{self, RECENT, Snapshot};
use super::wait::until_ended;
use super::{gate, text};
use crate::Call;
use crate::connection::Connection;
use crate::exit::Exit;

/// Which jobs.
#[derive(Debug, clap::Args)]
pub struct Status {
    /// One job: its id, or a beginning of it that no other has
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The jobs of every folder, and all that have ended lately
    #[arg(long)]
    all: bool,
    /// Wait until the job has ended
    #[arg(long, requires = "id")]
    wait: bool,
    /// For how many milliseconds to wait at most
    #[arg(long, value_name = "MS", default_value = "240000", requires = "wait")]
    timeout_ms: u64,
    /// Taken and not needed: nothing is polled
    #[arg(long, value_name = "MS", hide = true)]
    poll_interval_ms: Option<u64>,
    /// The folder whose jobs are meant
    #[arg(long, short = 'C', value_name = "DIR")]
    cwd: Option<std::path::PathBuf>,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Status) -> anyhow::Result<Exit> {
    let directory = lookup::directory(call, arguments.cwd.as_deref())?;
    let root = lookup::root(&directory);
    let root = root.to_string_lossy();
    if let Some(id) = &arguments.id {
        return one(call, &arguments, id, &root).await;
    }
    let listed = if arguments.all {
        Listed::All
    } else {
        Listed::AtAGlance(&directory)
    };
    let listing = async |connection: &Connection| lookup::list(connection, listed).await;
    let (_, jobs) = call.read_or_start(listing).await?;
    let most = if arguments.all { usize::MAX } else { RECENT };
    let snapshot = Snapshot::of(&jobs, most);
    let now = call.clock.now();
    if call.json() {
        let gate = gate::is_on(call.surroundings.data.as_deref(), &root);
        let told = snapshot.json(&root, gate, now);
        call.output.json(&told.to_string())?;
    } else {
        call.output.line(&text::snapshot(&snapshot, now))?;
    }
    Ok(Exit::Success)
}

async fn one(
    call: &mut Call<'_>,
    arguments: &Status,
    id: &str,
    root: &str,
) -> anyhow::Result<Exit> {
    let finding = async |connection: &Connection| lookup::find(connection, id).await;
    let (connection, found) = call.read_or_start(finding).await?;
    let view = match found {
        Found::Job(reply) => reply.value,
        // Scripts that watch a job rely on an answer here.
        Found::Unknown => {
            if call.json() {
                told(call, &json!({"workspaceRoot": root, "job": null}))?;
            } else {
                let line = format!("No job found for \"{}\".", visible(id));
                call.output.line(&line)?;
            }
            return Ok(Exit::Success);
        }
        Found::Ambiguous(sentence) => {
            if call.json() {
                let told = json!({"workspaceRoot": root, "job": null, "error": "ambiguous"});
                call.output.json(&told.to_string())?;
            }
            call.output.note(&sentence)?;
            return Ok(Exit::Usage);
        }
    };
    let limit = arguments
        .wait
        .then(|| Duration::from_millis(arguments.timeout_ms));
    let view: JobView = match limit {
        Some(limit) if !view.state.is_terminal() => {
            until_ended(call, connection, &view.id, Instant::now() + limit).await?
        }
        Some(_) | None => view,
    };
    let now = call.clock.now();
    if call.json() {
        let mut answer = json!({"workspaceRoot": root, "job": shape::job(&view, now)});
        if limit.is_some() {
            answer["waitTimedOut"] = json!(!view.state.is_terminal());
            answer["timeoutMs"] = json!(arguments.timeout_ms);
        }
        told(call, &answer)?;
    } else {
        call.output.line(&text::whole(&view, now))?;
    }
    Ok(Exit::Success)
}

fn told(call: &mut Call<'_>, answer: &Value) -> anyhow::Result<()> {
    call.output.json(&answer.to_string())?;
    Ok(())
}
