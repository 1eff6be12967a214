//! Ends jobs before they come to an end by themselves: the engine is told first, and has a while to let go.

use std::time::Duration;

use countersign_core::job::{FailureCode, Job, JobFailure, JobId};
use countersign_core::session::{Session, Turn, TurnOutcome};
use countersign_store::{JobEnd, StoreError};
use tokio::time::Instant;

use crate::Broker;
use crate::jobs::runner::Runner;
use crate::jobs::starting::acting;

/// How long an engine has to let go of a turn.
const PATIENCE: Duration = Duration::from_secs(8);

/// Why a job is ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// Somebody wants it.
    Cancelled(String),
    /// Its time is up.
    Deadline(u64),
    /// It has stalled.
    Stalled(FailureCode, String),
}

/// A job that is being ended.
pub(super) struct Closing {
    pub(super) why: Why,
    pub(super) since: Instant,
    /// Whether the engine has been told.
    told: bool,
}

impl Why {
    /// How the job ends.
    pub(super) fn end(&self) -> JobEnd {
        let failure = match self {
            Self::Cancelled(by) => {
                return JobEnd {
                    cancelled_by: Some(by.clone()),
                    ..JobEnd::default()
                };
            }
            Self::Deadline(seconds) => JobFailure::new(
                FailureCode::Deadline,
                format!("it took longer than its deadline of {seconds} s"),
            ),
            Self::Stalled(code, text) => JobFailure::new(*code, text.clone()),
        };
        JobEnd {
            failure: Some(failure),
            ..JobEnd::default()
        }
    }
}

impl Runner {
    /// Why a job is to be ended now, if it is.
    pub(super) fn why_close(&mut self, job: &Job) -> Option<Why> {
        if let Some(closing) = self.closing.get(&job.id) {
            return Some(closing.why.clone());
        }
        let is_late = job
            .deadline()
            .is_some_and(|deadline| deadline <= self.broker.clock.now());
        let why = if job.cancel_wished_at.is_some() {
            Why::Cancelled(job.cancelled_by.clone().unwrap_or_default())
        } else if is_late {
            Why::Deadline(job.limits.deadline_seconds.unwrap_or_default())
        } else {
            return None;
        };
        self.begin_to_close(&job.id, why.clone());
        Some(why)
    }

    pub(super) fn begin_to_close(&mut self, job: &JobId, why: Why) {
        let closing = Closing {
            why,
            since: Instant::now(),
            told: false,
        };
        self.closing.entry(job.clone()).or_insert(closing);
    }

    /// Ends a job that is being started. What was begun for it is brought to an end by its task, which finds that nobody
    /// wants it; what that leaves is released.
    pub(super) async fn close_start(&mut self, job: &Job, why: &Why) -> Result<(), StoreError> {
        let store = &self.broker.store;
        let turn = match job.turn {
            Some(turn) => store.turn(turn).await?,
            None => None,
        };
        let is_old = self
            .closes_since(&job.id)
            .is_some_and(|since| since.elapsed() > PATIENCE);
        if turn.is_some() && !is_old {
            // Its prompt is on its way: it is about to run, and is ended then.
            return Ok(());
        }
        if store
            .end_job(&job.id, &why.end(), self.broker.clock.now())
            .await?
        {
            self.clear_away(job);
        }
        Ok(())
    }

    /// Ends a job whose turn is under way.
    pub(super) async fn close(
        &mut self,
        job: &Job,
        session: &Session,
        turn: &Turn,
        why: &Why,
    ) -> Result<(), StoreError> {
        let Some(closing) = self.closing.get_mut(&job.id) else {
            return Ok(());
        };
        if !closing.told {
            closing.told = true;
            if let Some(hand) = self.hands.lend(&job.id) {
                let (broker, job, session) = (self.broker.clone(), job.clone(), session.clone());
                self.broker.tasks.spawn(async move {
                    broker.stop_turn(&job, &session).await;
                    drop(hand);
                });
            }
        }
        if closing.since.elapsed() < PATIENCE {
            return Ok(());
        }
        // The engine does not let go; its turn is over all the same, so that nobody sends it again.
        let store = &self.broker.store;
        let now = self.broker.clock.now();
        store
            .end_turn(session.workspace, turn.id, &TurnOutcome::Cancelled, now)
            .await?;
        store
            .note_job(&job.id, "the engine did not let go of it in time", now)
            .await?;
        self.end(job, session, turn, why.end()).await
    }

    /// Ends what nobody waits for any more: the agent of a session of its own.
    pub(super) fn clear_away(&self, job: &Job) {
        let (broker, job) = (self.broker.clone(), job.clone());
        self.broker
            .tasks
            .spawn(async move { broker.release_agent_of(&job).await });
    }
}

impl Broker {
    /// Has the engine stop what a job's session is doing.
    async fn stop_turn(&self, job: &Job, session: &Session) {
        let stopped = self.cancel(&acting(job), session.id).await;
        let Err(error) = stopped else {
            return;
        };
        tracing::warn!(
            job.id = %job.id,
            error = &error as &dyn std::error::Error,
            "the engine could not be told that a job has ended"
        );
        // An engine that cannot be reached is told nothing; it must not get the prompt later either.
        if let Some(turn) = job.turn {
            let now = self.clock.now();
            let outcome = TurnOutcome::Cancelled;
            let ended = self.store.end_turn(session.workspace, turn, &outcome, now);
            if let Err(error) = ended.await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the ledger failed while a job was ended"
                );
            }
        }
    }
}
