//! The agents that can be started here: the known ones, those of the configuration, and the demo agent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use countersign_core::session::Session;
use countersign_engine::acp::agents::{
    Agent, AgentEntry, FoundProgram, SignedIn, StartCommand, agents,
};
use countersign_engine::acp::initialize::{HostAbilities, Questions};
use countersign_engine::opencode::find_program;

use crate::settings::EngineChoice;

/// The agent that is always there and needs no model.
pub(crate) const DEMO: &str = "demo";
/// What opencode is called as an ACP agent: by its plain name it is talked to in its own way. The configuration may say
/// either, for it is about ACP agents alone.
const OPENCODE_ACP: &str = "opencode-acp";

/// An agent, and whether it could be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineListing {
    /// What it is called here.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Where its program was found.
    pub program: Option<String>,
    /// Whether somebody has signed in, as far as can be seen from outside.
    pub signed_in: SignedIn,
    /// What to do before it can be used, or to use it; empty if nothing is known.
    pub advice: String,
}

/// The agents that can be started here.
#[derive(Debug)]
pub(super) struct Roster {
    agents: Vec<Agent>,
    /// The names of those that the configuration names.
    configured: Vec<String>,
}

impl Roster {
    /// The agents with what the configuration says of them; `own_program` is also the demo agent.
    pub(super) fn new(entries: &[AgentEntry], own_program: &Path) -> Self {
        let entries = entries.iter().cloned();
        let entries: Vec<AgentEntry> = entries
            .map(|mut entry| {
                if entry.name == OPENCODE_ACP {
                    Session::OPENCODE.clone_into(&mut entry.name);
                }
                entry
            })
            .collect();
        let mut all = agents(&entries);
        for agent in &mut all {
            if agent.name == Session::OPENCODE {
                OPENCODE_ACP.clone_into(&mut agent.name);
                "opencode (ACP)".clone_into(&mut agent.title);
            }
        }
        // Of the demo agent only what it is offered can be configured.
        let entry = entries.iter().rfind(|entry| entry.name == DEMO);
        let abilities = entry.and_then(|entry| entry.capabilities);
        all.retain(|agent| agent.name != DEMO);
        all.push(demo(own_program, abilities));
        let names = entries.into_iter().map(|entry| match entry.name.as_str() {
            Session::OPENCODE => OPENCODE_ACP.to_owned(),
            _ => entry.name,
        });
        Self {
            agents: all,
            configured: names.collect(),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// The agent that is meant when none is named: one of the configuration, else one that is installed, else the one
    /// that needs nothing.
    pub(super) fn usual(&self) -> Option<&Agent> {
        // The demo agent is the last of all.
        self.usual_of_configuration()
            .or_else(|| self.agents.iter().find(|agent| is_usable(agent)))
    }

    /// The first agent of the configuration that can be started.
    pub(super) fn usual_of_configuration(&self) -> Option<&Agent> {
        self.agents
            .iter()
            .find(|agent| self.configured.contains(&agent.name) && is_usable(agent))
    }

    /// All of them, and opencode as `engine` says that it is talked to in its own way.
    pub(super) fn listing(&self, engine: &EngineChoice) -> Vec<EngineListing> {
        let signs = Signs::of_this_process();
        let acp = self.agents.iter().map(|agent| {
            let program = find(agent).map(|found| found.program);
            listed(agent, program, &signs)
        });
        self.opencode(engine, &signs)
            .into_iter()
            .chain(acp)
            .collect()
    }

    /// opencode, talked to in its own way.
    fn opencode(&self, engine: &EngineChoice, signs: &Signs) -> Option<EngineListing> {
        match engine {
            EngineChoice::None => None,
            EngineChoice::Start { program, .. } | EngineChoice::StartWhenCalled { program, .. } => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let program = program.clone().or_else(|| find_program(&path));
                let own = Agent {
                    name: Session::OPENCODE.to_owned(),
                    title: "opencode".to_owned(),
                    ..self.get(OPENCODE_ACP)?.clone()
                };
                Some(listed(&own, program, signs))
            }
            EngineChoice::Attach(endpoint) => {
                Some(attached(format!("opencode at {}", endpoint.address())))
            }
            EngineChoice::AttachWhenCalled(_) => {
                Some(attached("opencode of the workspace".to_owned()))
            }
        }
    }
}

/// An opencode that somebody else runs.
fn attached(title: String) -> EngineListing {
    EngineListing {
        name: Session::OPENCODE.to_owned(),
        title,
        program: None,
        signed_in: SignedIn::Unknown,
        advice: String::new(),
    }
}

/// What shows from outside whether somebody has signed in.
struct Signs {
    home: PathBuf,
    variables: BTreeSet<String>,
}

impl Signs {
    fn of_this_process() -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        Self {
            home: home.unwrap_or_default(),
            variables: variables.collect(),
        }
    }
}

/// What is said of an agent whose program was looked for.
fn listed(agent: &Agent, program: Option<PathBuf>, signs: &Signs) -> EngineListing {
    let signed_in = agent.signed_in(&signs.home, &signs.variables);
    let advice = match (&program, &signed_in) {
        (None, _) if agent.install.is_empty() => {
            let wanted = agent.commands.first();
            wanted.map_or_else(
                || "its `command` is missing in the configuration".to_owned(),
                |command| format!("`{}` was not found", command.program),
            )
        }
        (None, _) => format!("install it: {}", agent.install),
        (Some(_), SignedIn::NotSeen) => format!("sign in: {}", agent.sign_in.how),
        (Some(_), SignedIn::Seen(_) | SignedIn::Unknown) => String::new(),
    };
    EngineListing {
        name: agent.name.clone(),
        title: agent.title.clone(),
        program: program.map(|program| program.display().to_string()),
        signed_in,
        advice,
    }
}

/// The engines that a server with these settings would find on this machine.
pub fn engines_here(
    engine: &EngineChoice,
    agents: &[AgentEntry],
    own_program: &Path,
) -> Vec<EngineListing> {
    Roster::new(agents, own_program).listing(engine)
}

/// Looks for an agent's program where a shell would.
pub(super) fn find(agent: &Agent) -> Option<FoundProgram> {
    agent.find(&std::env::var_os("PATH").unwrap_or_default())
}

fn is_usable(agent: &Agent) -> bool {
    find(agent).is_some()
}

fn demo(own_program: &Path, abilities: Option<HostAbilities>) -> Agent {
    Agent {
        name: DEMO.to_owned(),
        title: "Demo agent".to_owned(),
        commands: vec![StartCommand {
            program: own_program.display().to_string(),
            arguments: vec!["demo-agent".to_owned()],
        }],
        abilities: abilities.unwrap_or(HostAbilities {
            questions: Questions::Forms,
            ..HostAbilities::default()
        }),
        ..Agent::default()
    }
}
