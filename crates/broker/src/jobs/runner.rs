//! The task that runs jobs: woken by the ledger, it looks at every job that holds a place and does what is to be done
//! next, and gives places to those that wait.
//!
//! It keeps nothing that matters: what takes long is done by tasks of their own, each for one job at a time, and a server
//! that is killed leaves rows from which the next one goes on.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::id::{SessionId, TurnId, WorkspaceId};
use countersign_core::job::{Job, JobId, JobState, Resume};
use countersign_store::{Queue, StoreError};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Broker;
use crate::jobs::closing::Closing;
use crate::jobs::watching::Watch;

/// How often the clock is looked at while there are jobs.
const LOOK: Duration = Duration::from_millis(500);
/// For how long changes are gathered: a job that talks changes the ledger with every word.
const GATHER: Duration = Duration::from_millis(20);
/// How long a ledger that failed is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// What looks after all jobs.
pub(super) struct Runner {
    pub(super) broker: Broker,
    /// Who answers asks for jobs that say so.
    pub(super) policy: Actor,
    /// The jobs for which a task is at work.
    pub(super) hands: Hands,
    /// The jobs that are being ended, why, and since when.
    pub(super) closing: HashMap<JobId, Closing>,
    /// What was seen of the jobs that are running.
    pub(super) watches: HashMap<JobId, Watch>,
}

/// The jobs for which a task is at work, and how the runner hears that one is done.
#[derive(Clone, Default)]
pub(super) struct Hands {
    busy: Arc<Mutex<HashSet<JobId>>>,
    done: Arc<Notify>,
}

/// One task at work for a job.
pub(super) struct Hand {
    hands: Hands,
    job: JobId,
}

impl Hands {
    /// A task for `job`, unless there is one.
    pub(super) fn lend(&self, job: &JobId) -> Option<Hand> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.insert(job.clone()).then(|| Hand {
            hands: self.clone(),
            job: job.clone(),
        })
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        let mut busy = self
            .hands
            .busy
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        busy.remove(&self.job);
        drop(busy);
        self.hands.done.notify_one();
    }
}

/// Runs jobs until the end.
pub(crate) async fn run(broker: Broker) {
    let ending = broker.ending.clone();
    let policy = loop {
        let now = broker.clock.now();
        match broker.store.actor(ActorKind::Rule, "job", now).await {
            Ok(policy) => break policy,
            Err(error) => tell(&error),
        }
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(RETRY) => {}
        }
    };
    let mut runner = Runner {
        broker,
        policy,
        hands: Hands::default(),
        closing: HashMap::new(),
        watches: HashMap::new(),
    };
    let mut head = runner.broker.store.head();
    if let Err(error) = runner.release_left_over().await {
        tell(&error);
    }
    loop {
        head.mark_unchanged();
        let wait = match runner.look().await {
            Ok(true) => LOOK,
            // Nothing can happen before something changes.
            Ok(false) => Duration::MAX,
            Err(error) => {
                tell(&error);
                RETRY
            }
        };
        let woken = async {
            tokio::select! {
                changed = head.changed() => {
                    tokio::time::sleep(GATHER).await;
                    changed.is_ok()
                }
                () = runner.hands.done.notified() => true,
                () = tokio::time::sleep(wait) => true,
            }
        };
        let goes_on = tokio::select! {
            () = ending.cancelled() => false,
            goes_on = woken => goes_on,
        };
        if !goes_on {
            return;
        }
    }
}

impl Runner {
    /// Does what is to be done next for every job; says whether there are any that have a place.
    async fn look(&mut self) -> Result<bool, StoreError> {
        let active = self.broker.store.active_jobs().await?;
        self.forget_all_but(&active);
        for job in &active {
            // One job that cannot be looked after must not stop the others.
            if let Err(error) = self.look_after(job).await {
                tracing::warn!(
                    job.id = %job.id,
                    error = &error as &dyn std::error::Error,
                    "a job could not be looked after"
                );
            }
        }
        let started = self.fill_places().await?;
        Ok(started || !active.is_empty())
    }

    async fn look_after(&mut self, job: &Job) -> Result<(), StoreError> {
        match job.state {
            JobState::Starting => self.look_after_start(job).await,
            JobState::Running | JobState::Waiting => self.look_after_turn(job).await,
            JobState::Queued | JobState::Completed | JobState::Failed | JobState::Cancelled => {
                Ok(())
            }
        }
    }

    /// A job that is being started, by this server or by one before it.
    async fn look_after_start(&mut self, job: &Job) -> Result<(), StoreError> {
        if let Some(why) = self.why_close(job) {
            return self.close_start(job, &why).await;
        }
        if let Some(hand) = self.hands.lend(&job.id) {
            let broker = self.broker.clone();
            let id = job.id.clone();
            self.broker.tasks.spawn(async move {
                broker.start_job(&id).await;
                drop(hand);
            });
        }
        Ok(())
    }

    /// Gives places to jobs that wait, as many as there are; says whether one was given.
    async fn fill_places(&mut self) -> Result<bool, StoreError> {
        let store = &self.broker.store;
        let queues = store.queues().await?;
        if queues.is_empty() {
            return Ok(false);
        }
        let caps = self.broker.settings.job_caps;
        let mut in_workspace: HashMap<WorkspaceId, i64> = HashMap::new();
        let mut with_engine: HashMap<String, i64> = HashMap::new();
        for busy in store.busy_places().await? {
            *in_workspace.entry(busy.workspace).or_default() += busy.count;
            *with_engine.entry(busy.engine).or_default() += busy.count;
        }
        // The most urgent of all queues first, and of equals the one that waits longest.
        let mut next: BTreeMap<(i64, i64, JobId), Job> = BTreeMap::new();
        for queue in &queues {
            let taken = in_workspace.get(&queue.workspace).copied().unwrap_or(0);
            let room = i64::from(caps.per_workspace) - taken;
            for job in next_of(&self.broker, queue, room).await? {
                let order = (-job.priority, job.created_at.as_micros(), job.id.clone());
                next.insert(order, job);
            }
        }
        let mut started = false;
        for job in next.into_values() {
            let of_workspace = in_workspace.entry(job.workspace).or_default();
            let of_engine = with_engine.entry(job.engine.clone()).or_default();
            if *of_workspace >= i64::from(caps.per_workspace)
                || *of_engine >= i64::from(caps.per_engine)
            {
                continue;
            }
            if self.take_from_queue(&job).await? {
                *of_workspace += 1;
                *of_engine += 1;
                started = true;
            }
        }
        if started {
            // They are looked after at once.
            self.hands.done.notify_one();
        }
        Ok(started)
    }

    async fn take_from_queue(&self, job: &Job) -> Result<bool, StoreError> {
        let Broker { store, clock, .. } = &self.broker;
        let now = clock.now();
        let session = match &job.resume {
            None => Some(SessionId::generate(now)),
            Some(Resume::Session(session)) => Some(*session),
            Some(Resume::Job(earlier)) => store
                .job(earlier)
                .await?
                .and_then(|earlier| earlier.session),
        };
        // One without a session to go on with fails when it is started, which says so.
        let session = session.unwrap_or_else(|| SessionId::generate(now));
        store
            .start_job(&job.id, session, TurnId::generate(now), now)
            .await
    }

    /// Ends agents of jobs that ended just before the last server did.
    async fn release_left_over(&self) -> Result<(), StoreError> {
        for session in self.broker.store.sessions_to_release().await? {
            self.broker.agents.release(session).await;
        }
        Ok(())
    }

    /// Forgets what was seen of jobs that have ended.
    fn forget_all_but(&mut self, active: &[Job]) {
        let is_active = |id: &JobId| active.iter().any(|job| job.id == *id);
        self.closing.retain(|id, _| is_active(id));
        self.watches.retain(|id, watch| {
            let stays = is_active(id);
            if !stays {
                self.broker.live.unwatch(watch.session);
            }
            stays
        });
    }

    /// Since when a job is being closed.
    pub(super) fn closes_since(&self, job: &JobId) -> Option<Instant> {
        self.closing.get(job).map(|closing| closing.since)
    }
}

/// The next jobs of a queue, for as many places as there may be.
async fn next_of(broker: &Broker, queue: &Queue, room: i64) -> Result<Vec<Job>, StoreError> {
    if room <= 0 {
        return Ok(Vec::new());
    }
    broker.store.queued_jobs(queue, room).await
}

fn tell(error: &StoreError) {
    tracing::warn!(
        error = error as &dyn std::error::Error,
        "the ledger does not answer, and jobs wait"
    );
}
