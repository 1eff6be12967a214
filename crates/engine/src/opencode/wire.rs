//! The shapes of opencode's JSON, as far as they matter here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::opencode::delegation::AgentRule;
use crate::opencode::failure::MessageError;

/// A tool's wish for leave.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Permission {
    /// What opencode calls the request.
    pub id: String,
    /// The session that asks.
    #[serde(rename = "sessionID")]
    pub session_id: String,
    /// What kind of leave, such as `bash` or `edit`.
    pub permission: String,
    /// What it is about.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// More about it; empty in older versions.
    #[serde(default)]
    pub metadata: Value,
    /// The tool call that waits for it.
    #[serde(default)]
    pub tool: Option<ToolReference>,
}

/// Where a tool call stands in a session's messages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToolReference {
    /// The message.
    #[serde(rename = "messageID")]
    pub message_id: String,
    /// The call within it.
    #[serde(rename = "callID")]
    pub call_id: String,
}

/// A question of the agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct QuestionRequest {
    /// What opencode calls the request.
    pub id: String,
    /// The session that asks.
    #[serde(rename = "sessionID")]
    pub session_id: String,
    /// Its parts.
    pub questions: Vec<QuestionPart>,
    /// The tool call that waits for it.
    #[serde(default)]
    pub tool: Option<ToolReference>,
}

/// One part of a question.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct QuestionPart {
    /// The question.
    pub question: String,
    /// A word or two to head it.
    #[serde(default)]
    pub header: String,
    /// Answers that are suggested.
    #[serde(default)]
    pub options: Vec<QuestionChoice>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub multiple: bool,
}

/// An answer that is suggested.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct QuestionChoice {
    /// What is sent when it is chosen.
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
}

/// A session as opencode describes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Session {
    /// What opencode calls it.
    pub id: String,
    /// What it is about.
    #[serde(default)]
    pub title: String,
    /// The session that started it for a sub-agent.
    #[serde(default, rename = "parentID")]
    pub parent_id: Option<String>,
    /// The directory it works in.
    #[serde(default)]
    pub directory: String,
    /// What was paid for all of it so far, in US dollars; older servers do not tell.
    #[serde(default)]
    pub cost: Option<f64>,
    /// Its own rules, the last of which that matches decides.
    #[serde(default)]
    pub permission: Vec<AgentRule>,
}

/// A session of a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ListedSession {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// When things happened to it.
    #[serde(default)]
    pub time: SessionTime,
}

/// When things happened to a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct SessionTime {
    /// When something last happened in it, in milliseconds since 1970.
    #[serde(default)]
    pub updated: f64,
}

/// What a session is doing; a session that is idle is not listed at all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Status {
    /// Nothing.
    Idle,
    /// A turn is under way.
    Busy,
    /// The provider failed, and opencode tries again.
    Retry {
        /// What the provider said.
        #[serde(default)]
        message: String,
    },
    /// Something that a later version knows.
    #[serde(other)]
    Unknown,
}

/// A message's description.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Message {
    /// What opencode calls it.
    pub id: String,
    /// The session.
    #[serde(default, rename = "sessionID")]
    pub session_id: String,
    /// `user` or `assistant`.
    pub role: String,
    /// The user's message that it replies to.
    #[serde(default, rename = "parentID")]
    pub parent_id: Option<String>,
    /// The agent that speaks.
    #[serde(default)]
    pub agent: Option<String>,
    /// Whose model speaks.
    #[serde(default, rename = "providerID")]
    pub provider_id: Option<String>,
    /// The model that speaks.
    #[serde(default, rename = "modelID")]
    pub model_id: Option<String>,
    /// Why it ended.
    #[serde(default)]
    pub finish: Option<String>,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<MessageError>,
    /// When things happened to it.
    #[serde(default)]
    pub time: MessageTime,
    /// What was paid for it, in US dollars.
    #[serde(default)]
    pub cost: f64,
    /// How many tokens it took.
    #[serde(default)]
    pub tokens: MessageTokens,
}

/// How many tokens a message took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct MessageTokens {
    /// What the model read anew.
    #[serde(default)]
    pub input: f64,
    /// What it wrote.
    #[serde(default)]
    pub output: f64,
    /// What it thought.
    #[serde(default)]
    pub reasoning: f64,
    /// What it knew from before.
    #[serde(default)]
    pub cache: CachedTokens,
}

/// How many tokens of a message the provider had kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct CachedTokens {
    /// Read from what was kept.
    #[serde(default)]
    pub read: f64,
    /// Kept for later.
    #[serde(default)]
    pub write: f64,
}

/// When things happened to a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct MessageTime {
    /// When it was complete; absent while it grows, and for ever if the process died.
    #[serde(default)]
    pub completed: Option<u64>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Part {
    /// What opencode calls it.
    pub id: String,
    /// The message it is in.
    #[serde(rename = "messageID")]
    pub message_id: String,
    /// The session.
    #[serde(default, rename = "sessionID")]
    pub session_id: String,
    /// `text`, `reasoning`, `tool`, or something that is not shown.
    #[serde(rename = "type")]
    pub kind: String,
    /// The words of a text or a thought.
    #[serde(default)]
    pub text: String,
    /// Whether opencode itself put the text in.
    #[serde(default)]
    pub synthetic: bool,
    /// When a text ended.
    #[serde(default)]
    pub time: PartTime,
    /// The tool's name.
    #[serde(default)]
    pub tool: String,
    /// The tool call.
    #[serde(default, rename = "callID")]
    pub call_id: String,
    /// Where the tool stands.
    #[serde(default)]
    pub state: Option<ToolState>,
}

/// When a text was being said.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct PartTime {
    /// When it ended; absent while it grows.
    #[serde(default)]
    pub end: Option<f64>,
}

/// Where a tool stands.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolState {
    /// `pending`, `running`, `completed` or `error`.
    pub status: String,
    /// What it was given.
    #[serde(default)]
    pub input: Value,
    /// What it gave back.
    #[serde(default)]
    pub output: String,
    /// What went wrong.
    #[serde(default)]
    pub error: String,
    /// More about it; holds a sub-agent's session.
    #[serde(default)]
    pub metadata: Value,
}

/// A rule of opencode's own: the last one that matches decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PermissionRule {
    /// The kind of leave, or a pattern of kinds.
    pub permission: String,
    /// What it is about.
    pub pattern: String,
    /// What happens.
    pub action: Verdict,
}

/// What a rule of opencode's says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Ask a person.
    Ask,
    /// Never.
    Deny,
}
