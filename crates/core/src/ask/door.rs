//! Doors: where asks come in, and what goes with that.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where an ask came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// An opencode server that Countersign started or attached to.
    Opencode,
    /// The plugin in an opencode that somebody runs in a terminal.
    OpencodePlugin,
    /// An agent that speaks the Agent Client Protocol, started by Countersign.
    Acp,
    /// The proxy between an editor and an agent that speaks the Agent Client Protocol.
    AcpProxy,
    /// A client of the server that proposes a change of the workspace's files.
    Workspace,
}

impl Door {
    /// Every door there is.
    pub(super) const ALL: [Self; 5] = [
        Self::Opencode,
        Self::OpencodePlugin,
        Self::Acp,
        Self::AcpProxy,
        Self::Workspace,
    ];

    /// The door's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opencode => "opencode",
            Self::OpencodePlugin => "opencode_plugin",
            Self::Acp => "acp",
            Self::AcpProxy => "acp_proxy",
            Self::Workspace => "workspace",
        }
    }

    /// Reads what [`Door::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|door| door.name() == name)
    }

    /// Whether a denial takes the session's other open asks with it.
    pub const fn denies_together(self) -> bool {
        match self {
            Self::Opencode | Self::OpencodePlugin => true,
            Self::Acp | Self::AcpProxy | Self::Workspace => false,
        }
    }

    /// Whether the one who asks gets to read the reason of a denial.
    ///
    /// The Agent Client Protocol has no place for one but the next prompt, and between an editor and its agent
    /// nobody else prompts. The clients that propose writes are told that they were denied, and no more.
    pub const fn tells_reasons(self) -> bool {
        match self {
            Self::Opencode | Self::OpencodePlugin | Self::Acp => true,
            Self::AcpProxy | Self::Workspace => false,
        }
    }
}
