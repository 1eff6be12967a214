//! `keep` and `discard`: what becomes of the worktree of a job.

use std::fmt::Write as _;

use countersign_api::{JobDiff, JobView};
use countersign_core::job::WorktreeFate;
use countersign_core::visible::visible;
use serde_json::json;

use super::{lookup, shape};
use crate::Call;
use crate::connection::Connection;
use crate::exit::Exit;

/// Which job.
#[derive(Debug, clap::Args)]
pub struct Fate {
    /// The job's id, or a beginning of it that no other has
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) async fn keep(call: &mut Call<'_>, arguments: Fate) -> anyhow::Result<Exit> {
    decide(call, &arguments, "keep").await
}

pub(crate) async fn discard(call: &mut Call<'_>, arguments: Fate) -> anyhow::Result<Exit> {
    decide(call, &arguments, "discard").await
}

async fn decide(call: &mut Call<'_>, arguments: &Fate, what: &str) -> anyhow::Result<Exit> {
    let connection = call.connect_or_start().await?;
    let job = lookup::job(&connection, &arguments.id).await?.value;
    let path = format!("/api/v1/jobs/{}/{what}", job.id);
    let decided: JobView = connection.post_nothing(&path).await?.value;
    if call.json() {
        let now = call.clock.now();
        let told = json!({"job": shape::job(&decided, now), "storedJob": decided});
        call.output.json(&told.to_string())?;
        return Ok(Exit::Success);
    }
    let line = match &decided.worktree {
        Some(worktree)
            if worktree.fate == WorktreeFate::Kept
                && changed_nothing(&connection, &decided).await? =>
        {
            format!(
                "{} changed nothing: the branch `{}` is where it began.",
                decided.id,
                visible(&worktree.branch)
            )
        }
        Some(worktree) if worktree.fate == WorktreeFate::Kept => format!(
            "Kept what {} changed, on the branch `{}`. Merge it with `git merge {}`.",
            decided.id,
            visible(&worktree.branch),
            visible(&worktree.branch)
        ),
        Some(_) | None => format!("Discarded what {} changed.", decided.id),
    };
    call.output.line(&line)?;
    Ok(Exit::Success)
}

/// Whether there is nothing on the branch of a job that was kept.
async fn changed_nothing(connection: &Connection, job: &JobView) -> anyhow::Result<bool> {
    let path = format!("/api/v1/jobs/{}/diff", job.id);
    let diff: JobDiff = connection.get(&path).await?.value;
    Ok(diff.files.is_empty() && !diff.truncated)
}

/// What a job changed, as people read it.
pub(super) fn difference(diff: &JobDiff) -> String {
    let mut text = "\n### Diff\n".to_owned();
    for file in &diff.files {
        write!(
            text,
            "\n{}\n{}\n",
            visible(&file.path),
            visible(&file.patch)
        )
        .expect("a String takes every write");
    }
    if diff.truncated {
        text.push_str("\n(something was left out because it is too long)\n");
    }
    text.trim_end().to_owned()
}
