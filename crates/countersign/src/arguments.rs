//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use countersign_cli::ClientCommand;

use crate::config::ApprovalConfig;

/// The port that is used if nothing is said.
pub(crate) const DEFAULT_PORT: u16 = 8787;

/// One place for your coding agents' asks: answered once, by somebody who may, and proved to have arrived
#[derive(Debug, Parser)]
#[command(name = "countersign", version, after_help = countersign_cli::help::EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start everything for the current folder and open the page
    #[command(after_help = UP_EXAMPLES)]
    Up(Up),
    /// Serve workspaces until stopped
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    #[command(flatten)]
    Client(Box<ClientCommand>),
    /// Stand between an editor and its ACP agent, so that the agent's asks can be answered here too
    #[command(after_help = ACP_PROXY_HELP)]
    AcpProxy(countersign_acp_proxy::Arguments),
    /// Stand where OpenWork's server stands: its flags, its endpoints, its files
    #[command(disable_help_flag = true, after_help = OPENWORK_HELP)]
    OpenworkServer {
        /// The flags of OpenWork's server; `--help` lists them
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "FLAGS"
        )]
        words: Vec<String>,
    },
    /// Look after the chats that the configuration names
    #[command(after_help = BRIDGES_EXAMPLES)]
    Bridges(Bridges),
    /// Be an ACP agent on standard input and output that needs no model: to try things out, and for tests
    #[command(after_help = DEMO_AGENT_HELP)]
    DemoAgent,
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Run a program that may start what an agent configured (started by the server and by commands, not by people)
    #[command(hide = true, name = countersign_engine::contained::CONTAINED)]
    Contained {
        #[arg(last = true, required = true)]
        words: Vec<std::ffi::OsString>,
    },
    /// Keep an engine (started by the server, not by people)
    #[command(hide = true)]
    Keeper {
        #[arg(long)]
        run_directory: PathBuf,
    },
}

/// Look after the chats that the configuration names
#[derive(Debug, Args)]
pub(crate) struct Bridges {
    #[command(subcommand)]
    pub(crate) act: BridgesAct,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BridgesAct {
    /// Try each credential and what is needed in each channel, and say what is missing
    Check(CheckBridges),
}

#[derive(Debug, Args)]
pub(crate) struct CheckBridges {
    /// Read the configuration from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A folder that is to be served, so that the channels' workspaces are looked at too; can be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `serve` and `up` have in common.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Options {
    /// Listen on this port of 127.0.0.1 [default: 8787]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Start no agent; asks come in by other doors
    #[arg(long)]
    pub(crate) no_engine: bool,
    /// Attach to an opencode that runs already; its password is read from `OPENCODE_SERVER_PASSWORD`
    #[arg(long, value_name = "URL", conflicts_with = "no_engine")]
    pub(crate) attach: Option<String>,
    /// Who is asked before a workspace's files are written [default: ask]
    #[arg(long, value_name = "WHO")]
    pub(crate) approval: Option<ApprovalConfig>,
    /// Keep the ledger in PostgreSQL instead of the data directory
    #[arg(
        long,
        value_name = "URL",
        env = "COUNTERSIGN_DATABASE",
        hide_env_values = true
    )]
    pub(crate) database: Option<String>,
    /// Read the configuration from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Log as JSON
    #[arg(long)]
    pub(crate) log_json: bool,
}

/// Serve workspaces until stopped
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// A folder in which an agent works; can be given several times [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Vec<PathBuf>,
    /// Serve for the commands that started it, and end when there is nothing to do (said by them, not by people)
    #[arg(long, hide = true)]
    pub(crate) in_background: bool,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// Start everything for the current folder and open the page
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// The folder in which the agent works
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) options: Options,
}

const UP_EXAMPLES: &str = "\
Examples:
  countersign up                   serve the current folder and open the page
  countersign up ~/src/app --port 9000
  countersign up --no-open         print the pairing link, open nothing";

const SERVE_EXAMPLES: &str = "\
Examples:
  countersign serve --workspace ~/src/app
  countersign serve --workspace ~/src/app --attach http://127.0.0.1:4096
  countersign serve --workspace . --no-engine --port 9000
  countersign serve --database postgres://countersign@db/countersign";

const BRIDGES_EXAMPLES: &str = "\
Examples:
  countersign bridges check
  countersign bridges check --config ./config.toml --json

It changes nothing and needs no server. It ends with 0 if everything is well and with 1 if something is missing.";

const ACP_PROXY_HELP: &str = "\
Examples:
  countersign acp-proxy -- claude-agent-acp
  countersign acp-proxy -- opencode acp
  countersign acp-proxy --url https://countersign.example --token-file ~/.agent-token -- gemini --acp

Give this command to your editor in place of the agent's own. Everything passes unchanged. What the agent asks is in the \
editor and in Countersign; whoever answers first wins, and the other side is told. Without a server the editor answers \
alone, and asks that are still open are handed in when there is one. The session's folder has to be in a workspace of \
the server. The reason of a denial stays in Countersign: only the editor prompts the agent. A token is needed elsewhere \
than on the server's machine, and its role is `agent`; the agent gets to see neither it nor any other variable that \
begins with COUNTERSIGN_.

It ends as the agent does, with the agent's exit code, and leaves nothing running.";

const OPENWORK_HELP: &str = "\
Examples:
  countersign openwork-server --workspace ~/src/app
  countersign openwork-server --workspace ~/src/app --approval auto --port 9000
  ln -s \"$(command -v countersign)\" ~/bin/openwork-server      to be given to an orchestrator as its server program";

const DEMO_AGENT_HELP: &str = "\
It speaks ACP version 1, one JSON message a line, and ends when its input ends. In a session it does a short scripted \
piece of work (a read, a question, an edit, a command), asks before each act, and does what it is told. The prompt \
`help` explains the rest, with the directives by which tests script it. Sessions are kept in \
$XDG_STATE_HOME/countersign-demo-agent.

Examples:
  countersign prompt --engine demo \"show me what you do\"
  acpx --agent 'countersign demo-agent' exec help          with another ACP client";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(countersign completions bash)
  countersign completions fish > ~/.config/fish/completions/countersign.fish";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_and_those_that_call_a_server_speak_json() {
        let program = Arguments::command();
        let shown = program
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        for command in shown {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string);
            let has_examples = help.is_some_and(|help| help.contains("Examples:\n"));
            assert!(has_examples, "`{name}` has no examples");
            let own = [
                "up",
                "serve",
                "completions",
                "demo-agent",
                "acp-proxy",
                "openwork-server",
                "bridges",
            ];
            let calls = !own.contains(&name);
            let speaks_json = command
                .get_arguments()
                .any(|argument| argument.get_long() == Some("json"));
            assert_eq!(speaks_json, calls, "{name}");
        }
    }
}
