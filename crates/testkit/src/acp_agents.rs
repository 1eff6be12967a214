//! The real ACP agents that tests run: how each is started without the world, made to ask, and answered.
//!
//! Their programs are pinned in `peers/`. Each gets a home directory of its own and the stub model, and asks before
//! it runs a command.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::{RealOpencode, StubModel, peers};

mod configuration;

/// A pinned agent that speaks ACP over its standard input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealAgent {
    /// `opencode acp`.
    Opencode,
    /// Claude Code behind `claude-agent-acp`.
    Claude,
    /// Codex behind `codex-acp`.
    Codex,
    /// `gemini --acp`.
    Gemini,
}

/// What to start. Nothing else may be in the environment but `PATH`, which is left to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// The program, by its whole path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The variables that it needs.
    pub variables: Vec<(String, String)>,
}

/// One of the options that an agent offers with a request for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentOption {
    /// Its `optionId`.
    pub id: &'static str,
    /// Its `kind`.
    pub kind: &'static str,
}

impl RealAgent {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Opencode, Self::Claude, Self::Codex, Self::Gemini];

    /// Returns the name that it gives itself in `initialize`, and its version.
    pub fn identity(self) -> (&'static str, &'static str) {
        match self {
            Self::Opencode => ("OpenCode", "1.18.33"),
            Self::Claude => ("@agentclientprotocol/claude-agent-acp", "0.99.1"),
            Self::Codex => ("@agentclientprotocol/codex-acp", "2.6.0"),
            Self::Gemini => ("gemini-cli", "0.61.0"),
        }
    }

    /// Prepares `home` for it, with `model` behind it, and returns what to start.
    pub fn prepare(self, home: &Path, model: &StubModel) -> AgentCommand {
        let (program, arguments) = match self {
            Self::Opencode => (peers::opencode(), vec!["acp".to_owned()]),
            Self::Claude => {
                peers::node_program("@agentclientprotocol/claude-agent-acp", "dist/index.js")
            }
            Self::Codex => peers::node_program("@agentclientprotocol/codex-acp", "dist/index.js"),
            Self::Gemini => {
                let (node, mut arguments) =
                    peers::node_program("@google/gemini-cli", "bundle/gemini.js");
                arguments.push("--acp".to_owned());
                (node, arguments)
            }
        };
        let variables = match self {
            Self::Opencode => RealOpencode::environment(home, &model.base_url()),
            Self::Claude => configuration::claude(home, &model.root_url()),
            Self::Codex => configuration::codex(home, &model.base_url()),
            Self::Gemini => configuration::gemini(home, &model.root_url()),
        };
        AgentCommand {
            program,
            arguments,
            variables,
        }
    }

    /// Returns the mode that a new session must be put into (`session/set_mode`) before it asks, if it does not ask
    /// by itself.
    pub fn asking_mode(self) -> Option<&'static str> {
        match self {
            // In its own default mode a second model decides.
            Self::Codex => Some("read-only"),
            Self::Opencode | Self::Claude | Self::Gemini => None,
        }
    }

    /// Puts all of them, by the names that people install them under, and the Node.js that they need into `directory`,
    /// which is then for a `PATH`.
    pub fn install(directory: &Path) {
        fs::create_dir_all(directory).expect("the directory can be made");
        let script = |package: &str, script: &str| {
            let (_, arguments) = peers::node_program(package, script);
            PathBuf::from(&arguments[0])
        };
        let programs = [
            ("node", peers::node()),
            ("opencode", peers::opencode()),
            (
                "claude-agent-acp",
                script("@agentclientprotocol/claude-agent-acp", "dist/index.js"),
            ),
            (
                "codex-acp",
                script("@agentclientprotocol/codex-acp", "dist/index.js"),
            ),
            ("gemini", script("@google/gemini-cli", "bundle/gemini.js")),
        ];
        for (name, program) in programs {
            symlink(program, directory.join(name)).expect("the directory can be written");
        }
    }

    /// Returns the line of a prompt that makes the model ask for a shell command.
    pub fn shell_directive(self, command: &str) -> String {
        match self {
            Self::Opencode | Self::Claude | Self::Gemini => format!("TOOL bash: {command}"),
            Self::Codex => {
                // What stays in its sandbox runs unasked.
                let arguments = json!({
                    "cmd": command,
                    "sandbox_permissions": "require_escalated",
                    "justification": "stub",
                });
                format!("TOOLJSON exec_command {arguments}")
            }
        }
    }

    /// Returns the options that it offers for a shell command, in its order.
    pub fn shell_options(self) -> [AgentOption; 3] {
        let options = match self {
            Self::Opencode => [
                ("once", "allow_once"),
                ("always", "allow_always"),
                ("reject", "reject_once"),
            ],
            Self::Claude => [
                ("allow-once", "allow_once"),
                ("allow-with-updates", "allow_always"),
                ("reject", "reject_once"),
            ],
            Self::Codex => [
                ("allow_once", "allow_once"),
                ("accept_execpolicy_amendment", "allow_always"),
                ("cancel", "reject_once"),
            ],
            Self::Gemini => [
                ("proceed_always", "allow_always"),
                ("proceed_once", "allow_once"),
                ("cancel", "reject_once"),
            ],
        };
        options.map(|(id, kind)| AgentOption { id, kind })
    }

    /// Returns the stop reason of a turn whose only request was refused with `reject_once`.
    pub fn stop_reason_after_refusal(self) -> &'static str {
        match self {
            Self::Opencode | Self::Claude | Self::Gemini => "end_turn",
            // The only refusal that it offers ends the turn.
            Self::Codex => "cancelled",
        }
    }
}
