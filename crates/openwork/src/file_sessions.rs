//! File sessions: for a while, the holder of one token reads and writes files of one workspace, and sees what changed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_core::time::{Clock, Timestamp};
use serde::Serialize;

use crate::keys::Caller;
use crate::refusal::Refusal;
use crate::wire_id;
use crate::wire_time::millis;

/// How long a session lives: at least, if nothing is said, and at most.
const LIFE: (Duration, Duration, Duration) = (
    Duration::from_secs(30),
    Duration::from_mins(15),
    Duration::from_hours(24),
);
/// How many there may be; the one that ends first makes room.
const SESSIONS: usize = 256;
/// How many events of a workspace are kept.
const EVENTS: usize = 500;

/// A session.
#[derive(Debug, Clone)]
pub(crate) struct FileSession {
    pub(crate) id: String,
    pub(crate) workspace: String,
    token: String,
    made_at: Timestamp,
    ends_at: Timestamp,
    pub(crate) can_write: bool,
}

/// A session as its holder sees it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct View {
    id: String,
    workspace_id: String,
    created_at: i64,
    expires_at: i64,
    ttl_ms: u64,
    can_write: bool,
}

/// Something that happened to a file.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileEvent {
    id: String,
    seq: u64,
    workspace_id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    timestamp: i64,
}

/// The events of a workspace, and where the next ones begin.
#[derive(Serialize)]
pub(crate) struct Told {
    items: Vec<FileEvent>,
    pub(crate) cursor: u64,
}

#[derive(Default)]
struct Events {
    seq: u64,
    kept: VecDeque<FileEvent>,
}

/// Every session, and what happened in their workspaces.
pub(crate) struct FileSessions {
    clock: Clock,
    sessions: Mutex<Vec<FileSession>>,
    events: Mutex<HashMap<String, Events>>,
}

/// How long a session is to live that asks for so many seconds.
pub(crate) fn life(seconds: Option<f64>) -> Duration {
    let wanted = seconds
        .filter(|seconds| seconds.is_finite())
        .map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(LIFE.2));
    wanted.unwrap_or(LIFE.1).clamp(LIFE.0, LIFE.2)
}

impl FileSessions {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            sessions: Mutex::default(),
            events: Mutex::default(),
        }
    }

    /// Opens a session of `caller` in `workspace`.
    pub(crate) fn open(
        &self,
        caller: &Caller,
        workspace: &str,
        life: Duration,
        can_write: bool,
    ) -> View {
        let now = self.clock.now();
        let session = FileSession {
            id: wire_id::fresh(),
            workspace: workspace.to_owned(),
            token: caller.token_hash().to_owned(),
            made_at: now,
            ends_at: now.after(life),
            can_write,
        };
        let view = session.view(now);
        let mut sessions = self.live(now);
        if sessions.len() >= SESSIONS
            && let Some(first) = (0..sessions.len()).min_by_key(|at| sessions[*at].ends_at)
        {
            sessions.remove(first);
        }
        sessions.push(session);
        view
    }

    /// The session called `id`, if it is the caller's.
    pub(crate) fn find(&self, caller: &Caller, id: &str) -> Result<FileSession, Refusal> {
        let sessions = self.live(self.clock.now());
        let session = sessions.iter().find(|session| session.id == id);
        let session = session
            .ok_or_else(|| Refusal::new(404, "file_session_not_found", "File session not found"))?;
        if session.token != caller.token_hash() {
            let message = "File session does not belong to this token";
            return Err(Refusal::new(403, "forbidden", message));
        }
        Ok(session.clone())
    }

    /// Lets a session live for `life` from now on.
    pub(crate) fn renew(&self, session: &FileSession, life: Duration) -> View {
        let now = self.clock.now();
        let mut sessions = self.live(now);
        let renewed = FileSession {
            ends_at: now.after(life),
            ..session.clone()
        };
        for known in sessions.iter_mut().filter(|known| known.id == session.id) {
            known.ends_at = renewed.ends_at;
        }
        renewed.view(now)
    }

    /// Ends a session.
    pub(crate) fn close(&self, session: &FileSession) {
        let mut sessions = self.live(self.clock.now());
        sessions.retain(|known| known.id != session.id);
    }

    fn live(&self, now: Timestamp) -> std::sync::MutexGuard<'_, Vec<FileSession>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| session.ends_at > now);
        sessions
    }

    /// Notes what happened to a file.
    pub(crate) fn note(
        &self,
        workspace: &str,
        kind: &'static str,
        path: &str,
        to_path: Option<&str>,
        revision: Option<String>,
    ) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let events = events.entry(workspace.to_owned()).or_default();
        events.seq += 1;
        events.kept.push_back(FileEvent {
            id: wire_id::fresh(),
            seq: events.seq,
            workspace_id: workspace.to_owned(),
            kind,
            path: path.to_owned(),
            to_path: to_path.map(str::to_owned),
            revision,
            timestamp: millis(self.clock.now()),
        });
        if events.kept.len() > EVENTS {
            events.kept.pop_front();
        }
    }

    /// What happened in `workspace` after number `since`.
    pub(crate) fn since(&self, workspace: &str, since: u64) -> Told {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(events) = events.get(workspace) else {
            return Told {
                items: Vec::new(),
                cursor: 0,
            };
        };
        let items = events.kept.iter().filter(|event| event.seq > since);
        Told {
            items: items.cloned().collect(),
            cursor: events.seq,
        }
    }
}

impl FileSession {
    fn view(&self, now: Timestamp) -> View {
        View {
            id: self.id.clone(),
            workspace_id: self.workspace.clone(),
            created_at: millis(self.made_at),
            expires_at: millis(self.ends_at),
            ttl_ms: u64::try_from(self.ends_at.since(now).as_millis()).unwrap_or(u64::MAX),
            can_write: self.can_write,
        }
    }
}
