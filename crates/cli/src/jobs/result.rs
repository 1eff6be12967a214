//! `result`: what a job came to.

use countersign_api::JobView;
use serde_json::json;

use super::lookup::{self, Found, Listed};
use super::{shape, text};
use crate::Call;
use crate::connection::{Connection, Reply};
use crate::exit::{Exit, Failure};

/// Which job.
#[derive(Debug, clap::Args)]
pub struct Results {
    /// The job's id, or a beginning of it that no other has; the one that ended last in this folder if it is not said
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The changes too, as a diff
    #[arg(long)]
    diff: bool,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Results) -> anyhow::Result<Exit> {
    let connection = call.connect_or_start().await?;
    let view = if let Some(id) = &arguments.id {
        named(&connection, id).await?
    } else {
        let directory = lookup::directory(call, None)?;
        let jobs = lookup::list(&connection, Listed::Of(&directory)).await?;
        let newest = shape::Snapshot::of(&jobs, 1).finished.first().copied();
        let Some(newest) = newest else {
            if call.json() {
                call.output.json(&json!({"job": null}).to_string())?;
            } else {
                call.output.line("No finished job found.")?;
            }
            return Ok(Exit::Success);
        };
        // Lists leave the report out.
        lookup::job(&connection, newest.id.as_str()).await?.value
    };
    if !view.state.is_terminal() {
        let sentence = format!(
            "job {} is still {}; `countersign wait-and-result {}` waits for it",
            view.id,
            view.state.name(),
            view.id
        );
        if call.json() {
            let now = call.clock.now();
            let told = json!({"job": shape::job(&view, now), "error": sentence});
            call.output.json(&told.to_string())?;
        }
        return Err(anyhow::anyhow!(sentence));
    }
    print(call, &view)?;
    if arguments.diff && !call.json() {
        let path = format!("/api/v1/jobs/{}/diff", view.id);
        let diff: Reply<countersign_api::JobDiff> = connection.get(&path).await?;
        call.output.line(&super::fate::difference(&diff.value))?;
    }
    Ok(Exit::Success)
}

async fn named(connection: &Connection, id: &str) -> anyhow::Result<JobView> {
    match lookup::find(connection, id).await? {
        Found::Job(reply) => Ok(reply.value),
        Found::Unknown => Err(Failure::NotFound(lookup::unknown(id)).into()),
        Found::Ambiguous(_) => {
            let sentence = "Ambiguous job reference. Please provide a more specific ID prefix.";
            Err(Failure::Usage(sentence.to_owned()).into())
        }
    }
}

/// Prints a job that has ended.
pub(super) fn print(call: &mut Call<'_>, view: &JobView) -> anyhow::Result<()> {
    let now = call.clock.now();
    if call.json() {
        let told = json!({"job": shape::job(view, now), "storedJob": view});
        call.output.json(&told.to_string())?;
    } else {
        call.output.line(&text::whole(view, now))?;
    }
    Ok(())
}
