//! The configuration file: TOML, in which an unknown key is an error with a suggestion.

pub(crate) mod bridges;
pub(crate) mod notify;
pub(crate) mod schedules;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use countersign_broker::{AgentEntry, JobCaps, PushSettings};
use countersign_server::Limits;
use serde::Deserialize;

use self::bridges::BridgesConfig;
use self::notify::NotifyConfig;
use self::schedules::ScheduleConfig;

/// How close a known key has to be to be suggested.
const CLOSE: f64 = 0.7;

/// The configuration file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// What people call whoever sits at this machine; the login name if it is not said.
    pub(crate) owner: Option<String>,
    /// The address of a PostgreSQL database.
    pub(crate) database: Option<String>,
    pub(crate) server: ServerConfig,
    pub(crate) engine: EngineConfig,
    pub(crate) asks: AsksConfig,
    pub(crate) writes: WritesConfig,
    pub(crate) jobs: JobsConfig,
    /// `[[agents]]`: ACP agents, more of them or changes of the known ones.
    pub(crate) agents: Vec<AgentEntry>,
    /// `[[notify]]`: whom to tell of what happens.
    pub(crate) notify: Vec<NotifyConfig>,
    pub(crate) push: PushConfig,
    /// `[bridges.…]`: the chats that the server is in.
    pub(crate) bridges: BridgesConfig,
    /// `[[schedules]]`: prompts that are given at set times.
    pub(crate) schedules: Vec<ScheduleConfig>,
}

/// `[server]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerConfig {
    /// The port.
    pub(crate) port: Option<u16>,
    /// Names under which browsers may reach the server besides localhost, as `host` or `host:port`.
    pub(crate) public_hosts: Vec<String>,
    /// Where other devices reach the server, through a proxy: `https://countersign.example/agents`.
    pub(crate) public_url: Option<String>,
    /// Whether a reverse proxy that sets `x-forwarded-proto` stands in front.
    pub(crate) behind_proxy: bool,
    /// The path under which a reverse proxy serves us, as `/countersign`.
    pub(crate) path_prefix: Option<String>,
    /// Connections at once.
    pub(crate) connections: Option<NonZeroUsize>,
    /// Connections besides, for people at this machine.
    pub(crate) socket_connections: Option<NonZeroUsize>,
    /// Streams and waiting requests that one token may have open at once.
    pub(crate) streams_per_token: Option<NonZeroUsize>,
}

impl ServerConfig {
    /// How much of everything the server allows.
    pub(crate) fn limits(&self) -> Limits {
        let usual = Limits::default();
        let or = |chosen: Option<NonZeroUsize>, usual| chosen.map_or(usual, NonZeroUsize::get);
        Limits {
            connections: or(self.connections, usual.connections),
            socket_connections: or(self.socket_connections, usual.socket_connections),
            streams_per_token: or(self.streams_per_token, usual.streams_per_token),
            ..usual
        }
    }
}

/// `[push]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PushConfig {
    /// How the people of a push service reach whoever runs this server: `mailto:…` or `https://…`.
    pub(crate) contact: Option<String>,
    /// Whether browsers may name push services that are not in the public network.
    pub(crate) private_endpoints: bool,
}

impl PushConfig {
    /// What pushes go out with; `hosts` are the names under which browsers reach the server.
    pub(crate) fn settings(self, hosts: &[String]) -> anyhow::Result<PushSettings> {
        if let Some(contact) = &self.contact
            && !["mailto:", "https://"]
                .iter()
                .any(|it| contact.starts_with(it))
        {
            bail!("`contact` in `[push]` has to begin with `mailto:` or `https://`");
        }
        let own_address = || hosts.first().map(|host| format!("https://{host}"));
        Ok(PushSettings {
            contact: self.contact.or_else(own_address),
            private_endpoints: self.private_endpoints,
        })
    }
}

/// `[engine]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EngineConfig {
    /// The opencode program; looked for on the `PATH` if it is not said.
    pub(crate) program: Option<PathBuf>,
    /// Names of more variables that it may inherit; `NAME_*` stands for several.
    pub(crate) environment: Vec<String>,
    /// What happens when somebody answers past the ledger.
    pub(crate) foreign_answer: ForeignAnswerConfig,
    /// Tools of opencode's that may act without an ask: custom tools that do not ask and that you trust.
    pub(crate) unasked_tools: Vec<String>,
    /// For how many seconds an engine goes on without a server.
    pub(crate) lonely_limit_s: Option<u64>,
    /// An opencode that runs already.
    pub(crate) attach: Option<AttachConfig>,
}

/// `[engine.attach]`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttachConfig {
    /// Its base URL, perhaps with a path prefix.
    pub(crate) url: String,
    /// The user; `opencode` if it is not said.
    #[serde(default)]
    pub(crate) username: Option<String>,
    /// The file that holds the password.
    #[serde(default)]
    pub(crate) password_file: Option<PathBuf>,
}

/// `foreign_answer`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ForeignAnswerConfig {
    /// Raise the alarm and stop the session.
    #[default]
    Abort,
    /// Raise the alarm.
    Alarm,
}

/// `[asks]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AsksConfig {
    /// After how many seconds an ask that nobody answered ends; never if it is not said.
    pub(crate) expire_after_s: Option<u64>,
}

/// `[writes]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WritesConfig {
    /// Who is asked before a workspace's files are written.
    pub(crate) approval: ApprovalConfig,
}

/// `approval`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalConfig {
    /// Somebody else, always: nobody approves what they propose
    #[default]
    Ask,
    /// Nobody, where whoever writes may approve: for one person who does both
    Auto,
}

/// `[jobs]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JobsConfig {
    /// How many jobs run at a time in one workspace.
    pub(crate) per_workspace: Option<u32>,
    /// How many jobs run at a time with one engine, in all workspaces.
    pub(crate) per_engine: Option<u32>,
    /// After how many seconds without anything to do a server ends that was started in the background.
    pub(crate) idle_exit_s: Option<u64>,
}

impl JobsConfig {
    /// How many jobs run at a time.
    pub(crate) fn caps(&self) -> JobCaps {
        let usual = JobCaps::default();
        JobCaps {
            per_workspace: self.per_workspace.unwrap_or(usual.per_workspace).max(1),
            per_engine: self.per_engine.unwrap_or(usual.per_engine).max(1),
        }
    }
}

impl Config {
    /// Reads `file`, or the file in its usual place if there is one.
    pub(crate) fn load(file: Option<&Path>) -> anyhow::Result<Self> {
        let (path, required) = match file {
            Some(file) => (file.to_owned(), true),
            None => match usual_place() {
                Some(path) => (path, false),
                None => return Ok(Self::default()),
            },
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                Self::read(&text).with_context(|| format!("failed to read `{}`", path.display()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => {
                Ok(Self::default())
            }
            Err(error) => {
                Err(error).with_context(|| format!("failed to open `{}`", path.display()))
            }
        }
    }

    fn read(text: &str) -> anyhow::Result<Self> {
        match toml::from_str(text) {
            Ok(config) => Ok(config),
            Err(error) => match suggestion(error.message()) {
                Some(key) => bail!("{error}did you mean `{key}`?"),
                None => bail!("{error}"),
            },
        }
    }
}

fn usual_place() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))?;
    Some(base.join("countersign").join("config.toml"))
}

/// The known key or value that is closest to the unknown one that `message` names.
fn suggestion(message: &str) -> Option<String> {
    let (_, rest) = message
        .split_once("unknown field `")
        .or_else(|| message.split_once("unknown variant `"))?;
    let (unknown, rest) = rest.split_once('`')?;
    rest.split('`')
        .skip(1)
        .step_by(2)
        .map(|known| (strsim::jaro_winkler(unknown, known), known))
        .filter(|(likeness, _)| *likeness > CLOSE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push_services_are_told_whom_to_write_to() {
        let hosts = ["desk.example".to_owned()];
        let settings = |text: &str| Config::read(text).unwrap().push.settings(&hosts);
        let contact = |text: &str| settings(text).unwrap().contact;
        assert_eq!(contact("").as_deref(), Some("https://desk.example"));
        let said = contact("[push]\ncontact = 'mailto:ada@desk.example'");
        assert_eq!(said.as_deref(), Some("mailto:ada@desk.example"));
        let error = settings("[push]\ncontact = 'ada'").unwrap_err().to_string();
        assert!(error.contains("mailto:"), "{error}");
    }

    #[test]
    fn an_unknown_key_is_an_error_with_a_suggestion() {
        let error = Config::read("[server]\nprot = 1\n")
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 2"), "{error}");
        assert!(error.contains("did you mean `port`?"), "{error}");
        let error = Config::read("[engine]\nforeign_anser = \"abort\"\n")
            .unwrap_err()
            .to_string();
        assert!(error.contains("did you mean `foreign_answer`?"), "{error}");
        let error = Config::read("[bridges.matrix]\naprovers = []\n")
            .unwrap_err()
            .to_string();
        assert!(error.contains("did you mean `approvers`?"), "{error}");
    }

    #[test]
    fn everything_can_be_said() {
        let config = Config::read(
            "owner = 'ada'\n[server]\nport = 9000\npublic_hosts = ['desk.example']\n\
             public_url = 'https://desk.example/agents'\n\
             path_prefix = '/countersign'\n[push]\ncontact = 'mailto:ada@desk.example'\nprivate_endpoints = true\n\
             [engine]\nforeign_answer = 'alarm'\nenvironment = ['DATABASE_*']\n\
             [engine.attach]\nurl = 'http://127.0.0.1:4096'\n[asks]\nexpire_after_s = 60\n\
             [writes]\napproval = 'auto'\n\
             [jobs]\nper_workspace = 2\nper_engine = 0\nidle_exit_s = 60\n\
             [[agents]]\nname = 'mine'\ncommand = '/opt/mine'\nargs = ['--acp']\nenv = ['MINE_*']\n\
             protocol = 'two'\ncapabilities = { files = 'none', terminal = false, questions = 'forms' }\n",
        )
        .unwrap();
        assert_eq!(config.server.port, Some(9000));
        assert_eq!(config.engine.foreign_answer, ForeignAnswerConfig::Alarm);
        assert_eq!(config.asks.expire_after_s, Some(60));
        assert_eq!(config.writes.approval, ApprovalConfig::Auto);
        assert_eq!(config.agents[0].name, "mine");
        let caps = config.jobs.caps();
        assert_eq!((caps.per_workspace, caps.per_engine), (2, 1));
    }
}
