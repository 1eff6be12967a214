//! Actors: who does a thing, and through which surface.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::id::ActorId;

/// What kind of somebody an actor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A human being.
    Person,
    /// A standing answer that somebody made.
    Rule,
    /// A coding agent; it asks and never answers.
    Agent,
    /// A chat bridge, on behalf of the people it knows.
    Bridge,
}

impl ActorKind {
    /// The kind's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Rule => "rule",
            Self::Agent => "agent",
            Self::Bridge => "bridge",
        }
    }

    /// Reads what [`ActorKind::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Person, Self::Rule, Self::Agent, Self::Bridge]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// Who does a thing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub struct Actor {
    /// Its id.
    pub id: ActorId,
    /// What it is.
    pub kind: ActorKind,
    /// What people call it.
    pub name: String,
}

/// Where people see and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The web app.
    Web,
    /// The command line on this machine.
    Cli,
    /// HTTP with a token.
    Api,
    /// No surface: a rule answered.
    Rule,
    /// The engine's own terminal.
    Engine,
    /// A chat on Matrix.
    Matrix,
    /// A chat on Telegram.
    Telegram,
    /// A chat on Discord.
    Discord,
    /// A chat on Slack.
    Slack,
}

impl Surface {
    /// The surface's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Cli => "cli",
            Self::Api => "api",
            Self::Rule => "rule",
            Self::Engine => "engine",
            Self::Matrix => "matrix",
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Slack => "slack",
        }
    }

    /// Reads what [`Surface::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Web,
            Self::Cli,
            Self::Api,
            Self::Rule,
            Self::Engine,
            Self::Matrix,
            Self::Telegram,
            Self::Discord,
            Self::Slack,
        ]
        .into_iter()
        .find(|surface| surface.name() == name)
    }
}
