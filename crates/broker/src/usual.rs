//! Which engine is meant when none is named. Whoever starts a session and whoever tells a person ask here, so that
//! what is told is what happens.

use std::path::PathBuf;

use countersign_core::session::Session;
use countersign_engine::opencode::{Endpoint, find_program};

use crate::Broker;
use crate::acp::DEMO;
use crate::settings::EngineChoice;

/// The engine that prompts go to when none is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsualEngine {
    /// An opencode that we start.
    Opencode {
        /// Its program.
        program: PathBuf,
    },
    /// An opencode that somebody else runs.
    Attached {
        /// Where it listens.
        address: String,
    },
    /// An ACP agent.
    Agent {
        /// What it is called here.
        name: String,
        /// What people call it.
        title: String,
    },
    /// The agent that is built in.
    Demo,
    /// None: a session needs one to be named.
    None,
}

impl UsualEngine {
    /// What a session with it names as its engine; nothing if there is none.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Opencode { .. } | Self::Attached { .. } => Some(Session::OPENCODE),
            Self::Agent { name, .. } => Some(name),
            Self::Demo => Some(DEMO),
            Self::None => None,
        }
    }
}

impl Broker {
    /// The engine that is meant when none is named: opencode wherever there is one.
    pub fn usual_engine(&self) -> UsualEngine {
        let agent = match &self.settings.engine {
            EngineChoice::Attach(endpoint) => {
                return UsualEngine::Attached {
                    address: endpoint.address(),
                };
            }
            EngineChoice::Start { program, .. } | EngineChoice::StartWhenCalled { program, .. } => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                if let Some(program) = program.clone().or_else(|| find_program(&path)) {
                    return UsualEngine::Opencode { program };
                }
                self.agents.usual()
            }
            EngineChoice::AttachWhenCalled(endpoints) if !endpoints.is_empty() => {
                let addresses = endpoints.values().map(Endpoint::address);
                return UsualEngine::Attached {
                    address: addresses.collect::<Vec<_>>().join(", "),
                };
            }
            // Nothing is started that nobody named.
            EngineChoice::AttachWhenCalled(_) | EngineChoice::None => {
                self.agents.usual_of_configuration()
            }
        };
        agent.unwrap_or(UsualEngine::None)
    }
}
