//! The end of a job whose turn has ended: what came of it is gathered and written down, and its agent is let go.

use countersign_core::job::{Job, JobStep};
use countersign_core::session::{Session, Turn, TurnOutcome};
use countersign_store::{JobEnd, StoreError};

use crate::jobs::outcome::failure;
use crate::jobs::runner::Runner;
use crate::standstill::{self, Step};

impl Runner {
    /// Ends a job with what became of its turn, or with why it was ended.
    pub(super) async fn end_with(
        &mut self,
        job: &Job,
        session: &Session,
        turn: &Turn,
        outcome: &TurnOutcome,
    ) -> Result<(), StoreError> {
        // One that came to its end before it could be stopped is completed.
        if *outcome != TurnOutcome::Completed
            && let Some(why) = self.why_close(job)
        {
            return self.end(job, session, turn, why.end()).await;
        }
        let newest = self.newest_asks(session).await?.into_iter().next();
        let end = JobEnd {
            failure: failure(outcome, newest.as_ref()),
            ..JobEnd::default()
        };
        self.end(job, session, turn, end).await
    }

    /// Ends a job as `end` says, with what came of it.
    pub(super) async fn end(
        &mut self,
        job: &Job,
        session: &Session,
        turn: &Turn,
        end: JobEnd,
    ) -> Result<(), StoreError> {
        let broker = &self.broker;
        let end = JobEnd {
            result: broker.last_words(session, turn).await?,
            changed_files: broker.changed_files(job, session, turn).await?,
            usage: broker.usage(session).await?,
            ..end
        };
        let now = broker.clock.now();
        standstill::before(Step::Result).await;
        let has_ended = broker.store.end_job(&job.id, &end, now).await?;
        standstill::after(Step::Result).await;
        if has_ended {
            tracing::info!(job.id = %job.id, "job `{}` has ended", job.id);
            self.clear_away(job);
        } else {
            // It ended before it was noted that it runs.
            let cause = "its turn has ended";
            broker
                .store
                .advance_job(&job.id, JobStep::Run, cause, now)
                .await?;
        }
        Ok(())
    }
}
