//! Jobs as people and scripts read them: the markers of the companion plugins.

use std::fmt::Write as _;

use countersign_api::JobView;
use countersign_core::job::{JobFailure, JobKind, JobState, WorktreeFate};
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;

use super::review::verdict;
use super::shape::{Snapshot, elapsed, preview};
use crate::duration::spoken;

/// A length of time as the companion plugins write it.
pub(super) fn spoken_elapsed(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600.. => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// How long ago something was.
pub(super) fn age(then: Timestamp, now: Timestamp) -> String {
    format!("{} ago", spoken(now.since(then)))
}

/// What people call an engine.
pub(super) fn engine_name(engine: &str) -> String {
    match engine {
        "opencode" => "OpenCode".to_owned(),
        other => visible(other).into_owned(),
    }
}

/// Why a job failed, with what to do about it.
pub(super) fn reason(failure: &JobFailure) -> String {
    let message = visible(failure.message.trim()).into_owned();
    match failure.hint.trim() {
        "" => message,
        hint => format!("{message}\n→ {}", visible(hint)),
    }
}

/// All jobs at a glance.
pub(super) fn snapshot(snapshot: &Snapshot<'_>, now: Timestamp) -> String {
    let mut lines = Vec::new();
    if !snapshot.running.is_empty() {
        lines.push("## Running Jobs\n".to_owned());
        for view in &snapshot.running {
            lines.push(running_line(view, now));
        }
        lines.push(String::new());
    }
    if let Some(latest) = snapshot.finished.first() {
        lines.push("## Latest Finished\n".to_owned());
        lines.push(finished_line(latest, now));
        if let Some(failure) = &latest.failure {
            lines.push(format!("  Error: {}", indented(&reason(failure))));
        }
        lines.push(String::new());
    }
    if snapshot.finished.len() > 1 {
        lines.push("## Recent Jobs\n".to_owned());
        let older = snapshot.finished.iter().skip(1);
        lines.extend(older.map(|view| finished_line(view, now)));
        lines.push(String::new());
    }
    if lines.is_empty() {
        return "No jobs found for this workspace.".to_owned();
    }
    lines.join("\n").trim_end().to_owned()
}

fn running_line(view: &JobView, now: Timestamp) -> String {
    let mut line = format!(
        "- **{}** ({}) — {} — {}",
        view.id,
        view.kind.prefix(),
        view.phase.name(),
        spoken_elapsed(elapsed(view, now))
    );
    if let Some(place) = view.queue_place {
        write!(line, ", {place} before it").expect("a String takes every write");
    }
    if let Some(preview) = preview(view, now) {
        line.push_str("\n  > ");
        line.push_str(&one_line(&preview));
    }
    for ask in &view.open_asks {
        write!(
            line,
            "\n  > answer with `countersign show {ask}`, then allow or deny"
        )
        .expect("a String takes every write");
    }
    line
}

fn finished_line(view: &JobView, now: Timestamp) -> String {
    format!(
        "- **{}** ({}) — {} — {}",
        view.id,
        view.kind.prefix(),
        view.state.name(),
        spoken_elapsed(elapsed(view, now))
    )
}

/// One job with everything about it: its output, or its error, or what it does now.
pub(super) fn whole(view: &JobView, now: Timestamp) -> String {
    let mut text = head(view, now);
    match view.state {
        JobState::Completed => text.push_str(&format_output(view)),
        JobState::Failed | JobState::Cancelled => {
            text.push_str("\n### Error\n\n");
            text.push_str(&why(view));
            text.push('\n');
            if let Some(partial) = view
                .result
                .as_deref()
                .filter(|words| !words.trim().is_empty())
            {
                text.push_str("\n### Partial Output\n\n");
                text.push_str(&visible(partial.trim_end()));
                text.push('\n');
            }
            text.push_str("\nGo on with it: `countersign task --resume ");
            text.push_str(view.id.as_str());
            text.push_str(" …`\n");
        }
        JobState::Queued | JobState::Starting | JobState::Running | JobState::Waiting => {
            if let Some(preview) = preview(view, now) {
                text.push_str("\n> ");
                text.push_str(&one_line(&preview));
                text.push('\n');
            }
            for ask in &view.open_asks {
                writeln!(
                    text,
                    "\nAn answer is wanted: `countersign show {ask}`, or `countersign attach {}`",
                    view.id
                )
                .expect("a String takes every write");
            }
        }
    }
    text.push_str(&changes(view));
    text.trim_end().to_owned()
}

fn head(view: &JobView, now: Timestamp) -> String {
    let mut text = format!(
        "## Job: {}\n\n- **Type**: {}\n- **Status**: {}\n- **Duration**: {}\n",
        view.id,
        view.kind.prefix(),
        view.state.name(),
        spoken_elapsed(elapsed(view, now))
    );
    let mut add = |name: &str, value: &str| {
        writeln!(text, "- **{name}**: {}", one_line(value)).expect("a String takes every write");
    };
    if !view.state.is_terminal() {
        add("Phase", view.phase.name());
    }
    if view.engine != "opencode" {
        add("Engine", &view.engine);
    }
    if let Some(session) = &view.native_session {
        add(&format!("{} Session", engine_name(&view.engine)), session);
    }
    if let Some(worktree) = &view.worktree {
        add(
            "Worktree",
            &format!("{} on {}", worktree.path, worktree.branch),
        );
    }
    text
}

fn format_output(view: &JobView) -> String {
    format!("\n### Output\n\n{}\n", output(view))
}

/// What a job came to: its last words, or a review made of them.
pub(super) fn output(view: &JobView) -> String {
    let words = view.result.as_deref().unwrap_or_default().trim_end();
    if words.is_empty() {
        return "(the agent ended its turn without a word)".to_owned();
    }
    match view.kind {
        JobKind::Task => visible(words).into_owned(),
        JobKind::Review | JobKind::AdversarialReview => verdict::rendered(words),
    }
}

/// Why a job that has ended did not complete.
pub(super) fn why(view: &JobView) -> String {
    match (&view.failure, &view.cancelled_by) {
        (Some(failure), _) => reason(failure),
        (None, Some(by)) => format!("Canceled by {}", visible(by)),
        (None, None) => "Unknown error".to_owned(),
    }
}

fn changes(view: &JobView) -> String {
    let mut text = String::new();
    if !view.changed_files.is_empty() {
        text.push_str("\n### Changed Files\n\n");
        for file in &view.changed_files {
            let counts = match (file.added, file.removed) {
                (None, None) => String::new(),
                (added, removed) => {
                    format!(" (+{} −{})", added.unwrap_or(0), removed.unwrap_or(0))
                }
            };
            writeln!(text, "- {}{counts}", one_line(&file.path))
                .expect("a String takes every write");
        }
    }
    if let Some(worktree) = &view.worktree
        && view.state.is_terminal()
    {
        let fate = match worktree.fate {
            WorktreeFate::Open => format!(
                "Its changes wait in {}: `countersign keep {id}` commits them on `{}`, `countersign discard {id}` throws them away.",
                one_line(&worktree.path),
                one_line(&worktree.branch),
                id = view.id
            ),
            WorktreeFate::Kept => {
                format!("Its changes were kept on `{}`.", one_line(&worktree.branch))
            }
            WorktreeFate::Discarded => "Its changes were discarded.".to_owned(),
        };
        text.push('\n');
        text.push_str(&fate);
        text.push('\n');
    }
    text
}

/// `text` on one line, with nothing in it that could fool a reader.
pub(super) fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&joined).into_owned()
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::fixtures::{NOW, view};
    use serde_json::json;

    #[test]
    fn lengths_are_written_as_scripts_know_them() {
        for (milliseconds, said) in [
            (0, "0s"),
            (59_999, "59s"),
            (62_000, "1m 2s"),
            (3_660_000, "1h 1m"),
        ] {
            assert_eq!(spoken_elapsed(milliseconds), said);
        }
    }

    #[test]
    fn a_finished_job_has_its_markers_and_its_output() {
        let done = view(&json!({
            "state": "completed", "phase": "done", "ended_at": "2027-01-15T08:01:02Z",
            "native_session": "ses_1", "result": "All tests pass.\n",
            "changed_files": [{"path": "src/a.rs", "added": 3, "removed": 1}],
        }));
        assert_eq!(
            whole(&done, NOW),
            "## Job: task-mi0jqlw9-abc123\n\n- **Type**: task\n- **Status**: completed\n- **Duration**: 1m 2s\n\
             - **OpenCode Session**: ses_1\n\n### Output\n\nAll tests pass.\n\n### Changed Files\n\n- src/a.rs (+3 −1)"
        );
    }

    #[test]
    fn a_failed_job_says_why_what_to_do_and_what_it_had_said() {
        let failed = view(&json!({
            "state": "failed", "phase": "failed", "ended_at": "2027-01-15T08:01:02Z",
            "failure": {"code": "provider", "message": "insufficient quota", "hint": "check the quota"},
            "result": "I began with",
        }));
        let text = whole(&failed, NOW);
        for part in [
            "- **Status**: failed",
            "### Error\n\ninsufficient quota\n→ check the quota\n",
            "### Partial Output\n\nI began with\n",
            "--resume task-mi0jqlw9-abc123",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        assert!(!text.contains("### Output"));
    }

    #[test]
    fn what_runs_is_shown_with_what_it_does_and_what_it_waits_for() {
        let jobs = [view(&json!({
            "state": "waiting", "phase": "waiting",
            "breadcrumb": {"text": "waiting for you: edit src/a.rs\u{202e}", "since": "2027-01-15T08:01:57Z"},
            "open_asks": ["ask_01jc0000000000000000k3v9qa"],
        }))];
        let text = snapshot(&Snapshot::of(&jobs, 5), NOW);
        assert!(
            text.starts_with(
                "## Running Jobs\n\n- **task-mi0jqlw9-abc123** (task) — waiting — 2m 0s\n  > "
            ),
            "{text}"
        );
        assert!(
            text.contains("waiting for you: edit src/a.rs⟨U+202E⟩ (3 s ago)"),
            "{text}"
        );
        assert!(text.contains("countersign show ask_01jc"), "{text}");
        let none = snapshot(&Snapshot::of(&[], 5), NOW);
        assert_eq!(none, "No jobs found for this workspace.");
    }
}
