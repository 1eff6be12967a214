//! Looking for words in transcripts, on the wire.

use countersign_core::id::{SessionId, WorkspaceId};
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What words were found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassageKind {
    /// What a person said.
    Prompt,
    /// The name of what came along with a prompt.
    Attachment,
    /// What the agent said.
    Text,
    /// What the agent thought.
    Thought,
    /// A tool call: its name, what it was given, or what it gave back.
    Tool,
    /// A plan.
    Plan,
    /// A notice.
    Notice,
}

/// A place where words were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SearchHit {
    /// The session.
    pub session: SessionId,
    /// The workspace that it works in.
    pub workspace: WorkspaceId,
    /// What the session is about.
    pub title: String,
    /// The item's place in the session.
    pub seq: i64,
    /// When it was first seen.
    pub at: Timestamp,
    /// What it is.
    pub kind: PassageKind,
    /// What stands before the first of the words, in one line; `…` where it goes on.
    pub before: String,
    /// The first of the words, as it is written there.
    pub matched: String,
    /// What stands behind it.
    pub after: String,
}

/// What was found, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SearchResult {
    /// The places.
    pub hits: Vec<SearchHit>,
    /// How many items were looked at.
    pub looked_at: u64,
    /// Whether that was all there are.
    pub complete: bool,
    /// What to say as `before` to look further back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
