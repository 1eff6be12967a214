//! The door for programs that hand asks in themselves and fetch the answers: the plugin of an opencode that somebody
//! runs himself, and the proxy between an editor and its ACP agent.

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
    /// The proxy between an editor and its ACP agent.
    AcpProxy,
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
    /// A request of an ACP agent, as an `AcpRequest`.
    Acp,
}

/// A request of an ACP agent for leave, or a question of its.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcpRequest {
    /// The line that the agent wrote.
    pub line: String,
    /// All that the agent has said about the tool call, in the request and before, as the JSON of an update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<String>,
    /// Which ask for this request it is, from one on: an agent may change what it asks for.
    #[serde(default = "first")]
    #[schema(minimum = 1, maximum = 1000)]
    pub number: u32,
}

const fn first() -> u32 {
    1
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
    /// The request, as the program announced it; for an ACP agent's, an `AcpRequest`.
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
    /// A response for an ACP agent.
    Line {
        /// What to write to the agent's input, without the end of the line.
        line: String,
    },
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
    /// The proxy wrote the reply that was fetched here to the agent's input, whole and once.
    Written,
    /// The editor was first.
    AnsweredInEditor {
        /// The id of the option that it picked, or whatever else it said.
        reply: String,
    },
    /// The turn was cancelled in the editor.
    TurnCancelled,
    /// The agent changed what it asks for; that is handed in anew.
    Changed,
    /// Nobody waits for the request any more.
    Gone,
}
