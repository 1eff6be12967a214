//! Durable state on SQLite or PostgreSQL: the ledger.
//!
//! One public method is one transaction. A change of state is a compare-and-set that reports whether it
//! won; it writes its audit entry, its events and, where there is something to carry to an engine, its
//! outbox row in the same transaction. Nobody hears of a change before it is committed.

mod alarms;
mod asks;
mod attachments;
mod audit;
mod bridges;
mod database;
mod deliveries;
mod earlier;
mod engines;
mod error;
mod events;
mod figures;
mod file;
mod jobs;
mod notifications;
mod push;
mod rules;
mod schedules;
mod search;
mod sessions;
mod settings;
mod sole_use;
mod sql;
mod tokens;
mod transcript;
mod turns;
mod verifications;
mod workspaces;
mod write;
mod writes;

#[cfg(test)]
mod tests;

pub use alarms::{Alarm, NewAlarm};
pub use asks::{Answered, AnsweredOpen, AskFilter, NewAsk, Opened};
pub use attachments::Attached;
pub use audit::{ChainVerdict, Record};
pub use bridges::{BridgeMessage, BridgeThread, ChatPlace, Inbound, NewBridgeMessage, NewInbound};
pub use deliveries::Parcel;
pub use earlier::{Earlier, TakenUp};
pub use engines::{Engine, Run};
pub use error::{DatabaseError, StoreError};
pub use figures::{AnsweredCount, Slice, SliceFigures, UnansweredCount};
pub use file::Ground;
pub use jobs::{Busy, JobEnd, JobFilter, Queue};
pub use notifications::{Happened, NotificationFilter};
pub use push::{NewPushDevice, PushDevice};
pub use search::{LookedAt, Passage, Place};
pub use settings::{Choice, ChoiceFate};
pub use sole_use::SoleUse;
pub use tokens::{NewToken, Pairing};
pub use turns::{NewTurn, QueuedTurn};
pub use verifications::{Chain, Verified};
pub use workspaces::EngineStart;
pub use writes::{FOUND, Writer};

use std::path::Path;

use tokio::sync::watch;

use crate::database::Db;
use crate::tokens::KnownTokens;

/// The ledger.
#[derive(Debug, Clone)]
pub struct Store {
    db: Db,
    /// The number of the newest event; it changes after each commit that wrote one.
    head: watch::Sender<i64>,
    /// Tokens that were looked up.
    tokens: KnownTokens,
}

impl Store {
    /// Opens the SQLite database at `path`, and makes it if it is not there.
    pub async fn open_sqlite(path: &Path) -> Result<Self, StoreError> {
        Self::ready(Db::open_sqlite(path).await?).await
    }

    /// Opens the PostgreSQL database at `url`.
    pub async fn open_postgres(url: &str) -> Result<Self, StoreError> {
        Self::ready(Db::open_postgres(url).await?).await
    }

    async fn ready(db: Db) -> Result<Self, StoreError> {
        let store = Self {
            db,
            head: watch::Sender::new(0),
            tokens: KnownTokens::default(),
        };
        store.refresh_head().await?;
        Ok(store)
    }

    /// Fails unless the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.refresh_head().await.map(drop)
    }

    /// Closes the connections; everything committed is on disk already.
    pub async fn close(&self) {
        self.db.close().await;
    }
}
