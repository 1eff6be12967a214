//! `[bridges.…]`: the chats that the server is in, checked as a whole before it starts.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use countersign_bridges::{
    Approver, AsksGo, BridgeSettings, ChannelSettings, Patience, People, Platform, Secret,
};
use serde::Deserialize;

/// What a variable with a secret begins with: such ones are never passed on to agents.
const OURS: &str = "COUNTERSIGN_";
/// What stands for everybody among the people.
const EVERYBODY: &str = "*";

/// `[bridges]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BridgesConfig {
    pub(crate) matrix: Option<BridgeConfig>,
    pub(crate) telegram: Option<BridgeConfig>,
    pub(crate) discord: Option<BridgeConfig>,
    pub(crate) slack: Option<BridgeConfig>,
}

/// `[bridges.matrix]` and the like.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BridgeConfig {
    /// Where the platform's API is; its usual address if it is not said.
    url: Option<String>,
    /// The file that holds the bot's token, or the variable.
    token_file: Option<PathBuf>,
    token_env: Option<String>,
    /// Slack's app-level token.
    app_token_file: Option<PathBuf>,
    app_token_env: Option<String>,
    /// Who may answer asks, in the order in which they are asked.
    #[serde(default)]
    approvers: Vec<ApproverConfig>,
    /// Who may talk to agents besides them, by the platform's ids; `*` is everybody.
    #[serde(default)]
    people: Vec<String>,
    /// `[[bridges.….channels]]`
    #[serde(default)]
    channels: Vec<ChannelConfig>,
}

/// One of `approvers`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApproverConfig {
    /// What the platform calls them, for good.
    id: String,
    /// The person of Countersign that they are.
    actor: String,
}

/// `[[bridges.….channels]]`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChannelConfig {
    /// What the platform calls it.
    id: String,
    /// The workspace, by path or name.
    workspace: Option<String>,
    engine: Option<String>,
    model: Option<String>,
    /// In place of the bridge's.
    approvers: Option<Vec<ApproverConfig>>,
    /// In place of the bridge's.
    people: Option<Vec<String>>,
    /// Where asks go.
    #[serde(default)]
    asks: AsksConfig,
    /// Whether asks of the workspace come here that belong to no thread.
    #[serde(default)]
    workspace_asks: bool,
    /// The folder of the workspace whose files are sent when a turn has made or changed them.
    files: Option<String>,
    /// After how many seconds the approver is reminded of an ask.
    remind_after_s: Option<u64>,
    /// After how many seconds the next approver is asked.
    escalate_after_s: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AsksConfig {
    #[default]
    Channel,
    Direct,
    Both,
}

impl BridgesConfig {
    /// The same without the workspaces of the channels, for whoever does not know which are served.
    pub(crate) fn anywhere(mut self) -> Self {
        let bridges = [
            &mut self.matrix,
            &mut self.telegram,
            &mut self.discord,
            &mut self.slack,
        ];
        for bridge in bridges.into_iter().flatten() {
            for channel in &mut bridge.channels {
                channel.workspace = None;
            }
        }
        self
    }

    /// The bridges that are configured, for a server of `workspaces`, or what is wrong with one of them.
    pub(crate) fn settings(
        self,
        workspaces: &[(String, String)],
    ) -> anyhow::Result<Vec<BridgeSettings>> {
        let configured = [
            (Platform::Matrix, self.matrix),
            (Platform::Telegram, self.telegram),
            (Platform::Discord, self.discord),
            (Platform::Slack, self.slack),
        ];
        let mut settings = Vec::new();
        for (platform, config) in configured {
            let Some(config) = config else {
                continue;
            };
            let made = config
                .into_settings(platform, workspaces)
                .and_then(|made| {
                    countersign_bridges::adapter_of(&made)?;
                    Ok(made)
                })
                .with_context(|| format!("`[bridges.{}]` cannot be", platform.name()))?;
            settings.push(made);
        }
        Ok(settings)
    }
}

impl BridgeConfig {
    fn into_settings(
        self,
        platform: Platform,
        workspaces: &[(String, String)],
    ) -> anyhow::Result<BridgeSettings> {
        let token = secret(
            "token",
            self.token_file.as_deref(),
            self.token_env.as_deref(),
            workspaces,
        )?
        .context("there is no token: say `token_file` or `token_env`")?;
        let app_token = secret(
            "app_token",
            self.app_token_file.as_deref(),
            self.app_token_env.as_deref(),
            workspaces,
        )?;
        ensure!(
            !self.channels.is_empty(),
            "it has no `[[bridges.{}.channels]]`: nothing would ever be done",
            platform.name()
        );
        let mut known = BTreeSet::new();
        let mut channels = Vec::new();
        for channel in self.channels {
            ensure!(
                known.insert(channel.id.clone()),
                "the channel `{}` is there twice",
                channel.id
            );
            channels.push(channel.into_settings(workspaces)?);
        }
        Ok(BridgeSettings {
            platform,
            url: self.url.map(|url| url.trim_end_matches('/').to_owned()),
            token,
            app_token,
            approvers: approvers(self.approvers)?,
            people: people(self.people),
            channels,
        })
    }
}

impl ChannelConfig {
    fn into_settings(self, workspaces: &[(String, String)]) -> anyhow::Result<ChannelSettings> {
        let workspace = match self.workspace {
            Some(named) => Some(resolved(&named, workspaces).with_context(|| {
                format!(
                    "the channel `{}` is for the workspace `{named}`, which is not served",
                    self.id
                )
            })?),
            None => None,
        };
        Ok(ChannelSettings {
            workspace,
            engine: self.engine,
            model: self.model,
            approvers: self.approvers.map(approvers).transpose()?,
            people: self.people.map(people),
            asks: match self.asks {
                AsksConfig::Channel => AsksGo::Channel,
                AsksConfig::Direct => AsksGo::Direct,
                AsksConfig::Both => AsksGo::Both,
            },
            workspace_asks: self.workspace_asks,
            files: self.files,
            patience: Patience {
                remind_after: self.remind_after_s.map(Duration::from_secs),
                escalate_after: self.escalate_after_s.map(Duration::from_secs),
            },
            id: self.id,
        })
    }
}

/// The path of a workspace that is served, by its path or its name.
fn resolved(named: &str, workspaces: &[(String, String)]) -> Option<String> {
    let path = std::fs::canonicalize(named).ok();
    let path = path.as_deref().and_then(Path::to_str);
    let found = workspaces
        .iter()
        .find(|(known, name)| Some(known.as_str()) == path || name == named);
    found.map(|(path, _)| path.clone())
}

fn approvers(configured: Vec<ApproverConfig>) -> anyhow::Result<Vec<Approver>> {
    let mut known = BTreeSet::new();
    let mut approvers = Vec::new();
    for approver in configured {
        let (id, actor) = (approver.id.trim(), approver.actor.trim());
        ensure!(
            !id.is_empty() && !actor.is_empty(),
            "an approver has an `id`, by which the platform knows them, and an `actor`, which they are here"
        );
        ensure!(
            id != EVERYBODY,
            "not everybody can be an approver: name them"
        );
        ensure!(
            known.insert(id.to_owned()),
            "the approver `{id}` is there twice"
        );
        approvers.push(Approver {
            id: id.to_owned(),
            actor: actor.to_owned(),
        });
    }
    Ok(approvers)
}

fn people(configured: Vec<String>) -> People {
    if configured.iter().any(|id| id == EVERYBODY) {
        People::Everybody
    } else if configured.is_empty() {
        People::Approvers
    } else {
        People::Named(configured)
    }
}

/// A secret, from a file that nobody else can read or from a variable that no agent is given.
fn secret(
    what: &str,
    file: Option<&Path>,
    variable: Option<&str>,
    workspaces: &[(String, String)],
) -> anyhow::Result<Option<Secret>> {
    let text = match (file, variable) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => bail!("`{what}_file` and `{what}_env` are both there: say one"),
        (Some(file), None) => {
            let shown = file.display();
            let path = file
                .canonicalize()
                .with_context(|| format!("`{what}_file` cannot be found: `{shown}`"))?;
            ensure!(
                !workspaces
                    .iter()
                    .any(|(workspace, _)| path.starts_with(workspace)),
                "`{what}_file` lies in a workspace, where agents read and write. Put it elsewhere"
            );
            let metadata = path
                .metadata()
                .with_context(|| format!("`{shown}` cannot be read"))?;
            let is_private = metadata.mode().trailing_zeros() >= 6;
            ensure!(
                is_private,
                "`{what}_file` can be read by others; `chmod 600` it"
            );
            std::fs::read_to_string(&path).with_context(|| format!("`{shown}` cannot be read"))?
        }
        (None, Some(name)) => {
            ensure!(
                name.starts_with(OURS),
                "the variable of `{what}_env` has to begin with `{OURS}`: such ones are never passed on to agents"
            );
            std::env::var(name).with_context(|| format!("the variable `{name}` is not set"))?
        }
    };
    let text = text.trim();
    ensure!(!text.is_empty(), "the `{what}` is empty");
    Ok(Some(Secret::new(text)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn read(text: &str) -> BridgesConfig {
        toml::from_str(text).unwrap()
    }

    fn token_file(folder: &Path, mode: u32) -> PathBuf {
        let file = folder.join("token");
        std::fs::write(&file, "syt_secret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    fn matrix(token: &Path, rest: &str) -> BridgesConfig {
        // An adapter has a client. Fails only when a provider is in place already, which is just as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        read(&format!(
            "[matrix]\nurl = 'http://127.0.0.1:8008/'\ntoken_file = '{}'\n{rest}",
            token.display()
        ))
    }

    #[test]
    fn a_bridge_is_read_and_its_secret_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let token = token_file(folder.path(), 0o600);
        let config = matrix(
            &token,
            "approvers = [{ id = '@alice:localhost', actor = 'alice' }]\npeople = ['*']\n\
             [[matrix.channels]]\nid = '!room'\nworkspace = 'app'\nasks = 'both'\nremind_after_s = 60\n",
        );
        let served = [("/srv/app".to_owned(), "app".to_owned())];
        let settings = config.settings(&served).unwrap().remove(0);
        assert_eq!(settings.url.as_deref(), Some("http://127.0.0.1:8008"));
        assert_eq!(settings.people, People::Everybody);
        assert_eq!(settings.channels[0].workspace.as_deref(), Some("/srv/app"));
        assert_eq!(settings.channels[0].asks, AsksGo::Both);
        assert!(!format!("{settings:?}").contains("syt_secret"));
    }

    #[test]
    fn slack_has_two_secrets_which_are_not_mistaken_for_each_other() {
        // An adapter has a client. Fails only when a provider is in place already, which is just as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let folder = tempfile::tempdir().unwrap();
        let [bot, app] = ["xoxb-secret", "xapp-secret"].map(|secret| {
            let file = token_file(folder.path(), 0o600);
            let own = folder.path().join(secret);
            std::fs::rename(file, &own).unwrap();
            std::fs::write(&own, secret).unwrap();
            own.display().to_string()
        });
        let slack = |secrets: &str| {
            let text = format!("[slack]\n{secrets}\n[[slack.channels]]\nid = 'C1'\n");
            read(&text).settings(&[])
        };
        let settings = slack(&format!("token_file = '{bot}'\napp_token_file = '{app}'"));
        let settings = settings.unwrap().remove(0);
        assert!(settings.url.is_none() && settings.app_token.is_some());
        assert!(!format!("{settings:?}").contains("-secret"));
        for (secrets, wanted) in [
            (
                format!("token_file = '{bot}'"),
                "`app_token_file` is missing",
            ),
            (format!("app_token_file = '{app}'"), "there is no token"),
            (
                format!("token_file = '{app}'\napp_token_file = '{bot}'"),
                "`token` is not a bot's",
            ),
            (
                format!("token_file = '{bot}'\napp_token_env = 'SLACK_APP'"),
                "COUNTERSIGN_",
            ),
        ] {
            let error = format!("{:#}", slack(&secrets).unwrap_err());
            assert!(
                error.contains(wanted) && !error.contains("-secret"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_cannot_be_is_said_before_the_server_starts() {
        let folder = tempfile::tempdir().unwrap();
        let token = token_file(folder.path(), 0o600);
        let channel = "[[matrix.channels]]\nid = '!room'\n";
        let wrong = |config: BridgesConfig| format!("{:#}", config.settings(&[]).unwrap_err());
        assert!(wrong(matrix(&token, "")).contains("channels"));
        let twice = format!("{channel}{channel}");
        assert!(wrong(matrix(&token, &twice)).contains("twice"));
        let everybody = format!("approvers = [{{ id = '*', actor = 'x' }}]\n{channel}");
        assert!(wrong(matrix(&token, &everybody)).contains("not everybody"));
        let elsewhere = format!("{channel}workspace = 'other'\n");
        assert!(wrong(matrix(&token, &elsewhere)).contains("not served"));
        token_file(folder.path(), 0o644);
        assert!(wrong(matrix(&token, channel)).contains("chmod 600"));
        let shared = "[matrix]\nurl = 'http://x'\ntoken_env = 'MATRIX_TOKEN'\n[[matrix.channels]]\nid = 'r'\n";
        assert!(wrong(read(shared)).contains("COUNTERSIGN_"));
        let unknown = toml::from_str::<BridgesConfig>("[matrix]\nchanels = []\n").unwrap_err();
        assert!(unknown.message().contains("unknown field `chanels`"));
    }
}
