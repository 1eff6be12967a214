//! The lines that a monitor reads: one line each, whatever is in it.

use countersign_api::{AskView, JobView};
use countersign_core::job::JobState;
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;
use serde_json::{Value, json};

use crate::jobs::shape;
use crate::jobs::text::{one_line, output, spoken_elapsed, why};

/// What stands where a line ended.
const LINE_END: &str = " ⏎ ";

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    at: Timestamp,
    event: Told,
    subject: String,
    text: String,
    more: Value,
}

/// What is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Changed,
    Heartbeat,
    Terminal,
    Timeout,
    Ask,
}

impl Told {
    const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Heartbeat => "heartbeat",
            Self::Terminal => "terminal",
            Self::Timeout => "timeout",
            Self::Ask => "ask",
        }
    }
}

impl Line {
    /// The job stands otherwise than before.
    pub(super) fn changed(view: &JobView, now: Timestamp) -> Self {
        let doing = shape::preview(view, now).map(|preview| one_line(&preview));
        let doing = doing.map_or_else(String::new, |doing| format!(" — {doing}"));
        let text = format!("{}{doing}", standing(view, now));
        Self::of(view, now, Told::Changed, format!(": {text}"))
    }

    /// Nothing changed, and it is well.
    pub(super) fn heartbeat(view: &JobView, now: Timestamp) -> Self {
        let text = format!(": heartbeat — still {}", standing(view, now));
        Self::of(view, now, Told::Heartbeat, text)
    }

    /// The job has ended; at most `limit` characters of what it came to are on the line.
    pub(super) fn terminal(view: &JobView, now: Timestamp, limit: usize) -> Self {
        let whole = if view.state == JobState::Completed {
            output(view)
        } else {
            why(view)
        };
        let (result, left) = bounded(&whole, limit);
        let more = if left == 0 {
            String::new()
        } else {
            format!(
                " … ({left} more characters: `countersign result {}`)",
                view.id
            )
        };
        let text = format!(
            " TERMINAL={} (elapsed {}) — {result}{more}",
            view.state.name(),
            elapsed(view, now)
        );
        let mut line = Self::of(view, now, Told::Terminal, text);
        line.more["result"] = json!(result);
        line.more["truncated"] = json!(left > 0);
        line
    }

    /// Watching ends, and the job has not.
    pub(super) fn timeout(view: &JobView, now: Timestamp, limit: u64) -> Self {
        let text = format!(
            " TERMINAL=timeout — watched for {limit} s and stops; the job goes on (last status: {}/{}). \
             `countersign wait-and-result {}` waits for it",
            view.state.name(),
            view.phase.name(),
            view.id
        );
        Self::of(view, now, Told::Timeout, text)
    }

    /// Watching ends, and no job was under way.
    pub(super) fn nothing_watched(now: Timestamp, limit: u64) -> Self {
        Self {
            at: now,
            event: Told::Timeout,
            subject: "countersign".to_owned(),
            text: format!(
                " TERMINAL=timeout — watched for {limit} s and stops; no job is under way"
            ),
            more: json!({}),
        }
    }

    /// An ask of a session without a job is open.
    pub(super) fn ask(ask: &AskView, now: Timestamp) -> Self {
        let summary = one_line(&ask.summary);
        Self {
            at: now,
            event: Told::Ask,
            subject: format!("ask {}", ask.id),
            text: format!(": {summary} — `countersign show {}`", ask.id),
            more: json!({"ask": ask.id, "session": ask.session, "summary": summary}),
        }
    }

    fn of(view: &JobView, now: Timestamp, event: Told, text: String) -> Self {
        let doing = shape::preview(view, now).map(|preview| one_line(&preview));
        Self {
            at: now,
            event,
            subject: format!("{} {}", one_line(&view.engine), view.id),
            text,
            more: json!({
                "job": view.id, "status": view.state.name(), "phase": view.phase.name(),
                "elapsed": elapsed(view, now), "progress": doing, "openAsks": view.open_asks,
            }),
        }
    }

    /// Whether somebody is wanted for it, or has waited for it.
    pub(super) fn is_pressing(&self) -> bool {
        match self.event {
            Told::Terminal | Told::Timeout | Told::Ask => true,
            Told::Changed => self.more["status"] == JobState::Waiting.name(),
            Told::Heartbeat => false,
        }
    }

    /// For people and models.
    pub(super) fn text(&self) -> String {
        let at = self.at.to_string();
        let clock = at.get(11..19).unwrap_or(&at);
        format!("[{clock}] {}{}", self.subject, self.text)
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let mut value = self.more.clone();
        value["at"] = json!(self.at);
        value["event"] = json!(self.event.name());
        value["text"] = json!(self.text());
        value
    }
}

fn elapsed(view: &JobView, now: Timestamp) -> String {
    spoken_elapsed(shape::elapsed(view, now))
}

fn standing(view: &JobView, now: Timestamp) -> String {
    format!(
        "{}/{} (elapsed {})",
        view.state.name(),
        view.phase.name(),
        elapsed(view, now)
    )
}

/// `text` on one line with at most `limit` characters, and how many are left out.
fn bounded(text: &str, limit: usize) -> (String, usize) {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let joined = visible(&lines.join(LINE_END)).into_owned();
    let count = joined.chars().count();
    let kept = joined.chars().take(limit).collect();
    (kept, count.saturating_sub(limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::fixtures::{NOW, view};

    #[test]
    fn every_line_is_one_line_and_names_the_job() {
        let running = view(&json!({
            "state": "running", "phase": "verifying",
            "breadcrumb": {"text": "bash: cargo\ntest", "since": "2027-01-15T08:01:57Z"},
        }));
        assert_eq!(
            Line::changed(&running, NOW).text(),
            "[08:02:00] opencode task-mi0jqlw9-abc123: running/verifying (elapsed 2m 0s) — bash: cargo test (3 s ago)"
        );
        assert_eq!(
            Line::heartbeat(&running, NOW).text(),
            "[08:02:00] opencode task-mi0jqlw9-abc123: heartbeat — still running/verifying (elapsed 2m 0s)"
        );
        let timeout = Line::timeout(&running, NOW, 60).text();
        assert!(timeout.contains(" TERMINAL=timeout — "), "{timeout}");
        let waiting = view(&json!({"state": "waiting", "phase": "waiting"}));
        assert!(Line::changed(&waiting, NOW).is_pressing());
        assert!(!Line::changed(&running, NOW).is_pressing());
        assert!(!Line::heartbeat(&waiting, NOW).is_pressing());
        assert!(Line::terminal(&running, NOW, 10).is_pressing());
    }

    #[test]
    fn the_last_line_has_the_result_and_no_more_of_it_than_wished() {
        let done = view(&json!({
            "state": "completed", "phase": "done", "ended_at": "2027-01-15T08:01:02Z",
            "result": "one\ntwo\nthree",
        }));
        let line = Line::terminal(&done, NOW, 1_500);
        assert_eq!(
            line.text(),
            "[08:02:00] opencode task-mi0jqlw9-abc123 TERMINAL=completed (elapsed 1m 2s) — one ⏎ two ⏎ three"
        );
        let cut = Line::terminal(&done, NOW, 5);
        assert!(
            cut.text().contains("— one ⏎ … (12 more characters"),
            "{}",
            cut.text()
        );
        assert_eq!(cut.json()["truncated"], true);
        assert_eq!(cut.json()["event"], "terminal");
        let failed = view(&json!({
            "state": "failed", "phase": "failed", "ended_at": "2027-01-15T08:01:02Z",
            "failure": {"code": "idle", "message": "nothing was heard", "hint": "resume it"},
        }));
        let line = Line::terminal(&failed, NOW, 1_500).text();
        assert!(line.contains("TERMINAL=failed"), "{line}");
        assert!(line.ends_with("nothing was heard ⏎ → resume it"), "{line}");
    }
}
