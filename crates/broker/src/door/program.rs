//! The kinds of programs that hand asks in by themselves, and what tells them apart.

use countersign_core::actor::Actor;
use countersign_core::ask::Door;
use countersign_core::session::Session;

/// A kind of program that hands asks in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// An opencode, by its plugin.
    Opencode,
    /// The proxy between an editor and its ACP agent.
    AcpProxy,
}

impl Program {
    const ALL: [Self; 2] = [Self::Opencode, Self::AcpProxy];

    /// The door that its asks come in by.
    pub(super) const fn door(self) -> Door {
        match self {
            Self::Opencode => Door::OpencodePlugin,
            Self::AcpProxy => Door::AcpProxy,
        }
    }

    /// What the engine of its sessions is called.
    pub(super) const fn session_engine(self) -> &'static str {
        match self {
            Self::Opencode => Session::OPENCODE,
            Self::AcpProxy => Session::ACP_PROXY,
        }
    }

    /// What people call it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Opencode => "opencode",
            Self::AcpProxy => "the ACP proxy",
        }
    }

    /// Why a life of it is over that has said so, or whose process has ended.
    pub(super) const fn has_ended(self) -> &'static str {
        match self {
            Self::Opencode => "the opencode that handed asks in has ended",
            Self::AcpProxy => "the ACP proxy that handed asks in has ended",
        }
    }

    /// Why a life of it is over that nothing was heard of.
    pub(super) const fn is_silent(self) -> &'static str {
        match self {
            Self::Opencode => "nothing was heard of the opencode that handed asks in",
            Self::AcpProxy => "nothing was heard of the ACP proxy that handed asks in",
        }
    }

    /// The name of the engine whose asks `actor` hands in. Agents are told apart by their names.
    pub(super) fn engine_of(self, actor: &Actor) -> String {
        format!("{}{}", self.prefix(), actor.name)
    }

    /// Reads what [`Program::engine_of`] wrote.
    pub(super) fn of_engine(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|program| name.starts_with(program.prefix()))
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Opencode => "opencode plugin of ",
            Self::AcpProxy => "ACP proxy of ",
        }
    }
}
