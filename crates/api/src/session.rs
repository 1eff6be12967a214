//! Sessions and prompts on the wire.

use countersign_core::attachment::Takes;
use countersign_core::id::{SessionId, TurnId, WorkspaceId};
use countersign_core::session::{Item, Session, TranscriptItem, Turn};
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::attachment::NewAttachment;
use crate::depth::shallow;

/// A session as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// The newest turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// The prompts that wait until its agent has come to the end of what it is doing, the next one first. They can be
    /// taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<QueuedPrompt>,
    /// How many of its asks are open.
    pub open_asks: i64,
    /// Whether whoever reads this may send it a prompt.
    pub may_prompt: bool,
    /// What its agent takes along with a prompt; absent if it has not said so yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<Takes>,
}

/// A prompt that waits until an agent has come to the end of what it is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuedPrompt {
    /// The turn that it will begin.
    pub turn: TurnId,
    /// The beginning of what will be said, at most 500 characters.
    pub text: String,
    /// Who wrote it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// The sessions, the one that changed last first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<SessionView>,
}

/// Starts a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSession {
    /// Where; the server's first workspace if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// Where as well: the workspace around this folder. The owner at the server's machine has a folder served that is in
    /// none, from then on; for everybody else it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// With which engine: `opencode`, or the name of an agent as `/api/v1/engines` lists it; the workspace's own, or
    /// the agent that is configured or installed, if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// What it is about; the engine finds a title if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the engine calls an earlier session, as `/api/v1/engines/{name}/sessions` lists it: that one is taken up,
    /// with what was said in it, instead of a new one. One that is known here already is given back as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub earlier: Option<String>,
}

/// Something to say to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptRequest {
    /// The words.
    #[schema(min_length = 1)]
    pub text: String,
    /// Makes a repetition of this request harmless: the same turn comes back for the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The model to use: `provider/model` for opencode, one of those that the session's settings offer else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode to be in, one of those that the session's settings offer. Mode and model stay for the prompts that
    /// follow; to choose them for an agent takes the grant `answer` as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The engine's agent to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What comes along. It is kept with the turn: a repetition with the same id need not be the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10)]
    pub attachments: Vec<NewAttachment>,
}

/// Takes back a prompt that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeBackRequest {
    /// The turn that it would begin.
    pub turn: TurnId,
}

/// A prompt that is durable and on its way to the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromptTaken {
    /// The turn that it began.
    pub turn: TurnId,
    /// The session it is in.
    pub session: SessionId,
}

/// What was said and done in a session, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemList {
    /// The items; what is still being said comes last, with the place it will have.
    pub items: Vec<TranscriptItem>,
}

impl ItemList {
    /// The list of `items`; what tools were given is nested no deeper than every reader can follow.
    pub fn new(mut items: Vec<TranscriptItem>) -> Self {
        for item in &mut items {
            if let Item::Tool { input, .. } = &mut item.item {
                *input = shallow(input.take());
            }
        }
        Self { items }
    }
}
