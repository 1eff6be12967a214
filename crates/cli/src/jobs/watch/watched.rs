//! One watched job: what was told of it, and when more is due.

use std::time::Duration;

use countersign_api::JobView;
use countersign_core::job::JobState;
use countersign_core::time::Timestamp;
use tokio::time::Instant;

use super::line::Line;

/// How soon it is tried again when a job could not be looked at.
const AGAIN: Duration = Duration::from_millis(500);

/// A job that is watched.
pub(super) struct Watched {
    /// How it stood when it was last looked at.
    pub(super) view: JobView,
    /// Whether its end was told.
    pub(super) told_end: bool,
    /// What was told of it last, and when.
    told: Option<(JobState, String, Instant)>,
    /// Whether its state changed, or something else about it, since it was looked at.
    change: Change,
    /// When it was met, or last looked at.
    looked_at: Instant,
    not_before: Option<Instant>,
}

/// What happened to a job since it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Nothing,
    /// It did something.
    Stirred,
    /// Its state changed.
    Changed,
}

impl Watched {
    /// A job of which nothing was told yet.
    pub(super) fn new(view: JobView) -> Self {
        Self {
            view,
            told_end: false,
            told: None,
            change: Change::Changed,
            looked_at: Instant::now(),
            not_before: None,
        }
    }

    /// Its state changed.
    pub(super) fn changed(&mut self) {
        self.change = Change::Changed;
    }

    /// It did something.
    pub(super) fn stirred(&mut self) {
        if self.change == Change::Nothing {
            self.change = Change::Stirred;
        }
    }

    /// Whether it has to be looked at.
    pub(super) fn is_dirty(&self) -> bool {
        self.change != Change::Nothing
    }

    /// It was looked at.
    pub(super) fn looked(&mut self, view: JobView, now: Instant) {
        self.view = view;
        self.looked_at = now;
        self.change = Change::Nothing;
        self.not_before = None;
    }

    /// It could not be looked at.
    pub(super) fn put_off(&mut self, now: Instant) {
        self.not_before = Some(now + AGAIN);
    }

    /// When something about it is to be told.
    pub(super) fn due(&self, heartbeat: Duration, every: Duration) -> Option<Instant> {
        if self.told_end {
            return None;
        }
        let Some((_, _, told_at)) = &self.told else {
            return Some(self.not_before.unwrap_or(self.looked_at));
        };
        let due = match self.change {
            Change::Nothing => *told_at + heartbeat,
            Change::Stirred => self.looked_at.max(*told_at) + every,
            Change::Changed => *told_at,
        };
        Some(self.not_before.map_or(due, |pause| due.max(pause)))
    }

    /// Whether something about it is to be told at `now`.
    pub(super) fn is_due(&self, now: Instant, heartbeat: Duration, every: Duration) -> bool {
        self.due(heartbeat, every).is_some_and(|due| due <= now)
    }

    /// What there is to tell, if it is worth a line.
    pub(super) fn news(
        &mut self,
        now: Instant,
        heartbeat: Duration,
        time: Timestamp,
        limit: usize,
    ) -> Option<Line> {
        let state = self.view.state;
        if state.is_terminal() {
            self.told_end = true;
            return Some(Line::terminal(&self.view, time, limit));
        }
        let doing = self.view.breadcrumb.as_ref().map(|crumb| &crumb.text);
        let signature = format!("{} {}", self.view.phase.name(), doing.map_or("", |it| it));
        let (is_news, is_silent) = match &self.told {
            Some((told, said, at)) => (
                (*told, said) != (state, &signature),
                now.duration_since(*at) >= heartbeat,
            ),
            None => (true, false),
        };
        if is_news {
            self.told = Some((state, signature, now));
            return Some(Line::changed(&self.view, time));
        }
        if is_silent {
            self.told = Some((state, signature, now));
            return Some(Line::heartbeat(&self.view, time));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::fixtures::{NOW, view};
    use serde_json::json;

    const HEARTBEAT: Duration = Duration::from_mins(5);
    const EVERY: Duration = Duration::from_secs(30);

    fn running(doing: &str) -> JobView {
        view(&json!({
            "state": "running", "phase": "running",
            "breadcrumb": {"text": doing, "since": "2027-01-15T08:01:57Z"},
        }))
    }

    #[test]
    fn a_change_is_told_at_once_progress_now_and_then_and_silence_by_a_heartbeat() {
        let start = Instant::now();
        let mut job = Watched::new(running("read a"));
        assert!(job.is_due(Instant::now(), HEARTBEAT, EVERY) && job.is_dirty());
        job.looked(running("read a"), start);
        assert!(job.news(start, HEARTBEAT, NOW, 10).is_some());
        // Nothing new, nothing told.
        assert!(!job.is_due(start + EVERY, HEARTBEAT, EVERY));
        job.stirred();
        assert!(!job.is_due(start + EVERY / 2, HEARTBEAT, EVERY));
        assert!(job.is_due(start + EVERY, HEARTBEAT, EVERY));
        job.looked(running("read b"), start + EVERY);
        let said = job.news(start + EVERY, HEARTBEAT, NOW, 10).unwrap();
        assert!(said.text().contains("read b"));
        let silent = start + EVERY + HEARTBEAT;
        assert!(job.is_due(silent, HEARTBEAT, EVERY));
        let said = job.news(silent, HEARTBEAT, NOW, 10).unwrap();
        assert!(said.text().contains("heartbeat"));
        job.changed();
        assert!(job.is_due(silent, HEARTBEAT, EVERY));
        let done = view(&json!({
            "state": "completed", "phase": "done", "ended_at": "2027-01-15T08:01:58Z", "result": "done",
        }));
        job.looked(done, silent);
        let said = job.news(silent, HEARTBEAT, NOW, 10).unwrap();
        assert!(said.text().contains("TERMINAL=completed"));
        assert!(job.told_end);
        assert_eq!(job.due(HEARTBEAT, EVERY), None);
    }

    #[test]
    fn what_stirs_without_a_word_is_no_news() {
        let start = Instant::now();
        let mut job = Watched::new(running("read a"));
        job.looked(running("read a"), start);
        assert!(job.news(start, HEARTBEAT, NOW, 10).is_some());
        job.stirred();
        job.looked(running("read a"), start + EVERY);
        assert!(job.news(start + EVERY, HEARTBEAT, NOW, 10).is_none());
        // Nor is it looked at more often for that.
        job.stirred();
        assert!(!job.is_due(start + EVERY, HEARTBEAT, EVERY));
        // A line that is down is not tried without a pause.
        job.changed();
        job.put_off(start + EVERY);
        assert!(!job.is_due(start + EVERY, HEARTBEAT, EVERY));
    }
}
