//! ACP agents: one process for each session, held by a keeper, and one task that speaks with it.
//!
//! A session outlives the lives that serve it: when its agent has ended, the next prompt begins another life, which
//! resumes or loads the session, or says that it cannot. What an agent wants is in the ledger before anybody hears
//! of it, and what it said is acknowledged only behind what is durable; so the next server reads on where this one
//! was safe.

mod adoption;
mod answers;
mod asking;
mod delivering;
mod driver;
mod earlier;
mod follow_up;
mod history;
mod hosting;
mod intake;
mod noise;
mod opening;
mod orders;
mod progress;
mod prompting;
mod roster;
mod settings;
mod talk;
mod turns;
mod unwritten;
mod wire;
mod words;

pub(crate) use answers::{check, reply};
pub(crate) use earlier::is_id;
pub(crate) use roster::DEMO;
pub use roster::{EngineListing, engines_here};
pub(crate) use settings::Fate;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::attachment::Takes;
use countersign_core::id::{SessionId, WorkspaceId};
use countersign_core::session::{Activity, Session, TurnOutcome, Workspace};
use countersign_core::settings::SessionSettings;
use countersign_core::time::Clock;
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::initialize::Shape;
use countersign_engine::files::Writers;
use countersign_engine::keeper::{HeldInput, Keeper};
use countersign_engine::process::{ProcessIdentity, tree};
use countersign_store::{Run, Store, StoreError};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::acp::driver::Driver;
use crate::acp::noise::Noises;
use crate::acp::opening::{Loadable, Opened, Wanted};
use crate::acp::roster::Roster;
use crate::acp::wire::Incoming;
use crate::error::BrokerError;
use crate::live::Live;
use crate::settings::Settings;
use crate::usual::UsualEngine;

/// How many orders to one conversation wait.
const ORDERS: usize = 16;
/// How long to wait before a ledger that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// What all conversations share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) live: Live,
    pub(crate) settings: Arc<Settings>,
    pub(crate) tasks: TaskTracker,
    pub(crate) ending: CancellationToken,
}

/// The ACP agents that run, and those that could.
#[derive(Clone)]
pub(crate) struct Agents(Arc<Inner>);

struct Inner {
    shared: Shared,
    roster: Roster,
    /// How many agents may be started at once to list their sessions.
    listings: Semaphore,
    conversations: Mutex<HashMap<SessionId, Conversation>>,
    keepers: Mutex<Vec<ProcessIdentity>>,
    /// The workspaces that are served.
    workspaces: Mutex<HashMap<WorkspaceId, Workspace>>,
    /// The files that are being written for agents.
    writers: Writers,
}

/// Where the orders for the conversation of a session go.
#[derive(Clone)]
struct Conversation {
    orders: mpsc::Sender<Order>,
    /// Tells it from an earlier one of the same session.
    mark: Mark,
}

/// What is the same for one conversation alone.
#[derive(Debug, Clone, Default)]
struct Mark(Arc<()>);

impl PartialEq for Mark {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a conversation is to do, and which one it is.
struct Orders {
    next: mpsc::Receiver<Order>,
    mark: Mark,
}

/// What a conversation is to do.
enum Order {
    /// Look for turns in the ledger.
    Prompt,
    /// Stop what is going on, and say when that is under way.
    Cancel(oneshot::Sender<()>),
    /// End the agent with everything that it started, unless there is a turn for it.
    Release,
    /// End the agent with everything that it started, whatever it is doing: its workspace was removed.
    Leave,
    /// Tell the agent what was chosen; the waiter is for the choice that this request carries.
    Set(String, settings::Waiter),
}

/// A life of an agent with everything that is needed to speak with it.
struct Lifetime {
    workspace: Workspace,
    agent: Agent,
    run: Run,
    keeper: Keeper,
    directory: PathBuf,
    incoming: Incoming,
    input: HeldInput,
    /// In which version of the protocol it answers.
    shape: Shape,
    /// What it wrote before its session was open that was no message.
    noise: Noises,
    /// Whether it tells what was said in an earlier life until it is prompted.
    tells_history: bool,
    /// What the agent takes along with a prompt.
    takes: Takes,
    /// What the agent told of the session so far.
    told: SessionSettings,
}

impl Agents {
    pub(crate) fn new(shared: Shared) -> Self {
        Self(Arc::new(Inner {
            roster: Roster::new(&shared.settings.agents, &shared.settings.own_program),
            shared,
            listings: Semaphore::new(earlier::LISTINGS),
            conversations: Mutex::default(),
            keepers: Mutex::default(),
            workspaces: Mutex::default(),
            writers: Writers::default(),
        }))
    }

    fn shared(&self) -> &Shared {
        &self.0.shared
    }

    /// The engines that could be started, and what to do for those that cannot.
    pub(crate) fn listing(&self) -> Vec<EngineListing> {
        self.0.roster.listing(&self.shared().settings.engine)
    }

    /// The agent that is meant when none is named.
    pub(crate) fn usual(&self) -> Option<UsualEngine> {
        self.0.roster.usual().map(as_usual)
    }

    /// The agent that is meant when none is named and none may be started that nobody named.
    pub(crate) fn usual_of_configuration(&self) -> Option<UsualEngine> {
        self.0.roster.usual_of_configuration().map(as_usual)
    }

    /// Whether a process descends from an agent. Who cannot be placed is not let through.
    pub(crate) fn own_process(&self, pid: u32) -> bool {
        lock(&self.0.keepers)
            .iter()
            .any(|keeper| tree::descends_from(pid, *keeper).unwrap_or(true))
    }

    fn note_keeper(&self, keeper: ProcessIdentity) {
        let mut keepers = lock(&self.0.keepers);
        keepers.retain(|known| known.is_alive());
        keepers.push(keeper);
    }

    /// Starts a session with the agent called `name`.
    ///
    /// It works in the path that `workspace` has here, and is called `id`. An agent that is not ready yet when that is
    /// given up is ended.
    pub(crate) async fn start_session(
        &self,
        id: SessionId,
        workspace: &Workspace,
        name: &str,
        title: Option<&str>,
        given_up: &CancellationToken,
    ) -> Result<Session, BrokerError> {
        let agent = self.0.roster.get(name).cloned();
        let agent = agent.ok_or_else(|| BrokerError::missing("engine", name))?;
        let (this, workspace, given_up) = (self.clone(), workspace.clone(), given_up.clone());
        let title = title.unwrap_or_default().replace('\0', "\u{fffd}");
        // Whoever asked may not wait for it; what was begun is still brought to an end.
        let begun = self.shared().tasks.spawn(async move {
            this.begin_session(id, &workspace, &agent, title, &given_up)
                .await
        });
        begun
            .await
            .unwrap_or_else(|_| Err(unavailable("the session could not be begun")))
    }

    async fn begin_session(
        &self,
        id: SessionId,
        workspace: &Workspace,
        agent: &Agent,
        title: String,
        given_up: &CancellationToken,
    ) -> Result<Session, BrokerError> {
        let opened = self.open(workspace, agent, Wanted::New, given_up).await?;
        let Opened {
            life,
            native_id,
            taken,
        } = opened.map_err(BrokerError::EngineUnavailable)?;
        let Shared { store, clock, .. } = self.shared();
        let known = store
            .session_by_native_id(workspace.id, &agent.name, &native_id)
            .await?;
        if known.is_some() {
            let why = format!(
                "{} gave a new session the id of an earlier one",
                agent.title
            );
            adoption::put_away(self, &life, &why).await?;
            return Err(unavailable(&why));
        }
        let now = clock.now();
        let session = Session {
            id,
            workspace: workspace.id,
            engine: agent.name.clone(),
            native_id,
            parent: None,
            title,
            directory: workspace.path.clone(),
            agent: agent.title.clone(),
            activity: Activity::Idle,
            started_at: now,
            changed_at: now,
        };
        let session = store.put_session(&session).await?;
        store.set_takes(session.id, life.takes).await?;
        store.bind_session(session.id, life.run.id, taken).await?;
        store
            .put_settings(workspace.id, session.id, &life.told, now)
            .await?;
        self.converse(Driver::new(self.clone(), session.clone(), life, taken));
        Ok(session)
    }

    /// Has `driver` speak with its agent, and takes orders for it.
    fn converse(&self, driver: Driver) {
        let orders = new_orders(&mut lock(&self.0.conversations), driver.session.id);
        self.shared().tasks.spawn(driver.attend(orders));
    }

    /// Has the turns of a session that are in the ledger taken up, by its agent or by another life of it.
    pub(crate) fn attend(&self, session: &Session) {
        let mut conversations = lock(&self.0.conversations);
        if let Some(conversation) = conversations.get(&session.id) {
            match conversation.orders.try_send(Order::Prompt) {
                // One that has that many orders will look.
                Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => return,
                Err(mpsc::error::TrySendError::Closed(_)) => {}
            }
        }
        if self.shared().ending.is_cancelled() {
            return;
        }
        let orders = new_orders(&mut conversations, session.id);
        let (this, session) = (self.clone(), session.clone());
        self.shared()
            .tasks
            .spawn(async move { Box::pin(this.begin_again(session, orders)).await });
    }

    /// Has the agent of a session ended with everything that it started, if nobody has anything more to say to it.
    pub(crate) async fn release(&self, session: SessionId) {
        let conversation = lock(&self.0.conversations).get(&session).cloned();
        if let Some(Conversation { orders, .. }) = conversation {
            // One that ends just now needs no telling.
            drop(orders.send(Order::Release).await);
        }
    }

    /// Ends the agents of a workspace with everything that they started, and begins none there any more.
    pub(crate) async fn leave_workspace(&self, workspace: WorkspaceId) -> Result<(), StoreError> {
        lock(&self.0.workspaces).remove(&workspace);
        let sessions: Vec<SessionId> = lock(&self.0.conversations).keys().copied().collect();
        for session in sessions {
            let known = self.shared().store.session(session).await?;
            if known.is_none_or(|session| session.workspace != workspace) {
                continue;
            }
            let conversation = lock(&self.0.conversations).get(&session).cloned();
            let Some(Conversation { orders, .. }) = conversation else {
                continue;
            };
            if orders.send(Order::Leave).await.is_ok() {
                // It is over when it takes no more orders.
                orders.closed().await;
            }
        }
        Ok(())
    }

    /// Begins another life for a session, or ends its turns with the reason why not.
    async fn begin_again(self, session: Session, orders: Orders) {
        let opened = loop {
            match self.open_for_turns(&session).await {
                Ok(opened) => break opened,
                Err(error) if self.may_try_again(&error).await => {}
                // Countersign ends; the turns are for the next server.
                Err(_) => return,
            }
        };
        match opened {
            Ok((life, taken)) => {
                let driver = Driver::new(self.clone(), session, life, taken);
                Box::pin(driver.attend(orders)).await;
            }
            Err(why) => {
                let outcome = failed(why);
                while let Err(error) = self.end_turns(&session, &outcome).await {
                    if !self.may_try_again(&error).await {
                        return;
                    }
                }
                self.leave(&session, orders).await;
            }
        }
    }

    /// Opens the session again if there is a turn for it; those that were cancelled while they waited end here.
    async fn open_for_turns(
        &self,
        session: &Session,
    ) -> Result<Result<(Lifetime, u64), String>, StoreError> {
        let Shared { store, clock, .. } = self.shared();
        loop {
            let (cancelled, waiting): (Vec<_>, Vec<_>) = store
                .open_turns(session.id)
                .await?
                .into_iter()
                .partition(|turn| turn.cancelled_at.is_some());
            for turn in cancelled {
                let outcome = TurnOutcome::Cancelled;
                store
                    .end_turn(session.workspace, turn.id, &outcome, clock.now())
                    .await?;
            }
            if waiting.is_empty() {
                return Ok(Err("it was cancelled before it began".to_owned()));
            }
            match self.await_loading(session).await? {
                Loadable::Now => {
                    if let Some(opened) = self.open_again(session).await? {
                        return Ok(opened);
                    }
                }
                Loadable::Later => {}
            }
        }
    }

    /// Waits a while after the ledger failed; says whether it may be tried again, for Countersign may end.
    async fn may_try_again(&self, error: &StoreError) -> bool {
        tell_failure(error);
        tokio::select! {
            () = self.shared().ending.cancelled() => false,
            () = tokio::time::sleep(RETRY) => true,
        }
    }

    /// Opens the session again; nothing if every turn for it was cancelled meanwhile.
    async fn open_again(
        &self,
        session: &Session,
    ) -> Result<Option<Result<(Lifetime, u64), String>>, StoreError> {
        let Some(agent) = self.0.roster.get(&session.engine) else {
            return Ok(Some(Err(format!(
                "the agent `{}` is not configured any more",
                session.engine
            ))));
        };
        let workspace = lock(&self.0.workspaces).get(&session.workspace).cloned();
        let Some(workspace) = workspace else {
            let why = "its workspace is not served any more".to_owned();
            return Ok(Some(Err(why)));
        };
        // A job's session may work in a worktree.
        let workspace = Workspace {
            path: session.directory.clone(),
            ..workspace
        };
        let given_up = CancellationToken::new();
        let opening = self.open(&workspace, agent, Wanted::Again(session), &given_up);
        tokio::pin!(opening);
        let opened = tokio::select! {
            opened = &mut opening => opened?,
            // Nothing was sent: who cancelled need not wait until the agent is there.
            cancelled = self.until_all_cancelled(session) => {
                given_up.cancel();
                let opened = opening.await?;
                cancelled?;
                opened
            }
        };
        let Opened { life, taken, .. } = match opened {
            Ok(opened) => opened,
            Err(_) if given_up.is_cancelled() => return Ok(None),
            Err(why) => return Ok(Some(Err(why))),
        };
        let Shared { store, clock, .. } = self.shared();
        store.set_takes(session.id, life.takes).await?;
        store.bind_session(session.id, life.run.id, taken).await?;
        store
            .put_settings(session.workspace, session.id, &life.told, clock.now())
            .await?;
        Ok(Some(Ok((life, taken))))
    }

    /// Ends every turn of a session that has not ended, and the session's present life with it.
    async fn end_turns(&self, session: &Session, outcome: &TurnOutcome) -> Result<(), StoreError> {
        let Shared {
            store, clock, live, ..
        } = self.shared();
        for turn in store.open_turns(session.id).await? {
            let outcome = match turn.cancelled_at {
                Some(_) => &TurnOutcome::Cancelled,
                None => outcome,
            };
            store
                .end_turn(session.workspace, turn.id, outcome, clock.now())
                .await?;
        }
        live.forget(session.id);
        store
            .set_activity(session.id, Activity::Gone, clock.now())
            .await?;
        Ok(())
    }

    /// Forgets a conversation that is over. A prompt that came while it ended is for the next one.
    async fn leave(&self, session: &Session, orders: Orders) {
        {
            let mut conversations = lock(&self.0.conversations);
            let is_this = |known: &Conversation| known.mark == orders.mark;
            if conversations.get(&session.id).is_some_and(is_this) {
                conversations.remove(&session.id);
            }
            // No order is lost: until here it was sent to this one, and from here on it begins another.
            drop(orders);
        }
        loop {
            match self.shared().store.open_turns(session.id).await {
                Ok(turns) if turns.is_empty() => return,
                Ok(_) => return self.attend(session),
                Err(error) if self.may_try_again(&error).await => {}
                Err(_) => return,
            }
        }
    }
}

/// Makes room for a conversation of a session, in the place of one that is over.
fn new_orders(conversations: &mut HashMap<SessionId, Conversation>, session: SessionId) -> Orders {
    let (orders, next) = mpsc::channel(ORDERS);
    let mark = Mark::default();
    let conversation = Conversation {
        orders,
        mark: mark.clone(),
    };
    conversations.insert(session, conversation);
    Orders { next, mark }
}

fn as_usual(agent: &Agent) -> UsualEngine {
    if agent.name == DEMO {
        return UsualEngine::Demo;
    }
    UsualEngine::Agent {
        name: agent.name.clone(),
        title: agent.title.clone(),
    }
}

fn unavailable(why: &str) -> BrokerError {
    BrokerError::EngineUnavailable(why.to_owned())
}

fn failed(reason: String) -> TurnOutcome {
    TurnOutcome::Failed { reason }
}

/// Says that the ledger failed where there is nobody to tell.
fn tell_failure(error: &StoreError) {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "the ledger failed while an agent was looked after"
    );
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves nothing half done here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
