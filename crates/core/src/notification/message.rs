//! What a target gets to read.

use serde::{Deserialize, Serialize};

use super::{Notification, Occasion};
use crate::id::{NotificationId, SessionId, WorkspaceId};
use crate::time::Timestamp;
use crate::visible::visible;

/// More of one text than a notification is read for.
const LONGEST: usize = 1_000;

/// What a target gets to read: the JSON that webhooks and commands are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The notification's id, the same at every attempt.
    pub id: NotificationId,
    /// What kind of thing happened.
    #[serde(rename = "type")]
    pub occasion: Occasion,
    /// When.
    pub at: Timestamp,
    /// The number of the event; 0 for a test.
    pub event: i64,
    /// The workspace that it happened in.
    pub workspace: WorkspaceId,
    /// The id of the ask, job or alarm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The session that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What happened, in words that tell nothing of what it was about.
    pub text: String,
    /// What it was about, where the configuration says that it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// What a happening was about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// What people call the workspace.
    pub workspace: String,
    /// The tool that an ask is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What is asked for, what a job said last, or what the alarm says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
}

impl Message {
    /// What is said for `notification`. Whatever agents wrote of the details is made visible, and cut with a word about
    /// it if it is long.
    pub fn new(notification: &Notification, details: Option<Details>) -> Self {
        Self {
            id: notification.id,
            occasion: notification.occasion,
            at: notification.at,
            event: notification.event,
            workspace: notification.workspace,
            subject: Some(notification.subject.clone()),
            session: notification.session,
            text: notification.occasion.sentence().to_owned(),
            details: details.map(Details::shown),
        }
    }

    /// What is said to try a target out.
    pub fn test(id: NotificationId, at: Timestamp) -> Self {
        Self {
            id,
            occasion: Occasion::Test,
            at,
            event: 0,
            workspace: WorkspaceId::SERVER,
            subject: None,
            session: None,
            text: Occasion::Test.sentence().to_owned(),
            details: None,
        }
    }

    /// It in a few words, for a place that shows no JSON.
    pub fn words(&self) -> String {
        let Some(details) = &self.details else {
            return self.text.clone();
        };
        let mut words = format!("{} in {}", self.text, details.workspace);
        for part in [&details.tool, &details.what].into_iter().flatten() {
            words.push_str(": ");
            words.push_str(part);
        }
        words
    }
}

impl Details {
    fn shown(self) -> Self {
        Self {
            workspace: shown(&self.workspace),
            tool: self.tool.as_deref().map(shown),
            what: self.what.as_deref().map(shown),
        }
    }
}

/// `text` with nothing hidden in it, cut with a word about it if it is long.
fn shown(text: &str) -> String {
    let text = visible(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} … (cut)", &text[..end]),
        None => text.into_owned(),
    }
}
