//! Tokens: what is kept of one. The secret itself is shown once and never stored.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::actor::Actor;
use crate::grant::Grants;
use crate::id::{TokenId, WorkspaceId};
use crate::time::Timestamp;

/// What holds a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// A program: the secret goes into the `Authorization` header.
    Bearer,
    /// A paired browser: the secret is in its cookie.
    Browser,
}

impl TokenKind {
    /// The kind's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Browser => "browser",
        }
    }

    /// Reads what [`TokenKind::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Bearer, Self::Browser]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// What people call it.
    pub name: String,
    /// What holds it.
    pub kind: TokenKind,
    /// Who acts with it.
    pub actor: Actor,
    /// What it lets its actor do.
    pub grants: Grants,
    /// The one workspace it is for, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// What it is used on, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// When it was made.
    pub made_at: Timestamp,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to a few minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
}

impl Token {
    /// Whether it still opens anything.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}
