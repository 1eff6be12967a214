//! Why something asked of the application is not done.

use std::fmt;

use countersign_core::answer::UnfitAnswer;
use countersign_core::grant::Forbidden;
use countersign_core::rule::UnfitRule;
use countersign_core::settings::UnfitSetting;
use countersign_engine::opencode::ClientError;
use countersign_store::StoreError;

use crate::changes::ChangePreview;

/// Why something asked of the application is not done.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The caller may not.
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    /// There is no such thing.
    #[error("there is no {what} `{id}`")]
    Missing {
        /// What kind of thing.
        what: &'static str,
        /// What it was called.
        id: String,
    },
    /// The answer does not fit the ask.
    #[error(transparent)]
    UnfitAnswer(#[from] UnfitAnswer),
    /// The rule cannot be made.
    #[error(transparent)]
    UnfitRule(#[from] UnfitRule),
    /// A value cannot be.
    #[error("`{field}` {problem}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The engine cannot do such a thing; trying again changes nothing.
    #[error("{0}")]
    Unable(String),
    /// The agent does not offer it.
    #[error(transparent)]
    UnfitSetting(#[from] UnfitSetting),
    /// The agent refused it.
    #[error("{0}")]
    Refused(String),
    /// It does not go with how things stand.
    #[error("{0}")]
    Conflict(String),
    /// The workspace's engine cannot be talked to now.
    #[error("{0}")]
    EngineUnavailable(String),
    /// A call to the engine failed.
    #[error(transparent)]
    Engine(ClientError),
    /// The server ends, and with it everything that waits.
    #[error("the server is stopping; ask again when it is back")]
    Stopping,
    /// A change of a workspace's files is not possible.
    #[error(transparent)]
    UnfitChange(#[from] countersign_workspace::Refusal),
    /// What would be written is something else than what was shown.
    #[error("the files changed meanwhile: look at the difference once more")]
    Changed(Box<ChangePreview>),
    /// The ledger failed.
    #[error("the ledger failed")]
    Store(#[from] StoreError),
}

impl BrokerError {
    /// Says that there is no `what` called `id`.
    pub(crate) fn missing(what: &'static str, id: impl fmt::Display) -> Self {
        Self::Missing {
            what,
            id: id.to_string(),
        }
    }
}
