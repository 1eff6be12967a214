//! How often the same kind of change is told: at once, and then once in a while. What comes meanwhile is held back and
//! told when that time is over, so that no change is the last one and never told. It is looked at when somebody asks or
//! something changes; nothing runs for it.

use std::time::Duration;

use countersign_core::time::Timestamp;

use super::News;

/// How long after a change the next one of its kind is held back.
const APART: Duration = Duration::from_millis(750);

/// What was told not long ago, and what is held back for it.
#[derive(Default)]
pub(super) struct Pace(Vec<Told>);

struct Told {
    news: News,
    /// Until when the next one is held back.
    until: Timestamp,
    held: Option<News>,
}

impl Pace {
    /// Returns `news` if it may be told now; else it is held back, in the place of what was held back before.
    pub(super) fn take(&mut self, news: News, now: Timestamp) -> Option<News> {
        let same = |told: &&mut Told| {
            told.news.workspace == news.workspace && told.news.reason == news.reason
        };
        if let Some(told) = self.0.iter_mut().find(same) {
            told.held = Some(news);
            return None;
        }
        self.0.push(Told {
            news: news.clone(),
            until: now.after(APART),
            held: None,
        });
        Some(news)
    }

    /// What was held back long enough, in the order of its time. It holds back the next one in turn.
    pub(super) fn due(&mut self, now: Timestamp) -> Vec<(News, Timestamp)> {
        let mut due = Vec::new();
        self.0.retain_mut(|told| {
            if told.until > now {
                return true;
            }
            let Some(held) = told.held.take() else {
                return false;
            };
            due.push((held, told.until));
            told.until = told.until.after(APART);
            told.until > now
        });
        due.sort_by_key(|(_, at)| *at);
        due
    }
}
