//! The agents that are known: how each is started, what it may be told, and what its words mean.
//!
//! What an "always" of an agent's own means was found out by giving it; see the sentences.

mod known;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::acp::initialize::{HostAbilities, Offer};
use crate::program::find_program;

pub use known::known_agents;

/// An agent that can be started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// What it is called here: `claude`, `codex`.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// The commands that start it; the first that is found is taken.
    pub commands: Vec<StartCommand>,
    /// What to do to have it.
    pub install: String,
    /// How somebody signs in.
    pub sign_in: SignIn,
    /// What it is told that it can have done here.
    pub abilities: HostAbilities,
    /// Which version of the protocol it is offered.
    pub offer: Offer,
    /// What its lasting options mean.
    pub lasting: Vec<LastingOption>,
    /// What its refusal does to the turn.
    pub refusal: RefusalEffect,
    /// When it can go on with an earlier session.
    pub loading: Loading,
    /// More variables that it may inherit; `FOO_*` stands for all that start with `FOO_`.
    pub inherit: Vec<String>,
}

/// A command that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartCommand {
    /// The program's name, or where it is.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// How somebody signs in, and how that can be seen. It is only ever a hint: the agent knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignIn {
    /// What to do.
    pub how: String,
    /// Files, from the home directory, one of which is there once somebody has.
    pub files: Vec<String>,
    /// Variables, one of which is set where somebody signs in that way.
    pub variables: Vec<String>,
}

/// What an option means that an agent remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastingOption {
    /// The option's id; with an empty one, every lasting option that is not named.
    pub id: String,
    /// How far it reaches.
    pub scope: String,
}

/// What a refusal does to a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalEffect {
    /// The agent reads it and goes on.
    #[default]
    GoesOn,
    /// The turn ends with it.
    EndsTurn,
}

/// When an agent can go on with a session of an earlier process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Loading {
    /// At any time.
    #[default]
    AtOnce,
    /// Not within the minute in which the session began: it keeps a session in a file that it names after the minute,
    /// and begins that file anew.
    InAnotherMinute,
}

impl Loading {
    /// From when on a session can be loaded that began at `start`.
    pub fn possible_from(self, start: Timestamp) -> Timestamp {
        const MINUTE: i64 = 60_000_000;
        match self {
            Self::AtOnce => start,
            Self::InAnotherMinute => {
                let minute = start.as_micros().div_euclid(MINUTE);
                Timestamp::from_micros((minute + 1) * MINUTE)
            }
        }
    }
}

/// Whether somebody has signed in, as far as can be seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedIn {
    /// This file or variable says so.
    Seen(String),
    /// Nothing says so.
    NotSeen,
    /// It is not known how it would be seen.
    Unknown,
}

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Agent {
    /// Looks for the agent in the folders of `path`.
    pub fn find(&self, path: &OsStr) -> Option<FoundProgram> {
        self.commands.iter().find_map(|command| {
            Some(FoundProgram {
                program: find_program(&command.program, path)?,
                arguments: command.arguments.clone(),
            })
        })
    }

    /// Whether somebody has signed in. `variables` are the names of those that are set.
    pub fn signed_in(&self, home: &Path, variables: &BTreeSet<String>) -> SignedIn {
        let SignIn {
            files,
            variables: telling,
            ..
        } = &self.sign_in;
        let file = files.iter().find(|file| home.join(file).is_file());
        let variable = telling.iter().find(|name| variables.contains(*name));
        match (variable, file) {
            (Some(seen), _) => SignedIn::Seen(seen.clone()),
            (None, Some(seen)) => SignedIn::Seen(format!("~/{seen}")),
            (None, None) if files.is_empty() && telling.is_empty() => SignedIn::Unknown,
            (None, None) => SignedIn::NotSeen,
        }
    }

    /// What its lasting option `id` means, if that very option is known.
    pub fn lasting_scope(&self, id: &str) -> Option<&str> {
        self.lasting
            .iter()
            .find(|option| option.id == id)
            .map(|option| option.scope.as_str())
    }

    /// What to tell a person before they pick a lasting option.
    pub fn lasting_sentence(&self, id: &str) -> &str {
        self.lasting_scope(id)
            .or_else(|| self.lasting_scope(""))
            .unwrap_or("How far this reaches is the agent's to say, and it is not known here.")
    }
}

/// An agent in the configuration file: one of its own, or a change of a known one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentEntry {
    /// What it is called here.
    pub name: String,
    /// The program that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Names of more variables that it may inherit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// What it is told that it can have done here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<HostAbilities>,
    /// Which version of the protocol it is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Offer>,
}

/// The known agents together with those of the configuration; an entry changes the known one of its name.
///
/// An entry with a command that nobody knows by that name is an agent of its own. What a known agent's
/// lasting options mean does not change with its command.
pub fn agents(entries: &[AgentEntry]) -> Vec<Agent> {
    let mut agents = known_agents();
    for entry in entries {
        let position = agents.iter().position(|agent| agent.name == entry.name);
        let position = position.unwrap_or_else(|| {
            agents.push(Agent {
                name: entry.name.clone(),
                title: entry.name.clone(),
                ..Agent::default()
            });
            agents.len() - 1
        });
        let agent = &mut agents[position];
        if let Some(command) = &entry.command {
            agent.commands = vec![StartCommand {
                program: command.clone(),
                arguments: entry.args.clone(),
            }];
        }
        agent.inherit.extend(entry.env.iter().cloned());
        agent.abilities = entry.capabilities.unwrap_or(agent.abilities);
        agent.offer = entry.protocol.unwrap_or(agent.offer);
    }
    agents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::initialize::{Files, Questions};

    #[test]
    fn every_known_agent_can_be_started_installed_and_signed_in_to() {
        let agents = known_agents();
        let names: BTreeSet<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names.len(), agents.len());
        assert_eq!(agents.len(), 9);
        for agent in &agents {
            assert!(!agent.commands.is_empty() && !agent.install.is_empty());
            assert!(!agent.sign_in.how.is_empty() && !agent.lasting.is_empty());
        }
    }

    #[test]
    fn gemini_is_told_of_no_files_and_codex_ends_the_turn_with_a_refusal() {
        let agents = known_agents();
        let named = |name: &str| agents.iter().find(|agent| agent.name == name).unwrap();
        assert_eq!(named("gemini").abilities.files, Files::None);
        assert_eq!(named("codex").refusal, RefusalEffect::EndsTurn);
        assert_eq!(named("claude").refusal, RefusalEffect::GoesOn);
        assert!(
            named("goose")
                .lasting_sentence("allow_always")
                .contains("every")
        );
        assert!(
            named("claude")
                .lasting_sentence("exit-plan-bypass")
                .contains("without asking")
        );
    }

    #[test]
    fn gemini_loads_a_session_when_the_minute_is_over_in_which_it_began() {
        let agents = known_agents();
        let named = |name: &str| agents.iter().find(|agent| agent.name == name).unwrap();
        let start = Timestamp::from_micros(90_000_001);
        assert_eq!(
            named("gemini").loading.possible_from(start),
            Timestamp::from_micros(120_000_000)
        );
        assert_eq!(named("claude").loading.possible_from(start), start);
    }

    #[test]
    fn an_entry_of_the_configuration_changes_a_known_agent_or_adds_one() {
        let entries: Vec<AgentEntry> = serde_json::from_value(serde_json::json!([
            { "name": "claude", "env": ["MY_*"], "protocol": "two" },
            { "name": "mine", "command": "/opt/mine", "args": ["--acp"],
              "capabilities": { "files": "read_write", "questions": "forms" } },
        ]))
        .unwrap();
        let all = agents(&entries);
        let claude = all.iter().find(|agent| agent.name == "claude").unwrap();
        assert_eq!(claude.offer, Offer::Two);
        assert!(claude.inherit.contains(&"MY_*".to_owned()) && !claude.commands.is_empty());
        let mine = all.last().unwrap();
        assert_eq!(mine.commands[0].program, "/opt/mine");
        assert_eq!(mine.abilities.files, Files::ReadWrite);
        assert_eq!(mine.abilities.questions, Questions::Forms);
        assert!(serde_json::from_str::<AgentEntry>(r#"{"name":"a","comand":"b"}"#).is_err());
    }

    #[test]
    fn signing_in_is_seen_by_a_file_or_a_variable() {
        let home = tempfile::tempdir().unwrap();
        let all = known_agents();
        let codex = all.iter().find(|agent| agent.name == "codex").unwrap();
        let nothing = BTreeSet::new();
        assert_eq!(codex.signed_in(home.path(), &nothing), SignedIn::NotSeen);
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/auth.json"), "{}").unwrap();
        assert_eq!(
            codex.signed_in(home.path(), &nothing),
            SignedIn::Seen("~/.codex/auth.json".to_owned())
        );
        assert_eq!(
            codex.signed_in(home.path(), &BTreeSet::from(["OPENAI_API_KEY".to_owned()])),
            SignedIn::Seen("OPENAI_API_KEY".to_owned())
        );
        assert_eq!(
            Agent::default().signed_in(home.path(), &nothing),
            SignedIn::Unknown
        );
    }
}
