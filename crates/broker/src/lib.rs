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
mod audit_search;
mod changes;
mod door;
mod earlier;
mod error;
mod expiry;
mod figures;
mod follow_up;
mod jobs;
mod kept;
mod live;
mod location;
mod notifications;
mod offered;
mod push;
mod rule_preview;
mod rules;
mod schedules;
mod search;
mod serving;
mod session_settings;
mod sessions;
mod settings;
mod sightings;
mod standstill;
mod supervisor;
mod unstoppable;
mod usual;
mod writes;

pub use access::{Admission, BrowserSecret, NewTokenWish, PairingWish};
pub use acp::{EngineListing, engines_here};
pub use asks::AskContext;
pub use attachments::AttachmentWish;
pub use audit_search::{AuditPage, AuditWish};
pub use changes::{
    Basis, ChangePreview, ConfigHeld, Exported, Holdings, NewerFile, Problem, Proposed, Written,
    problems_of,
};
pub use door::{
    Announced, AskingSession, EngineReply, EngineRequest, Fetched, HandedIn, NamedSession, Placed,
    Program, Reported,
};
pub use earlier::{EarlierSession, EarlierSessions};
pub use error::BrokerError;
pub use figures::{AnswererFigures, DayFigures, Fates, Figures, FiguresWish, ToolFigures, Waits};
pub use jobs::{Changes, Found, HealWish, HealedJob, JobContext, JobWish};
pub use live::LiveWords;
pub use notifications::TargetTried;
pub use push::PushWish;
pub use rule_preview::{Foresight, Match, RuleGuess};
pub use rules::RuleWish;
pub use search::{Excerpt, Finding, Hit, SearchWish};
pub use session_settings::{SettingMade, SettingsContext};
pub use sessions::{NewSessionWish, PromptWish, SessionContext};
pub use settings::{
    ChangeSettings, EngineChoice, ForeignAnswer, JobCaps, Settings, WorkspaceList, WriteMode,
};
pub use supervisor::EngineStatus;
pub use unstoppable::to_the_end;
pub use usual::UsualEngine;
pub use writes::{Leave, Proposal, ProposedFile, Verdict};

// What surfaces get back and wait on is the ledger's own.
pub use countersign_engine::acp::agents::{AgentEntry, SignedIn};
pub use countersign_engine::opencode::Endpoint;
pub use countersign_notify::{PushSettings, Target};
pub use countersign_store::{
    Alarm, Answered, AskFilter, Attached, BridgeMessage, BridgeThread, Chain, ChainVerdict,
    ChatPlace, FOUND, Ground, Inbound, JobFilter, NewBridgeMessage, NewInbound, Opened, Passage,
    Place, QueuedTurn, Record, SoleUse, Store, StoreError,
};

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::event::Event;
use countersign_core::id::WorkspaceId;
use countersign_core::session::Workspace;
use countersign_core::time::Clock;
use countersign_engine::contained::CONTAINED;
use countersign_engine::process::tree;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::acp::Agents;
use crate::changes::FilesOfAll;
use crate::door::Lives;
use crate::live::Live;
use crate::notifications::Notifications;
use crate::sightings::Sightings;
use crate::supervisor::{Supervisor, Supervisors};
use crate::writes::Writers;

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
    supervisors: Supervisors,
    doors: Lives,
    agents: Agents,
    writers: Writers,
    holdings: FilesOfAll,
    notifications: Notifications,
    sightings: Sightings,
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
        let supervisors = Supervisors::default();
        // Before any engine is taken up: what that asks for is told.
        let notifications =
            Notifications::take_up(&settings, &store, &clock, &supervisors, (&tasks, &ending))
                .await?;
        let broker = Self {
            store,
            clock,
            live,
            owner,
            local_proxy,
            supervisors,
            doors,
            agents,
            writers: Writers::new(&ending),
            holdings: FilesOfAll::default(),
            notifications,
            sightings: Sightings::default(),
            ask_expiry: settings.ask_expiry,
            settings,
            tasks,
            ending,
        };
        for (path, name) in &broker.settings.workspaces {
            broker.begin_workspace(path, name, &broker.settings).await?;
        }
        broker.serve_kept().await?;
        broker.serve_jobs().await?;
        broker.begin_upkeep();
        Ok(broker)
    }

    /// Starts what looks after all workspaces.
    fn begin_upkeep(&self) {
        let (store, clock, ending) = (&self.store, &self.clock, &self.ending);
        let tasks = &self.tasks;
        tasks.spawn(expiry::run(store.clone(), clock.clone(), ending.clone()));
        tasks.spawn(expiry::forget(store.clone(), clock.clone(), ending.clone()));
        tasks.spawn(self.sightings.clone().keep(store.clone(), ending.clone()));
        tasks.spawn(
            self.doors
                .clone()
                .watch(store.clone(), clock.clone(), ending.clone()),
        );
        tasks.spawn(jobs::run(self.clone()));
        tasks.spawn(follow_store(store.clone(), ending.clone()));
        tasks.spawn(self.live.clone().run(ending.clone()));
        self.notifications.begin(tasks);
    }

    /// Serves one more workspace, whose opencode somebody else runs, if it has one; it is left alone until it is called
    /// for the first time. One that is served already stays as it is.
    pub async fn add_workspace(
        &self,
        path: &str,
        name: &str,
        engine: Option<Endpoint>,
    ) -> Result<Workspace, StoreError> {
        let endpoints = engine.map(|engine| (path.to_owned(), engine));
        let settings = Settings {
            engine: EngineChoice::AttachWhenCalled(endpoints.into_iter().collect()),
            ..Settings::clone(&self.settings)
        };
        self.begin_workspace(path, name, &Arc::new(settings)).await
    }

    /// Takes up what an earlier server left of a workspace, and looks after it from then on.
    pub(crate) async fn begin_workspace(
        &self,
        path: &str,
        name: &str,
        settings: &Arc<Settings>,
    ) -> Result<Workspace, StoreError> {
        // One at a time: nobody may begin it a second time meanwhile.
        let mut adding = self.supervisors.adding().await;
        let now = self.clock.now();
        let workspace = self.store.ensure_workspace(path, name, now).await?;
        if self.supervisors.of(workspace.id).is_some() {
            return Ok(workspace);
        }
        self.end_earlier_writes(&workspace).await?;
        self.doors.take_up(&self.store, workspace.id).await?;
        self.agents.adopt(&workspace).await?;
        let shared = supervisor::Shared {
            store: self.store.clone(),
            clock: self.clock.clone(),
            live: self.live.clone(),
            settings: Arc::clone(settings),
            workspace: workspace.clone(),
            ending: self.ending.child_token(),
            stopping: self.ending.clone(),
            look_again: Arc::default(),
        };
        adding.push(Supervisor::start(shared, &self.tasks).await?);
        Ok(workspace)
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

    /// Where everything of this server is that nobody else has any business with.
    pub fn data_directory(&self) -> &Path {
        &self.settings.data_directory
    }

    /// Fails unless the ledger answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.store.ping().await
    }

    /// The workspaces and how their engines stand.
    pub fn workspaces(&self) -> Vec<(Workspace, EngineStatus)> {
        let all = self.supervisors.all();
        all.iter()
            .map(|supervisor| (supervisor.workspace().clone(), supervisor.status()))
            .collect()
    }

    /// The version of the engine of `workspace`, if that has said it.
    pub fn engine_version(&self, workspace: WorkspaceId) -> Option<String> {
        self.supervisors.of(workspace)?.status().version
    }

    /// The person that is called `name`, made known if it is new.
    pub async fn know_person(&self, name: &str) -> Result<Actor, StoreError> {
        let now = self.clock.now();
        self.store.actor(ActorKind::Person, name, now).await
    }

    /// Says that somebody has something to say to the engine of `workspace`, which may have been left alone until now.
    pub fn call_engine(&self, workspace: WorkspaceId) {
        if let Ok(supervisor) = self.supervisor(workspace) {
            supervisor.call();
        }
    }

    /// Whose a local process is: only one that is nobody's may speak for a person.
    pub fn place(&self, pid: u32) -> Placed {
        let supervisors = self.supervisors.all();
        let is_kept = supervisors
            .iter()
            .any(|supervisor| supervisor.owns_process(pid))
            || self.agents.own_process(pid)
            // Nor is anybody who descends from a program that may run what an agent configured.
            || tree::descends_from_called(pid, CONTAINED).unwrap_or(true);
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

    fn supervisor(&self, workspace: WorkspaceId) -> Result<Supervisor, BrokerError> {
        self.supervisors
            .of(workspace)
            .ok_or_else(|| BrokerError::missing("workspace", workspace))
    }

    /// The workspace that is meant when none is named.
    fn first_workspace(&self) -> Result<WorkspaceId, BrokerError> {
        let all = self.supervisors.all();
        all.first()
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
