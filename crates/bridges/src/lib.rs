//! Chat bridges: talk to an agent and answer its asks where people already are.
//!
//! A bridge is a client of the same ledger as the page: what it keeps besides is which thread of a chat is which session,
//! what is still to be said there, and what was taken in already; all of that are rows of the ledger. The core knows
//! people, threads, cards and order; an [`Adapter`] knows one platform and decides nothing. Whoever adds a platform reads
//! [`adapter`] first.

pub mod adapter;
mod asks;
mod bridge;
mod card;
mod commands;
pub mod discord;
mod files;
mod http;
mod inbox;
mod intake;
mod ledger;
pub mod matrix;
mod saying;
mod schedules;
mod settings;
pub mod slack;
pub mod telegram;
pub mod text;

pub use adapter::Adapter;
pub use intake::{Batch, Intake, Stopped};
pub use schedules::{Cron, InvalidCron, ScheduleSettings, ScheduledJob, To};
pub use settings::{
    Approver, AsksGo, BridgeSettings, ChannelSettings, Patience, People, Secret, UnfitBridge,
    adapter_of,
};

use std::fmt;
use std::sync::Arc;

use countersign_broker::{Broker, Store};
use countersign_core::actor::Surface;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bridge::Bridge;
use crate::schedules::Scheduler;

/// The bridges of a server, at work.
pub struct Bridges {
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl Bridges {
    /// Starts a bridge for each of `settings`, over `broker` and the ledger that it is on, and what is done by `schedules`.
    pub fn start(
        broker: &Broker,
        store: &Store,
        settings: Vec<BridgeSettings>,
        schedules: Vec<ScheduleSettings>,
    ) -> Result<Self, UnfitBridge> {
        let bridges = Self {
            tasks: TaskTracker::new(),
            ending: CancellationToken::new(),
        };
        let mut begun = Vec::new();
        for settings in settings {
            let bridge = Bridge {
                adapter: adapter_of(&settings)?,
                broker: broker.clone(),
                store: store.clone(),
                clock: broker.clock().clone(),
                settings: Arc::new(settings),
                came: Arc::new(Notify::new()),
                said: Arc::new(Notify::new()),
                to_say: Arc::new(Notify::new()),
                ending: bridges.ending.clone(),
            };
            bridge.begin(&bridges.tasks);
            begun.push(bridge);
        }
        let scheduler = Scheduler::new(broker, store, begun, bridges.ending.clone());
        bridges.tasks.spawn(scheduler.keep(schedules));
        Ok(bridges)
    }

    /// Ends them; what is not said is said by the next server.
    pub async fn stop(&self) {
        self.ending.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// A chat platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Platform {
    /// Matrix, by its client-server API.
    Matrix,
    /// Telegram, by long polling.
    Telegram,
    /// Discord, by its gateway.
    Discord,
    /// Slack, in socket mode.
    Slack,
}

impl Platform {
    /// Every platform.
    pub const ALL: [Self; 4] = [Self::Matrix, Self::Telegram, Self::Discord, Self::Slack];

    /// Its name in the configuration and in the ledger.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Slack => "slack",
        }
    }

    /// What people call it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Matrix => "Matrix",
            Self::Telegram => "Telegram",
            Self::Discord => "Discord",
            Self::Slack => "Slack",
        }
    }

    /// The surface that answers from there come by.
    pub const fn surface(self) -> Surface {
        match self {
            Self::Matrix => Surface::Matrix,
            Self::Telegram => Surface::Telegram,
            Self::Discord => Surface::Discord,
            Self::Slack => Surface::Slack,
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
