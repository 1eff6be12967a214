//! One supervisor for each workspace: it owns the workspace's engine, takes in what the engine says, and
//! carries answers to it.

mod all;
mod calling;
mod cancel;
mod courier;
mod earlier;
mod engine;
mod flights;
mod foreign;
mod held;
mod intake;
mod lookout;
mod offers;
mod reconcile;
mod rules;
mod run;
mod session;
mod turn;
mod turn_end;
mod unasked;
mod unended;
mod unheard;
mod usage;
mod verdict;

pub(crate) use all::Supervisors;
pub(crate) use cancel::cancel_turn;
pub(crate) use courier::{DENIED, NOBODY_ANSWERED, announcement, wording};
pub(crate) use earlier::{list_earlier, take_up_earlier};
pub(crate) use foreign::fell_with;
pub(crate) use session::{UNNAMED_AGENT, remember_session, remember_session_as};
pub(crate) use turn::{message_id, part_id, send_or_hold, split_model};

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::event::EnginePhase;
use countersign_core::id::RunId;
use countersign_core::session::Workspace;
use countersign_core::time::Clock;
use countersign_engine::opencode::{Opencode, PermissionRule};
use countersign_engine::process::{ProcessIdentity, tree};
use countersign_store::{Store, StoreError};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::BrokerError;
use crate::kept::worktrees_of;
use crate::live::Live;
use crate::settings::{EngineChoice, Settings};
use crate::supervisor::offers::KeptOffers;

/// How a workspace's engine stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineStatus {
    /// What it is.
    pub program: String,
    /// Its version, once it is known.
    pub version: Option<String>,
    /// How it stands.
    pub phase: EnginePhase,
    /// A sentence about it.
    pub message: String,
    /// Its present life.
    pub run: Option<RunId>,
}

/// An engine that can be talked to.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// The life that it is.
    pub(crate) run: RunId,
    /// How it is talked to.
    pub(crate) client: Opencode,
    /// Whether we started it: then nobody else has any business answering it.
    pub(crate) ours: bool,
    /// Held while a session is being made at our own wish, until it is in the ledger.
    pub(crate) making: Arc<tokio::sync::Mutex<()>>,
    /// Requests that we refuse ourselves to tidy up; their announcements mean nothing.
    pub(crate) tidied: Arc<Mutex<std::collections::HashSet<String>>>,
    /// The rules that each session was given last, by the engine's own ids.
    imposed: Arc<Mutex<HashMap<String, Vec<PermissionRule>>>>,
    /// What it offers, as it was read last.
    offers: KeptOffers,
}

impl Link {
    pub(crate) fn new(run: RunId, client: Opencode, ours: bool) -> Self {
        Self {
            run,
            client,
            ours,
            making: Arc::default(),
            tidied: Arc::default(),
            imposed: Arc::default(),
            offers: KeptOffers::default(),
        }
    }

    /// Notes that a session has `rules` last.
    pub(crate) fn note_imposed(&self, native_id: &str, rules: Vec<PermissionRule>) {
        let mut imposed = self.imposed.lock().unwrap_or_else(PoisonError::into_inner);
        imposed.insert(native_id.to_owned(), rules);
    }

    /// Forgets what sessions were given: what they have to be given may be something else now.
    fn forget_imposed(&self) {
        let mut imposed = self.imposed.lock().unwrap_or_else(PoisonError::into_inner);
        imposed.clear();
    }

    /// The rules that a session was given last, as far as this server knows.
    fn imposed(&self, native_id: &str) -> Option<Vec<PermissionRule>> {
        let imposed = self.imposed.lock().unwrap_or_else(PoisonError::into_inner);
        imposed.get(native_id).cloned()
    }

    /// Notes that we are about to refuse `request` to tidy up.
    pub(crate) fn note_tidied(&self, request: &str) {
        self.tidied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(request.to_owned());
    }

    pub(crate) fn is_tidied(&self, request: &str) -> bool {
        self.tidied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(request)
    }
}

/// What everything in a supervisor shares.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) live: Live,
    pub(crate) settings: Arc<Settings>,
    pub(crate) workspace: Workspace,
    /// The end of this supervisor: with the server, or with its workspace.
    pub(crate) ending: CancellationToken,
    /// The end of the server.
    pub(crate) stopping: CancellationToken,
    /// Somebody wants what the engine holds to be read again.
    pub(crate) look_again: Arc<Notify>,
}

impl Shared {
    /// Why an engine ends together with its supervisor.
    pub(crate) fn why_ending(&self) -> String {
        if self.stopping.is_cancelled() {
            "Countersign was stopped".to_owned()
        } else {
            "the workspace was removed".to_owned()
        }
    }

    /// Whether sessions that work in `directory` belong to this workspace: they work in the workspace itself, or in a
    /// worktree that a job of it has.
    pub(crate) fn is_ours(&self, directory: &str) -> bool {
        let worktrees = worktrees_of(&self.settings.data_directory, self.workspace.id);
        directory == self.workspace.path || Path::new(directory).starts_with(worktrees)
    }
}

/// Why an engine is to begin another life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Restart {
    /// Somebody wants it to.
    #[default]
    Wanted,
    /// Somebody answered past Countersign for good, and nothing of that may stay.
    ForeignAlways,
    /// A turn had to be stopped and could not be.
    Unstoppable,
}

impl Restart {
    /// Why the life before it ended.
    const fn why(self) -> &'static str {
        match self {
            Self::Wanted => "somebody restarted it",
            Self::ForeignAlways => "engine reloaded after a foreign answer",
            Self::Unstoppable => "a turn could not be stopped",
        }
    }
}

/// What the supervisor's tasks report to its handle.
#[derive(Clone)]
pub(crate) struct Report {
    status: watch::Sender<EngineStatus>,
    link: watch::Sender<Option<Link>>,
    keepers: Arc<Mutex<Vec<ProcessIdentity>>>,
    /// Somebody has something to say to the engine.
    called: Arc<Notify>,
    /// Whether somebody ever had.
    was_called: Arc<AtomicBool>,
    /// How often somebody wanted the engine to begin another life.
    restarts: watch::Sender<Restart>,
}

impl Report {
    fn status(&self, change: impl FnOnce(&mut EngineStatus)) {
        self.status.send_modify(change);
    }

    fn keeper(&self, keeper: ProcessIdentity) {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.retain(|known| known.is_alive());
        keepers.push(keeper);
    }
}

/// A workspace's supervisor, as the rest of the application sees it.
#[derive(Clone)]
pub(crate) struct Supervisor {
    workspace: Workspace,
    report: Report,
    look_again: Arc<Notify>,
    /// What it may do with its engine.
    hold: Hold,
    /// Whether the engine is left alone until somebody needs it.
    waits_to_be_called: bool,
    ending: CancellationToken,
    /// Cancelled when nothing of it runs any more.
    over: CancellationToken,
}

/// Whose a workspace's engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// There is none.
    None,
    /// We start and end it.
    Ours,
    /// Somebody else runs it.
    Foreign,
}

impl Supervisor {
    /// Finds out what became of the workspace's engine, and looks after it from then on. When this returns
    /// every keeper that outlived the last server is known, so that no agent is taken for a person.
    pub(crate) async fn start(shared: Shared, tasks: &TaskTracker) -> Result<Self, StoreError> {
        let (program, message) = match &shared.settings.engine {
            EngineChoice::None => ("none", "this workspace has no engine of its own"),
            EngineChoice::Start { .. } => ("opencode", "opencode is about to start"),
            EngineChoice::StartWhenCalled { .. } => {
                ("opencode", "opencode is started when it is needed")
            }
            EngineChoice::Attach(_) => ("opencode", "opencode has not been reached yet"),
            EngineChoice::AttachWhenCalled(_) => ("opencode", "opencode has not been called yet"),
        };
        let report = Report {
            status: watch::Sender::new(EngineStatus {
                program: program.to_owned(),
                version: None,
                phase: match shared.settings.engine {
                    EngineChoice::None
                    | EngineChoice::StartWhenCalled { .. }
                    | EngineChoice::AttachWhenCalled(_) => EnginePhase::Absent,
                    EngineChoice::Start { .. } | EngineChoice::Attach(_) => EnginePhase::Starting,
                },
                message: message.to_owned(),
                run: None,
            }),
            link: watch::Sender::new(None),
            keepers: Arc::default(),
            called: Arc::default(),
            was_called: Arc::default(),
            restarts: watch::Sender::default(),
        };
        let hold = match &shared.settings.engine {
            EngineChoice::None => Hold::None,
            EngineChoice::Start { .. } | EngineChoice::StartWhenCalled { .. } => Hold::Ours,
            EngineChoice::Attach(_) | EngineChoice::AttachWhenCalled(_) => Hold::Foreign,
        };
        let waits_to_be_called = match &shared.settings.engine {
            EngineChoice::StartWhenCalled { .. } | EngineChoice::AttachWhenCalled(_) => true,
            EngineChoice::None | EngineChoice::Start { .. } | EngineChoice::Attach(_) => false,
        };
        let workspace = shared.workspace.clone();
        let adopted = match shared.settings.engine {
            EngineChoice::None
            | EngineChoice::Start { .. }
            | EngineChoice::StartWhenCalled { .. } => engine::adopt(&shared, &report).await?,
            EngineChoice::Attach(_) | EngineChoice::AttachWhenCalled(_) => None,
        };
        let look_again = Arc::clone(&shared.look_again);
        let (ending, over) = (shared.ending.clone(), CancellationToken::new());
        let (reported, done) = (report.clone(), over.clone());
        tasks.spawn(async move {
            let _done = done.drop_guard();
            Box::pin(engine::supervise(shared, reported, adopted)).await;
        });
        Ok(Self {
            workspace,
            report,
            look_again,
            hold,
            waits_to_be_called,
            ending,
            over,
        })
    }

    /// Ends the engine, if it is ours, with everything that it started, and then the supervisor.
    pub(crate) async fn stop(&self) {
        self.ending.cancel();
        self.over.cancelled().await;
    }

    /// Whose its engine is.
    pub(crate) fn hold(&self) -> Hold {
        self.hold
    }

    /// Has the engine end and begin another life, or begin the first.
    pub(crate) fn restart(&self) {
        self.report.restarts.send_replace(Restart::Wanted);
        self.call();
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The same for a workspace that is called otherwise.
    pub(crate) fn renamed(&self, workspace: Workspace) -> Self {
        Self {
            workspace,
            ..self.clone()
        }
    }

    pub(crate) fn status(&self) -> EngineStatus {
        self.report.status.borrow().clone()
    }

    /// Says that somebody has something to say to the engine.
    pub(crate) fn call(&self) {
        self.report.was_called.store(true, Ordering::Relaxed);
        self.report.called.notify_one();
    }

    /// Whether the engine waits for the first who has something to say to it.
    fn is_uncalled(&self) -> bool {
        self.waits_to_be_called && !self.report.was_called.load(Ordering::Relaxed)
    }

    /// Has what the engine holds read again.
    pub(crate) fn look_again(&self) {
        self.look_again.notify_one();
    }

    /// Waits until the engine can be talked to; if it cannot for as long as `limit`, a sentence says why.
    pub(crate) async fn await_link(&self, limit: Duration) -> Result<Link, BrokerError> {
        let mut link = self.report.link.subscribe();
        self.call();
        let ready = tokio::time::timeout(limit, link.wait_for(Option::is_some)).await;
        match ready {
            Ok(Ok(link)) => link
                .clone()
                .ok_or_else(|| BrokerError::EngineUnavailable(self.status().message)),
            Ok(Err(_)) | Err(_) => Err(BrokerError::EngineUnavailable(self.status().message)),
        }
    }

    /// The engine, if it can be talked to.
    pub(crate) fn link(&self) -> Result<Link, BrokerError> {
        self.report
            .link
            .borrow()
            .clone()
            .ok_or_else(|| BrokerError::EngineUnavailable(self.status().message))
    }

    /// Whether a process descends from a keeper of ours. Who cannot be placed is not let through.
    pub(crate) fn owns_process(&self, pid: u32) -> bool {
        let keepers = self
            .report
            .keepers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        keepers
            .iter()
            .any(|keeper| tree::descends_from(pid, *keeper).unwrap_or(true))
    }
}

#[cfg(test)]
mod tests;
