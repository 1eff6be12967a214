//! The application: who may do what, the life of asks and sessions, and the engines behind them.
//!
//! Surfaces call [`Broker`]; every method checks the caller's grants first. Behind it each workspace has a
//! supervisor that owns its engine, takes in what the engine says, and carries answers to it. What matters
//! is in the store before anybody hears of it; tasks are woken by the store and never the other way round.

mod access;
mod acp;
mod asks;
mod attachments;
mod audit;
mod door;
mod earlier;
mod error;
mod expiry;
mod kept;
mod live;
mod rules;
mod session_settings;
mod sessions;
mod settings;
mod supervisor;
mod usual;

pub use access::{Admission, BrowserSecret, NewTokenWish};
pub use acp::{EngineListing, engines_here};
pub use asks::AskContext;
pub use attachments::AttachmentWish;
pub use door::{
    Announced, AskingSession, EngineReply, EngineRequest, Fetched, HandedIn, NamedSession, Placed,
    Program, Reported,
};
pub use earlier::{EarlierSession, EarlierSessions};
pub use error::BrokerError;
pub use live::LiveWords;
pub use rules::RuleWish;
pub use session_settings::{SettingMade, SettingsContext};
pub use sessions::{NewSessionWish, PromptWish, SessionContext};
pub use settings::{EngineChoice, ForeignAnswer, Settings};
pub use supervisor::EngineStatus;
pub use usual::UsualEngine;

// What surfaces get back and wait on is the ledger's own.
pub use countersign_engine::acp::agents::{AgentEntry, SignedIn};
pub use countersign_store::{
    Alarm, Answered, AskFilter, Attached, ChainVerdict, Opened, Store, StoreError,
};

use std::sync::Arc;
use std::time::Duration;

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::event::Event;
use countersign_core::id::WorkspaceId;
use countersign_core::session::Workspace;
use countersign_core::time::Clock;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::acp::Agents;
use crate::door::Lives;
use crate::live::Live;
use crate::supervisor::Supervisor;

/// What the proxies of this machine are called that come without a token.
const LOCAL_PROXY: &str = "acp-proxy";

/// The application.
#[derive(Clone)]
pub struct Broker {
    store: Store,
    clock: Clock,
    live: Live,
    owner: Actor,
    /// Who the proxies of this machine are that come without a token.
    local_proxy: Actor,
    supervisors: Arc<[Supervisor]>,
    doors: Lives,
    agents: Agents,
    settings: Arc<Settings>,
    ask_expiry: Option<Duration>,
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl Broker {
    /// Starts the application on `store`: adds the workspaces, takes up the engines that outlived the last
    /// server or starts new ones, and goes on with what was left undone.
    pub async fn start(store: Store, settings: Settings, clock: Clock) -> Result<Self, StoreError> {
        let tasks = TaskTracker::new();
        let ending = CancellationToken::new();
        let live = Live::new();
        let owner = store
            .actor(ActorKind::Person, &settings.owner_name, clock.now())
            .await?;
        let local_proxy = store
            .actor(ActorKind::Agent, LOCAL_PROXY, clock.now())
            .await?;
        let settings = Arc::new(settings);
        let doors = Lives::default();
        let agents = Agents::new(acp::Shared {
            store: store.clone(),
            clock: clock.clone(),
            live: live.clone(),
            settings: Arc::clone(&settings),
            tasks: tasks.clone(),
            ending: ending.clone(),
        });
        let mut supervisors = Vec::with_capacity(settings.workspaces.len());
        for (path, name) in &settings.workspaces {
            let workspace = store.ensure_workspace(path, name, clock.now()).await?;
            doors.take_up(&store, workspace.id).await?;
            agents.adopt(&workspace).await?;
            let shared = supervisor::Shared {
                store: store.clone(),
                clock: clock.clone(),
                live: live.clone(),
                settings: Arc::clone(&settings),
                workspace,
                ending: ending.clone(),
            };
            supervisors.push(Supervisor::start(shared, &tasks).await?);
        }
        tasks.spawn(expiry::run(store.clone(), clock.clone(), ending.clone()));
        tasks.spawn(expiry::forget(store.clone(), clock.clone(), ending.clone()));
        tasks.spawn(
            doors
                .clone()
                .watch(store.clone(), clock.clone(), ending.clone()),
        );
        tasks.spawn(follow_store(store.clone(), ending.clone()));
        tasks.spawn(live.clone().run(ending.clone()));
        Ok(Self {
            store,
            clock,
            live,
            owner,
            local_proxy,
            supervisors: supervisors.into(),
            doors,
            agents,
            ask_expiry: settings.ask_expiry,
            settings,
            tasks,
            ending,
        })
    }

    /// Ends in order: engines that we started end with everything they started, then the tasks.
    pub async fn stop(&self) {
        self.ending.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }

    /// What time it is here.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Fails unless the ledger answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.store.ping().await
    }

    /// The workspaces and how their engines stand.
    pub fn workspaces(&self) -> Vec<(Workspace, EngineStatus)> {
        self.supervisors
            .iter()
            .map(|supervisor| (supervisor.workspace().clone(), supervisor.status()))
            .collect()
    }

    /// Whose a local process is: only one that is nobody's may speak for a person.
    pub fn place(&self, pid: u32) -> Placed {
        let is_kept = self
            .supervisors
            .iter()
            .any(|supervisor| supervisor.owns_process(pid))
            || self.agents.own_process(pid);
        if is_kept {
            Placed::Engines
        } else {
            self.doors.place(pid)
        }
    }

    /// The number of the newest event, and every change of it.
    pub fn head(&self) -> watch::Receiver<i64> {
        self.store.head()
    }

    /// The events after number `after`, at most `limit` of them, in order.
    ///
    /// The read is a task of its own: this is called from within response bodies, which are left alone
    /// while a client does not read, and one that is left alone must not keep the ledger's connection.
    pub async fn events_after(&self, after: i64, limit: i64) -> Result<Vec<Event>, StoreError> {
        let store = self.store.clone();
        let read = self
            .tasks
            .spawn(async move { store.events_after(after, limit).await });
        // It fails only by panicking, or with the runtime; then there is nothing more to tell.
        read.await.unwrap_or_else(|_| Ok(Vec::new()))
    }

    /// The number of the oldest event that is kept, if there is one.
    pub async fn oldest_event(&self) -> Result<Option<i64>, StoreError> {
        self.store.oldest_event().await
    }

    /// Words as agents say them.
    pub fn words(&self) -> LiveWords {
        self.live.words()
    }

    fn supervisor(&self, workspace: WorkspaceId) -> Result<&Supervisor, BrokerError> {
        self.supervisors
            .iter()
            .find(|supervisor| supervisor.workspace().id == workspace)
            .ok_or_else(|| BrokerError::missing("workspace", workspace))
    }

    /// The workspace that is meant when none is named.
    fn first_workspace(&self) -> Result<WorkspaceId, BrokerError> {
        self.supervisors
            .first()
            .map(|supervisor| supervisor.workspace().id)
            .ok_or_else(|| BrokerError::missing("workspace", "(none is served)"))
    }
}

/// Keeps the head true to what other replicas write, and to what a lost wake-up would have said.
async fn follow_store(store: Store, ending: CancellationToken) {
    const LOOK_AGAIN: Duration = Duration::from_secs(1);
    loop {
        let follow = tokio::time::timeout(LOOK_AGAIN, store.follow_replicas());
        let outcome = tokio::select! {
            () = ending.cancelled() => return,
            outcome = follow => outcome,
        };
        if let Ok(Err(error)) = outcome {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "lost touch with the other replicas"
            );
            tokio::select! {
                () = ending.cancelled() => return,
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
        if let Err(error) = store.refresh_head().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger does not answer"
            );
        }
    }
}
