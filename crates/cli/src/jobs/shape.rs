//! Jobs in the JSON that the companion plugins print: their names for things, and ours beside them.

use countersign_api::JobView;
use countersign_core::job::{Access, Resume};
use countersign_core::time::Timestamp;
use serde_json::{Map, Value, json};

use super::safety::without_header;
use super::text::{age, spoken_elapsed};

/// How many finished jobs are listed if not all are wished for.
pub(super) const RECENT: usize = 5;

/// A job.
pub(super) fn job(view: &JobView, now: Timestamp) -> Value {
    let mut whole = Map::new();
    for part in [what(view), standing(view, now), outcome(view)] {
        if let Value::Object(part) = part {
            whole.extend(part);
        }
    }
    Value::Object(whole)
}

/// What it is, and with what it was handed in.
fn what(view: &JobView) -> Value {
    let resumed = view.resume.as_ref().map(resumed);
    let is_write = view.access == Access::Write;
    json!({
        "id": view.id, "type": view.kind.prefix(), "kind": view.kind.prefix(),
        "kindLabel": view.kind.prefix(), "jobClass": view.kind.prefix(), "title": view.title,
        "sessionId": view.group, "workspaceRoot": view.workspace_path, "directory": view.directory,
        "engine": view.engine, "agent": view.agent, "model": view.model, "effort": view.effort,
        "write": is_write, "onAsk": view.on_ask, "priority": view.priority,
        "resumeSessionId": resumed,
        "request": {
            "taskText": without_header(&view.prompt), "agentName": view.agent,
            "isWrite": is_write, "resumeSessionId": resumed, "model": view.model,
        },
        "pid": null, "logFile": null, "logs": format!("countersign logs {}", view.id),
    })
}

/// How it stands, and since when.
fn standing(view: &JobView, now: Timestamp) -> Value {
    let elapsed = elapsed(view, now);
    json!({
        "status": view.state.name(), "phase": view.phase.name(),
        "opencodeSessionId": view.native_session, "threadId": view.native_session,
        "session": view.session, "turn": view.turn, "queuePlace": view.queue_place,
        "createdAt": view.created_at, "startedAt": view.started_at, "updatedAt": view.changed_at,
        "completedAt": view.ended_at, "deadline": view.deadline,
        "cancelledAt": view.cancelled_by.as_ref().and(view.ended_at),
        "elapsedMs": elapsed, "elapsed": spoken_elapsed(elapsed),
        "duration": view.ended_at.map(|_| spoken_elapsed(elapsed)),
        "breadcrumb": view.breadcrumb, "progressPreview": preview(view, now),
        "openAsks": view.open_asks,
    })
}

/// What it came to.
fn outcome(view: &JobView) -> Value {
    let error = view.failure.as_ref().map(|failure| failure.message.clone());
    let error = error.or_else(|| {
        let by = view.cancelled_by.as_ref()?;
        view.ended_at.map(|_| format!("Canceled by {by}"))
    });
    json!({
        "summary": view.summary, "result": view.result, "changedFiles": view.changed_files,
        "errorMessage": error, "failure": view.failure, "usage": view.usage,
        "worktree": view.worktree,
    })
}

fn resumed(resume: &Resume) -> String {
    match resume {
        Resume::Job(job) => job.to_string(),
        Resume::Session(session) => session.to_string(),
    }
}

/// How many milliseconds the job has taken, or took.
pub(super) fn elapsed(view: &JobView, now: Timestamp) -> u64 {
    let until = view.ended_at.unwrap_or(now);
    u64::try_from(until.since(view.created_at).as_millis()).unwrap_or(u64::MAX)
}

/// What the job does now and since when, on one line.
pub(super) fn preview(view: &JobView, now: Timestamp) -> Option<String> {
    let crumb = view.breadcrumb.as_ref()?;
    Some(format!("{} ({})", crumb.text, age(crumb.since, now)))
}

/// All jobs of a workspace at a glance.
#[derive(Debug)]
pub(super) struct Snapshot<'a> {
    /// Those that have not ended, the newest first.
    pub(super) running: Vec<&'a JobView>,
    /// Those that have, the newest first.
    pub(super) finished: Vec<&'a JobView>,
}

impl<'a> Snapshot<'a> {
    /// Parts `jobs`, which are the newest first, into those that have ended and those that have not.
    pub(super) fn of(jobs: &'a [JobView], most: usize) -> Self {
        let (mut finished, running): (Vec<_>, Vec<_>) =
            jobs.iter().partition(|view| view.state.is_terminal());
        finished.sort_by_key(|view| std::cmp::Reverse(view.ended_at));
        finished.truncate(most);
        Self { running, finished }
    }

    /// The same in JSON.
    pub(super) fn json(&self, root: &str, review_gate: bool, now: Timestamp) -> Value {
        let all = |views: &[&JobView]| -> Vec<Value> {
            views.iter().map(|view| job(view, now)).collect()
        };
        json!({
            "workspaceRoot": root,
            "config": {"reviewGate": review_gate, "stopReviewGate": review_gate},
            "running": all(&self.running),
            "latestFinished": self.finished.first().map(|view| job(view, now)),
            "recent": all(&self.finished),
            "needsReview": review_gate,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::fixtures::{NOW, view};

    #[test]
    fn a_job_has_the_names_that_scripts_look_for() {
        let running = view(&json!({
            "state": "running", "phase": "verifying", "native_session": "ses_1", "group": "claude-1",
            "breadcrumb": {"text": "bash: cargo test", "since": "2027-01-15T08:01:57Z"},
        }));
        let job = job(&running, NOW);
        for (name, value) in [
            ("type", json!("task")),
            ("status", json!("running")),
            ("phase", json!("verifying")),
            ("opencodeSessionId", json!("ses_1")),
            ("sessionId", json!("claude-1")),
            ("elapsed", json!("2m 0s")),
            ("elapsedMs", json!(120_000)),
            ("progressPreview", json!("bash: cargo test (3 s ago)")),
            ("completedAt", Value::Null),
            ("write", json!(true)),
        ] {
            assert_eq!(job[name], value, "{name}");
        }
        assert_eq!(job["request"]["taskText"], "make the tests pass");
    }

    #[test]
    fn a_snapshot_parts_what_runs_from_what_has_ended_newest_first() {
        let ended = |id: &str, at: &str| {
            view(&json!({"id": id, "state": "completed", "phase": "done", "ended_at": at}))
        };
        let jobs = [
            view(&json!({"state": "waiting", "phase": "waiting"})),
            ended("task-aaaaaaaa-aaaaaa", "2027-01-15T08:00:10Z"),
            ended("task-bbbbbbbb-bbbbbb", "2027-01-15T08:01:10Z"),
        ];
        let snapshot = Snapshot::of(&jobs, RECENT).json("/srv/proj", false, NOW);
        assert_eq!(snapshot["running"].as_array().unwrap().len(), 1);
        assert_eq!(snapshot["latestFinished"]["id"], "task-bbbbbbbb-bbbbbb");
        assert_eq!(snapshot["recent"][1]["id"], "task-aaaaaaaa-aaaaaa");
        assert_eq!(snapshot["workspaceRoot"], "/srv/proj");
        let none = Snapshot::of(&[], RECENT).json("/srv/proj", true, NOW);
        assert_eq!(none["latestFinished"], Value::Null);
        assert_eq!(none["config"]["reviewGate"], true);
    }
}
