//! Notifications: what people want to be told of when they do not look, and in which words.
//!
//! One happening makes one notification for each target that wants it. What leaves this machine says what kind of thing
//! happened and gives ids; what it was about is added only where the configuration says so.

mod message;
mod schedule;
#[cfg(test)]
mod tests;

pub use message::{Details, Message};
pub use schedule::Schedule;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ask::AskPhase;
use crate::event::EventBody;
use crate::id::{NotificationId, SessionId, TokenId, WorkspaceId};
use crate::job::JobState;
use crate::time::Timestamp;

/// What kind of thing happened.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
pub enum Occasion {
    /// An ask was opened, and nothing answered it at once.
    #[serde(rename = "ask.opened")]
    AskOpened,
    /// An ask ran out without an answer.
    #[serde(rename = "ask.expired")]
    AskExpired,
    /// A job came to its end by itself.
    #[serde(rename = "job.completed")]
    JobCompleted,
    /// A job ended without that.
    #[serde(rename = "job.failed")]
    JobFailed,
    /// Something happened that must not.
    #[serde(rename = "alarm.raised")]
    AlarmRaised,
    /// Somebody tries a target out.
    #[serde(rename = "test")]
    Test,
}

impl Occasion {
    /// Every occasion that a target can be told of. A test is nothing that happens by itself.
    pub const ALL: [Self; 5] = [
        Self::AskOpened,
        Self::AskExpired,
        Self::JobCompleted,
        Self::JobFailed,
        Self::AlarmRaised,
    ];

    /// Its name, as it is configured, stored and sent.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AskOpened => "ask.opened",
            Self::AskExpired => "ask.expired",
            Self::JobCompleted => "job.completed",
            Self::JobFailed => "job.failed",
            Self::AlarmRaised => "alarm.raised",
            Self::Test => "test",
        }
    }

    /// Reads what [`Occasion::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .chain([Self::Test])
            .find(|occasion| occasion.name() == name)
    }

    /// What happened, in words that tell nothing of what it was about and stay true however late they are read.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::AskOpened => "An agent asks for leave",
            Self::AskExpired => "An ask ran out without an answer",
            Self::JobCompleted => "A job has completed",
            Self::JobFailed => "A job has failed",
            Self::AlarmRaised => "An alarm was raised",
            Self::Test => "This is a test",
        }
    }
}

impl fmt::Display for Occasion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that people may want to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// What kind of thing.
    pub occasion: Occasion,
    /// The id of the ask, job or alarm.
    pub subject: String,
    /// The session that it happened in.
    pub session: Option<SessionId>,
}

impl Happening {
    /// What an event tells, if it is anything that people can be told of.
    pub fn of(event: &EventBody) -> Option<Self> {
        let happening = |occasion, subject, session| Self {
            occasion,
            subject,
            session,
        };
        match event {
            EventBody::AskOpened { ask, session, .. } => Some(happening(
                Occasion::AskOpened,
                ask.to_string(),
                Some(*session),
            )),
            EventBody::AskChanged {
                ask,
                session,
                state,
            } => (*state == AskPhase::Expired)
                .then(|| happening(Occasion::AskExpired, ask.to_string(), Some(*session))),
            EventBody::AlarmRaised { alarm, .. } => {
                Some(happening(Occasion::AlarmRaised, alarm.to_string(), None))
            }
            EventBody::JobChanged {
                job,
                state,
                session,
                ..
            } => {
                let occasion = match state {
                    JobState::Completed => Occasion::JobCompleted,
                    JobState::Failed => Occasion::JobFailed,
                    // Whoever cancelled it knows.
                    JobState::Cancelled
                    | JobState::Queued
                    | JobState::Starting
                    | JobState::Running
                    | JobState::Waiting => return None,
                };
                Some(happening(occasion, job.to_string(), *session))
            }
            EventBody::SessionChanged { .. }
            | EventBody::SettingsChanged { .. }
            | EventBody::TurnChanged { .. }
            | EventBody::ItemChanged { .. }
            | EventBody::EngineChanged { .. }
            | EventBody::WorkspaceChanged { .. }
            | EventBody::RuleChanged { .. } => None,
        }
    }
}

/// What a target wants to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interest {
    /// The kinds of things.
    pub occasions: BTreeSet<Occasion>,
    /// The workspaces, by their paths or names; every one if none is named.
    pub workspaces: BTreeSet<String>,
}

impl Interest {
    /// Whether the target wants to be told of `occasion` in the workspace at `path`, which is called `name`.
    pub fn covers(&self, occasion: Occasion, path: &str, name: &str) -> bool {
        self.occasions.contains(&occasion)
            && (self.workspaces.is_empty()
                || self.workspaces.contains(path)
                || self.workspaces.contains(name))
    }
}

/// What the names of targets begin with that are paired browsers; no configured name has a colon.
const DEVICE: &str = "device:";

/// The name of the target that the browser with `token` is.
pub fn device_target(token: TokenId) -> String {
    format!("{DEVICE}{token}")
}

/// The browser that a target is, if it is one.
pub fn device_of(target: &str) -> Option<TokenId> {
    target.strip_prefix(DEVICE)?.parse().ok()
}

/// How a notification stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationState {
    /// It is to be sent, for the first time or again.
    Waiting,
    /// The target took it.
    Sent,
    /// It is given up: a dead letter, until somebody says to try again.
    Dead,
}

impl NotificationState {
    /// Its name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Sent => "sent",
            Self::Dead => "dead",
        }
    }

    /// Reads what [`NotificationState::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Waiting, Self::Sent, Self::Dead]
            .into_iter()
            .find(|state| state.name() == name)
    }
}

/// Something that one target is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Notification {
    /// Its id: the same at every attempt, so that a receiver can tell one that it had already.
    pub id: NotificationId,
    /// The target's name in the configuration, or `device:` and the token of a paired browser.
    pub target: String,
    /// The number of the event that it tells of.
    pub event: i64,
    /// When that happened.
    pub at: Timestamp,
    /// The workspace that it happened in.
    pub workspace: WorkspaceId,
    /// What kind of thing happened.
    pub occasion: Occasion,
    /// The id of the ask, job or alarm.
    pub subject: String,
    /// The session that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// How it stands.
    pub state: NotificationState,
    /// How often it was tried since it was written down, or since somebody said to try again.
    pub attempts: u32,
    /// When it is tried next, if it waits.
    pub due_at: Timestamp,
    /// When it was last tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried_at: Option<Timestamp>,
    /// When it was sent or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The last of what the command printed, or the receiver answered, when the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}
