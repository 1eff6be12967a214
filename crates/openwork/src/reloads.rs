//! Events: what changed in workspaces that an engine has to load anew. They are few, and only the newest are kept.
//!
//! 0.1 tells of writes that went through the server. 0.13 also tells of what somebody changed on the disk (`noticed`), and
//! of each kind of change once in a while (`pace`).

mod noticed;
mod pace;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use countersign_core::time::{Clock, Timestamp};
use serde::Serialize;

use crate::compat::Compat;
use crate::roster::Seat;
use crate::wire_time::millis;
use noticed::Noticed;
use pace::Pace;

/// How many are kept.
const KEPT: usize = 200;

/// What kind of thing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reason {
    Plugins,
    Skills,
    Mcp,
    Config,
    Agents,
    Commands,
}

/// What changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Trigger {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    pub(crate) action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

/// That something changed, before it has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct News {
    workspace: String,
    reason: Reason,
    trigger: Trigger,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    id: String,
    seq: u64,
    workspace_id: String,
    reason: Reason,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<Trigger>,
    timestamp: i64,
}

/// What a client is told of events.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Told {
    items: Vec<Event>,
    cursor: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled: Option<bool>,
}

/// The newest events of all workspaces.
pub(crate) struct Reloads {
    compat: Compat,
    clock: Clock,
    kept: Mutex<Kept>,
    noticed: Noticed,
}

#[derive(Default)]
struct Kept {
    seq: u64,
    events: VecDeque<Event>,
    pace: Pace,
    /// What was announced since somebody last looked: what is then found on the disk is that.
    announced: Vec<(String, Reason)>,
}

impl Reloads {
    pub(crate) fn new(compat: Compat, clock: Clock) -> Self {
        Self {
            compat,
            clock,
            kept: Mutex::default(),
            noticed: Noticed::default(),
        }
    }

    /// Announces that something changed in `workspace`.
    pub(crate) fn announce(&self, workspace: &str, reason: Reason, trigger: Trigger) {
        let now: Timestamp = self.clock.now();
        let news = News {
            workspace: workspace.to_owned(),
            reason,
            trigger,
        };
        let mut kept = self.lock();
        if !self.compat.is_scoped() {
            kept.push(news, now);
            return;
        }
        let announced = (workspace.to_owned(), reason);
        if !kept.announced.contains(&announced) {
            kept.announced.push(announced);
        }
        kept.take(news, now);
    }

    /// Takes note of what is on the disk, so that a change is noticed from now on. It waits for the disk.
    pub(crate) fn begin(&self, seat: &Seat) {
        if self.compat.is_scoped() {
            self.noticed.begin(seat);
        }
    }

    /// The events of `seat` after number `since`. It waits for the disk.
    pub(crate) fn since(&self, seat: &Seat, since: f64) -> Told {
        let found = if self.compat.is_scoped() {
            self.noticed.look(seat)
        } else {
            Vec::new()
        };
        self.tell(&seat.entry.id, since, found)
    }

    /// The events of `workspace` after number `since`, of which `found` are new.
    fn tell(&self, workspace: &str, since: f64, found: Vec<(Reason, Trigger)>) -> Told {
        let now = self.clock.now();
        let mut kept = self.lock();
        // What was announced is told with this: whatever is changed after it was not known to who announced it.
        let announced: Vec<Reason> = kept.forget_announced(workspace);
        for (reason, trigger) in found {
            if announced.iter().any(|told| told.stands_for(reason)) {
                continue;
            }
            let workspace = workspace.to_owned();
            let news = News {
                workspace,
                reason,
                trigger,
            };
            kept.take(news, now);
        }
        kept.push_due(now);
        #[expect(clippy::cast_precision_loss, reason = "no server counts that far")]
        let items = kept
            .events
            .iter()
            .filter(|event| event.workspace_id == workspace && event.seq as f64 > since);
        let is_scoped = self.compat.is_scoped();
        Told {
            items: items.cloned().collect(),
            cursor: kept.seq,
            workspace_id: is_scoped.then(|| workspace.to_owned()),
            disabled: is_scoped.then_some(false),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reason {
    /// Whether what was announced for this reason is found on the disk as `found`.
    fn stands_for(self, found: Self) -> bool {
        // Plugins and servers are said in the configuration.
        let in_config = matches!(self, Self::Plugins | Self::Mcp) && found == Self::Config;
        self == found || in_config || self.is_whole_import_of(found)
    }

    /// An import is announced as one change, and is one of everything.
    fn is_whole_import_of(self, found: Self) -> bool {
        self == Self::Config && matches!(found, Self::Skills | Self::Commands)
    }
}

impl Kept {
    /// Tells `news` when it may be told.
    fn take(&mut self, news: News, now: Timestamp) {
        self.push_due(now);
        if let Some(news) = self.pace.take(news, now) {
            self.push(news, now);
        }
    }

    fn push_due(&mut self, now: Timestamp) {
        for (news, at) in self.pace.due(now) {
            self.push(news, at);
        }
    }

    fn push(&mut self, news: News, at: Timestamp) {
        self.seq += 1;
        self.events.push_back(Event {
            id: crate::wire_id::fresh(),
            seq: self.seq,
            workspace_id: news.workspace,
            reason: news.reason,
            trigger: Some(news.trigger),
            timestamp: millis(at),
        });
        if self.events.len() > KEPT {
            self.events.pop_front();
        }
    }

    fn forget_announced(&mut self, workspace: &str) -> Vec<Reason> {
        let (mine, others) = std::mem::take(&mut self.announced)
            .into_iter()
            .partition(|(of, _)| of == workspace);
        self.announced = others;
        let mine: Vec<(String, Reason)> = mine;
        mine.into_iter().map(|(_, reason)| reason).collect()
    }
}
