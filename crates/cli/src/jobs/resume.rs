//! `task-resume-candidate`: the job that `task --resume last` would go on with.

use countersign_api::JobView;
use countersign_core::job::{JobKind, JobState};
use serde_json::json;

use super::lookup::{self, Listed};
use crate::Call;
use crate::exit::Exit;

/// Nothing to choose.
#[derive(Debug, clap::Args)]
pub struct Candidate {}

/// The newest task among `jobs` that has a session and is not being worked on; of the caller's own session, if that is
/// known and has one.
pub(super) fn candidate<'a>(jobs: &'a [JobView], session: Option<&str>) -> Option<&'a JobView> {
    let can_be = |view: &&JobView| {
        let is_free = match view.state {
            JobState::Completed | JobState::Failed | JobState::Cancelled => true,
            JobState::Queued | JobState::Starting | JobState::Running | JobState::Waiting => false,
        };
        is_free && view.kind == JobKind::Task && view.session.is_some()
    };
    let newest = |views: Vec<&'a JobView>| views.into_iter().max_by_key(|view| view.changed_at);
    let all: Vec<&JobView> = jobs.iter().filter(can_be).collect();
    let own = all
        .iter()
        .copied()
        .filter(|view| session.is_some() && view.group.as_deref() == session);
    newest(own.collect()).or_else(|| newest(all))
}

pub(crate) async fn run(call: &mut Call<'_>, _: Candidate) -> anyhow::Result<Exit> {
    let connection = call.connect_or_start().await?;
    let directory = lookup::directory(call, None)?;
    let jobs = lookup::list(&connection, Listed::Of(&directory)).await?;
    let session = call.surroundings.variables.session();
    let found = candidate(&jobs, session);
    if !call.json() {
        let line = match found {
            Some(view) => format!(
                "Resumable session: {} (job {})",
                view.native_session.as_deref().unwrap_or("none of its own"),
                view.id
            ),
            None => "No resumable session.".to_owned(),
        };
        call.output.line(&line)?;
        return Ok(Exit::Success);
    }
    let described = found.map(|view| {
        json!({
            "id": view.id, "status": view.state.name(), "title": view.title,
            "summary": view.summary, "threadId": view.native_session,
            "completedAt": view.ended_at, "updatedAt": view.changed_at,
        })
    });
    let told = json!({
        "available": found.is_some(),
        "jobId": found.map(|view| &view.id),
        "opencodeSessionId": found.and_then(|view| view.native_session.as_ref()),
        "sessionId": session,
        "candidate": described,
    });
    call.output.json(&told.to_string())?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::fixtures::view;

    #[test]
    fn the_newest_job_with_a_session_is_gone_on_with_and_the_callers_own_first() {
        let job = |id: &str, state: &str, at: &str, group: &str| {
            view(&json!({
                "id": id, "state": state, "phase": "done", "changed_at": at, "group": group,
                "session": "session_01jc0000000000000000000001",
            }))
        };
        let jobs = [
            job(
                "task-cccccccc-cccccc",
                "running",
                "2027-01-15T08:05:00Z",
                "a",
            ),
            job(
                "task-bbbbbbbb-bbbbbb",
                "failed",
                "2027-01-15T08:04:00Z",
                "b",
            ),
            job(
                "task-aaaaaaaa-aaaaaa",
                "completed",
                "2027-01-15T08:03:00Z",
                "a",
            ),
            view(&json!({"state": "failed", "phase": "failed"})),
        ];
        let found = |session| candidate(&jobs, session).map(|view| view.id.to_string());
        assert_eq!(found(None).as_deref(), Some("task-bbbbbbbb-bbbbbb"));
        assert_eq!(found(Some("a")).as_deref(), Some("task-aaaaaaaa-aaaaaa"));
        assert_eq!(found(Some("z")).as_deref(), Some("task-bbbbbbbb-bbbbbb"));
        assert!(candidate(&jobs[3..], None).is_none());
    }
}
