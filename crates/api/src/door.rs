//! The door for an opencode that somebody runs himself: its plugin hands asks in and fetches the answers.

use countersign_core::ask::AskPhase;
use countersign_core::id::{AskId, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A program that can hand asks in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoorProgram {
    /// opencode, by its plugin.
    Opencode,
}

/// Announces one life of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDoorRun {
    /// The directory it works in; it is in a workspace of this server.
    pub directory: String,
    /// What it is.
    pub program: DoorProgram,
    /// Its version.
    #[schema(max_length = 80)]
    pub version: String,
    /// The number of its process, if it runs on the server's machine: what descends from it is an agent's
    /// and may not answer, and when it ends so does this life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    pub process: Option<u32>,
}

/// Shows that a program is still there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DoorAlive {
    /// The number of its process, as when it was announced: a server that was restarted has forgotten it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    pub process: Option<u32>,
}

/// One life of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DoorRun {
    /// Its id; asks are handed in under it. It ends after 90 seconds without a call.
    pub run: RunId,
}

/// What kind of request is handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoorAskKind {
    /// A tool wants to run: the properties of `permission.asked`.
    Permission,
    /// The agent wants to know something: the properties of `question.asked`.
    Question,
}

/// The session that asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DoorSession {
    /// What the program calls it.
    #[schema(min_length = 1, max_length = 200)]
    pub id: String,
    /// What it is about.
    #[serde(default)]
    pub title: String,
    /// The name of the agent that speaks in it, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The directory it works in, inside the workspace; the workspace itself if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The session that started it for a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<DoorParent>,
}

/// A session that started another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DoorParent {
    /// What the program calls it.
    #[schema(min_length = 1, max_length = 200)]
    pub id: String,
    /// What it is about.
    #[serde(default)]
    pub title: String,
}

/// Hands an ask in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDoorAsk {
    /// What kind of request it is.
    pub kind: DoorAskKind,
    /// The request, as the program announced it.
    #[schema(value_type = Object)]
    pub request: Value,
    /// The session that asks.
    pub session: DoorSession,
    /// What the tool was given, where the request itself does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub input: Option<Value>,
}

/// An ask that was handed in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DoorAsk {
    /// Its id.
    pub ask: AskId,
    /// Where it stands; a rule may have answered it already.
    pub state: AskPhase,
}

/// How an ask stands, and what the program is to be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DoorAnswer {
    /// Where the ask stands; `open` if nobody has answered yet.
    pub state: AskPhase,
    /// What the program is to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<DoorReply>,
}

/// What a program is to be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum DoorReply {
    /// Go on, this once.
    Once,
    /// No.
    Reject {
        /// What the model gets to read.
        message: String,
    },
    /// The answers to a question.
    Answers {
        /// For each part of the question, the labels chosen or the text written.
        answers: Vec<Vec<String>>,
    },
    /// The question is not answered.
    Decline,
}

/// What the program says that it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoorWord {
    /// `permission.replied` with `once`.
    Once,
    /// `permission.replied` with `always`.
    Always,
    /// `permission.replied` with `reject`.
    Reject,
    /// `question.replied`.
    Replied,
    /// `question.rejected`.
    Rejected,
}

impl DoorWord {
    /// The word itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Reject => "reject",
            Self::Replied => "replied",
            Self::Rejected => "rejected",
        }
    }
}

/// What became of an ask at the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum DoorReport {
    /// The program announced that it has taken the reply which was fetched here.
    Announced {
        /// What it announced.
        reply: DoorWord,
    },
    /// The program announced a reply that did not come from here: somebody answered in the terminal.
    AnsweredHere {
        /// What it announced.
        reply: DoorWord,
    },
    /// The program does not know the request any more.
    Gone,
}
