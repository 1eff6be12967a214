//! Workspaces and their engines on the wire.

use countersign_core::event::EnginePhase;
use countersign_core::id::RunId;
use countersign_core::session::Workspace;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How strong consent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// The engine enforces the answers; an answer that did not come from here is noticed and stopped.
    Relay,
}

/// A workspace's engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EngineView {
    /// What it is.
    pub program: String,
    /// Its version, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How it stands.
    pub state: EnginePhase,
    /// A sentence about it: what is wrong and what to do, if something is.
    pub message: String,
    /// Its present life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// How strong consent is with it.
    pub consent: Consent,
}

/// A workspace as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceView {
    /// The workspace.
    #[serde(flatten)]
    pub workspace: Workspace,
    /// Its engine.
    pub engine: EngineView,
}

/// The workspaces that this server serves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceList {
    /// The workspaces.
    pub workspaces: Vec<WorkspaceView>,
}
