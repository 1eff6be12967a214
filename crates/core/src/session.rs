//! Sessions, their turns, and what is said in them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::attachment::Attachment;
use crate::id::{AskId, SessionId, TurnId, WorkspaceId};
use crate::time::Timestamp;

/// A folder on the host in which agents work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// What people call it.
    pub name: String,
    /// Where it is, resolved.
    pub path: String,
    /// When it was added.
    pub added_at: Timestamp,
}

/// One conversation with an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The workspace it works in.
    pub workspace: WorkspaceId,
    /// The engine that it is with: `opencode`, or the name of an ACP agent.
    pub engine: String,
    /// What the engine itself calls it.
    pub native_id: String,
    /// The session that started this one for a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// What it is about.
    pub title: String,
    /// The directory that the engine works in.
    pub directory: String,
    /// The agent's name within the engine, where one is known.
    pub agent: String,
    /// Whether something is going on.
    pub activity: Activity,
    /// When it began.
    pub started_at: Timestamp,
    /// When something last changed.
    pub changed_at: Timestamp,
}

impl Session {
    /// What the engine is called that speaks opencode's own protocol.
    pub const OPENCODE: &'static str = "opencode";
    /// What the engine is called that an editor speaks with, by way of the proxy. No agent of the configuration can have
    /// this name, which has a blank in it.
    pub const ACP_PROXY: &'static str = "acp proxy";
    /// What stands for the engine where clients propose writes: nobody talks in such a session, it holds the asks of one
    /// proposer together. No agent can have this name either.
    pub const WORKSPACE_WRITES: &'static str = "workspace writes";
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Nothing.
    Idle,
    /// A turn is under way.
    Busy,
    /// The engine that held it is gone.
    Gone,
}

impl Activity {
    /// The activity's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Gone => "gone",
        }
    }

    /// Reads what [`Activity::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Idle, Self::Busy, Self::Gone]
            .into_iter()
            .find(|activity| activity.name() == name)
    }
}

/// One prompt and what follows until the engine is idle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// The session it is in.
    pub session: SessionId,
    /// What the engine calls the prompt's message.
    pub native_id: String,
    /// What was said.
    pub prompt: String,
    /// The model that was wished for, as the engine calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode that was wished for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The agent that was wished for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The ask whose denial it gives the reason of, if Countersign said it for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<AskId>,
    /// When it began.
    pub started_at: Timestamp,
    /// When somebody cancelled it; it ends when the engine has let go of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
    /// How it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TurnOutcome>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum TurnOutcome {
    /// The agent came to an end by itself.
    Completed,
    /// A denial stopped it.
    Denied,
    /// Somebody cancelled it.
    Cancelled,
    /// It failed.
    Failed {
        /// Why, in the engine's or the provider's words.
        reason: String,
    },
}

/// What a finished piece of a transcript is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Item {
    /// What a person, or Countersign for them, said.
    Prompt {
        /// The words.
        text: String,
        /// The ask whose denial it gives the reason of, if Countersign said it for that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<AskId>,
    },
    /// What came along with the prompt before it.
    Attachment {
        /// What it is.
        attachment: Attachment,
    },
    /// What the agent said.
    Text {
        /// The words.
        text: String,
    },
    /// What the agent thought.
    Thought {
        /// The words.
        text: String,
    },
    /// What the agent did.
    Tool {
        /// The tool's name.
        tool: String,
        /// Where it stands.
        status: ToolStatus,
        /// What it was given.
        #[schema(value_type = Object)]
        input: Value,
        /// What it gave back, or what went wrong.
        output: String,
        /// The changes of files that it shows.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileDiff>,
        /// The session of the sub-agent that it started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<String>,
    },
    /// What the agent means to do, as far as it has come.
    Plan {
        /// The steps, in order.
        steps: Vec<PlanStep>,
    },
    /// What Countersign or the engine has to say about the session.
    Notice {
        /// The words.
        text: String,
    },
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileDiff {
    /// The file.
    pub path: String,
    /// The change, as a unified diff.
    pub patch: String,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanStep {
    /// What is to be done.
    pub text: String,
    /// Where it stands.
    pub status: StepStatus,
}

/// Where a step of a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It comes later.
    Pending,
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
}

/// Where a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Announced.
    Pending,
    /// Under way, or waiting for leave.
    Running,
    /// Done.
    Completed,
    /// Failed, or denied.
    Failed,
}

/// A piece of a transcript in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TranscriptItem {
    /// Its place in the session, from one.
    pub seq: i64,
    /// What the engine calls it.
    pub native_id: String,
    /// When it was first seen.
    pub at: Timestamp,
    /// When it was last rewritten, if it was: a tool call that has ended did so then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
    /// What it is.
    #[serde(flatten)]
    pub item: Item,
}
