//! Looks at jobs that have not ended on demand. The runner does so all the time; this says what came of it, and has engines
//! look again at what they hold.

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::job::{Job, JobId, JobState};

use crate::Broker;
use crate::error::BrokerError;
use crate::jobs::outcome::failure;

/// Whose jobs are looked at, and whether something is done.
#[derive(Debug, Clone, Copy, Default)]
pub struct HealWish {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Only those of this workspace.
    pub workspace: Option<WorkspaceId>,
}

/// A job whose turn has ended and which has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealedJob {
    /// Which.
    pub id: JobId,
    /// Whether it comes to its end.
    pub completes: bool,
    /// What became of its turn.
    pub details: String,
}

impl Broker {
    /// Looks at the jobs that hold a place; returns how many there are, and those that are over and not ended yet.
    pub async fn heal_jobs(
        &self,
        caller: &Caller,
        wish: HealWish,
    ) -> Result<(i64, Vec<HealedJob>), BrokerError> {
        caller.require(if wish.dry_run {
            Grant::Read
        } else {
            Grant::Prompt
        })?;
        let mut scanned = 0;
        let mut healed = Vec::new();
        for job in self.store.active_jobs().await? {
            let is_meant = wish.workspace.is_none_or(|only| only == job.workspace);
            if !is_meant || !caller.sees(job.workspace) {
                continue;
            }
            scanned += 1;
            if !wish.dry_run
                && let Ok(supervisor) = self.supervisor(job.workspace)
            {
                supervisor.look_again();
            }
            if let Some(found) = self.is_over(&job).await? {
                healed.push(found);
            }
        }
        if !wish.dry_run && !healed.is_empty() {
            // Every change wakes the runner, and it ends what is over.
            for found in &healed {
                let text = "its turn is over: it is ended now";
                self.store
                    .note_job(&found.id, text, self.clock.now())
                    .await?;
            }
        }
        Ok((scanned, healed))
    }

    async fn is_over(&self, job: &Job) -> Result<Option<HealedJob>, BrokerError> {
        let turn = match job.turn {
            Some(turn) if job.state != JobState::Starting => self.store.turn(turn).await?,
            Some(_) | None => None,
        };
        let outcome = turn.and_then(|turn| turn.outcome);
        Ok(outcome.map(|outcome| {
            let failure = failure(&outcome, None);
            HealedJob {
                id: job.id.clone(),
                completes: failure.is_none(),
                details: failure
                    .map_or_else(|| "its turn was completed".to_owned(), |it| it.message),
            }
        }))
    }
}
