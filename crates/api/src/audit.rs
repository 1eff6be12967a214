//! The audit and alarms on the wire.

use countersign_core::audit::AuditEntry;
use countersign_core::id::{AlarmId, AskId, SessionId, WorkspaceId};
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of one workspace's audit, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditList {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// Pass it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// A page of what was found in one workspace's audit, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditFound {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// Pass it as `before` to look further back; absent when all was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
    /// How many entries were looked at.
    pub looked_at: i64,
}

/// A chain of the audit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChainView {
    /// The workspace whose chain it is; the server's own has an id of zeros.
    pub workspace: WorkspaceId,
    /// How many entries it has.
    pub entries: i64,
    /// How it was found when it was last followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<ChainVerified>,
}

/// How a chain was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChainVerified {
    /// When.
    pub at: Timestamp,
    /// Whether it was whole.
    pub whole: bool,
    /// How many entries it had then; none if it was broken.
    pub entries: i64,
    /// Where and how it is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// The chains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChainList {
    /// The chains.
    pub chains: Vec<ChainView>,
}

/// Whether a chain is whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditVerdict {
    /// The workspace whose chain it is.
    pub workspace: WorkspaceId,
    /// Entries that were followed.
    pub entries: i64,
    /// Whether the chain is whole.
    pub whole: bool,
    /// Where and how it is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// Something that happened and must not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlarmView {
    /// Its id.
    pub id: AlarmId,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The session it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The ask it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskId>,
    /// When it was noticed.
    pub at: Timestamp,
    /// What happened and what was done about it.
    pub message: String,
}
