//! Engines that sessions can be begun with, on the wire.

use countersign_core::id::SessionId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether somebody has signed in to an agent, as far as can be seen from outside. The agent itself knows better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignIn {
    /// Something says so.
    Seen,
    /// Nothing says so.
    NotSeen,
    /// There is no telling, or nothing to sign in to.
    Unknown,
}

/// An agent that a session can be begun with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EngineOffer {
    /// What it is called here: what to say as the `engine` of a new session.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Where its program was found; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whether somebody has signed in.
    pub signed_in: SignIn,
    /// The file or variable that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_in_by: Option<String>,
    /// What to do before it can be used; empty if nothing is known to be missing.
    pub advice: String,
}

/// The agents that sessions can be begun with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EngineOffers {
    /// The agents.
    pub engines: Vec<EngineOffer>,
}

/// A session that an engine had before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EarlierSession {
    /// What the engine calls it: what to say as `earlier` of a new session.
    pub native_id: String,
    /// What it is about.
    pub title: String,
    /// When something last happened in it, as the engine writes it; empty if it does not say.
    pub updated_at: String,
    /// The session that it is here, if it is known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<SessionId>,
}

/// The sessions that an engine had in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EarlierSessions {
    /// The sessions, in the engine's order.
    pub sessions: Vec<EarlierSession>,
    /// Whether there are more than are listed.
    pub has_more: bool,
}
