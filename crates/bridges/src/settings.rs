//! What a bridge is told at its start, and the adapter that is made of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::discord::Discord;
use crate::matrix::Matrix;
use crate::slack::Slack;
use crate::telegram::Telegram;
use crate::{Adapter, Platform};

/// What one bridge is told at its start.
#[derive(Debug, Clone)]
pub struct BridgeSettings {
    /// The platform.
    pub platform: Platform,
    /// Where the platform's API is; its usual address if it is not said. Without a slash at its end.
    pub url: Option<String>,
    /// The bot's token.
    pub token: Secret,
    /// A second token, for platforms that have two: Slack's app-level one.
    pub app_token: Option<Secret>,
    /// Who may answer asks, in the order in which they are asked; of channels that say nothing else.
    pub approvers: Vec<Approver>,
    /// Who may talk to agents besides the approvers; in channels that say nothing else.
    pub people: People,
    /// The channels. In others nothing is done; direct messages are taken as the first channel says.
    pub channels: Vec<ChannelSettings>,
}

/// What is done in one channel.
#[derive(Debug, Clone)]
pub struct ChannelSettings {
    /// What the platform calls it.
    pub id: String,
    /// The workspace, by its path or name; the first if it is not said.
    pub workspace: Option<String>,
    /// The engine; the usual one if it is not said.
    pub engine: Option<String>,
    /// The model; the engine's own if it is not said.
    pub model: Option<String>,
    /// Who may answer asks, in place of the bridge's.
    pub approvers: Option<Vec<Approver>>,
    /// Who may talk to agents, in place of the bridge's.
    pub people: Option<People>,
    /// Where asks go.
    pub asks: AsksGo,
    /// Whether asks of the workspace come here that belong to no thread: those of jobs and of the page.
    pub workspace_asks: bool,
    /// The folder, below the session's directory, whose files are sent when a turn has made or changed them.
    pub files: Option<String>,
    /// When people are reminded.
    pub patience: Patience,
}

/// Somebody who may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    /// What the platform calls them, for good.
    pub id: String,
    /// The person of Countersign that they are.
    pub actor: String,
}

/// Who may talk to agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum People {
    /// The approvers alone.
    #[default]
    Approvers,
    /// These as well, by the platform's ids.
    Named(Vec<String>),
    /// Everybody who can write there.
    Everybody,
}

/// Where asks go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AsksGo {
    /// To the thread that they belong to.
    #[default]
    Channel,
    /// To the direct messages of the approvers.
    Direct,
    /// To both.
    Both,
}

/// When people are reminded of an ask that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// After so long the approver who is asked is reminded; never if it is not said.
    pub remind_after: Option<Duration>,
    /// After so long the next approver is asked as well, and so on; never if it is not said.
    pub escalate_after: Option<Duration>,
}

/// A secret, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` from being shown.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the one header that it goes into.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a bridge cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnfitBridge {
    /// Something has to be said.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// Something cannot be.
    #[error("`{field}` {problem}")]
    Invalid {
        /// What.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// The adapter of a bridge.
pub fn adapter_of(settings: &BridgeSettings) -> Result<Arc<dyn Adapter>, UnfitBridge> {
    match settings.platform {
        Platform::Matrix => {
            let url = settings.url.as_deref().ok_or(UnfitBridge::Missing("url"))?;
            Ok(Arc::new(Matrix::new(url, settings.token.clone())?))
        }
        Platform::Telegram => {
            let url = settings.url.as_deref();
            Ok(Arc::new(Telegram::new(url, settings.token.clone())?))
        }
        Platform::Slack => {
            let app_token = settings.app_token.clone();
            let app_token = app_token.ok_or(UnfitBridge::Missing("app_token_file"))?;
            let channels = settings.channels.iter().map(|it| it.id.clone()).collect();
            let (url, token) = (settings.url.as_deref(), settings.token.clone());
            Ok(Arc::new(Slack::new(url, token, app_token, channels)?))
        }
        Platform::Discord => {
            let channels = settings.channels.iter().map(|channel| channel.id.as_str());
            let url = settings.url.as_deref();
            Ok(Arc::new(Discord::new(url, &settings.token, channels)?))
        }
    }
}
