//! Why asks end without an answer of ours.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::id::AskId;

/// Where somebody answered past Countersign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Elsewhere {
    /// At the engine itself.
    #[default]
    Engine,
    /// In the editor that shows the agent.
    Editor,
}

impl Elsewhere {
    /// A sentence for people about an ask that was answered there with `reply`.
    pub fn sentence(self, reply: &str) -> String {
        match self {
            Self::Engine => format!("it was answered at the engine itself, with `{reply}`"),
            Self::Editor => format!("it was answered in the editor, with `{reply}`"),
        }
    }
}

/// Why an ask ended without an answer of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Withdrawal {
    /// The turn was cancelled.
    TurnCancelled,
    /// The session ended, or the engine dropped the ask with its turn.
    SessionEnded,
    /// The engine that asked is gone.
    EngineGone,
    /// The engine was reloaded.
    EngineReloaded {
        /// Whether that was because somebody had answered past Countersign.
        after_foreign_answer: bool,
    },
    /// The agent changed what it asks for, and asks anew.
    Changed,
    /// Another ask of the session was denied, and the engine drops the rest.
    SiblingDenied {
        /// The one that was denied.
        sibling: AskId,
    },
    /// Somebody answered past Countersign.
    AnsweredElsewhere {
        /// What the engine was told there.
        reply: String,
        /// Where that was.
        #[serde(default)]
        at: Elsewhere,
    },
    /// The engine waits for it no longer, and what became of it cannot be read.
    Lost {
        /// Why it cannot be read.
        message: String,
    },
    /// The client that proposed the write went away.
    ClientGone,
    /// The server was restarted, and the client that waited for it lost its connection.
    ServerRestarted,
    /// The workspace is served no more.
    WorkspaceRemoved,
}

impl Withdrawal {
    /// A sentence for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::TurnCancelled => "the turn was cancelled".to_owned(),
            Self::SessionEnded => "the session ended".to_owned(),
            Self::EngineGone => "the engine is gone".to_owned(),
            Self::EngineReloaded {
                after_foreign_answer: true,
            } => "the engine was reloaded after a foreign answer".to_owned(),
            Self::EngineReloaded {
                after_foreign_answer: false,
            } => "the engine was reloaded".to_owned(),
            Self::Changed => "the agent changed what it asks for, and asks anew".to_owned(),
            Self::SiblingDenied { sibling } => {
                format!("it fell with {sibling}, another ask of its session that was denied")
            }
            Self::AnsweredElsewhere { reply, at } => at.sentence(reply),
            Self::Lost { message } => format!(
                "the engine waits for it no longer, and what became of it is not known: {message}"
            ),
            Self::ClientGone => "the client that proposed it went away".to_owned(),
            Self::ServerRestarted => {
                "the server was restarted, and nobody waits for it any more".to_owned()
            }
            Self::WorkspaceRemoved => "the workspace was removed".to_owned(),
        }
    }
}
