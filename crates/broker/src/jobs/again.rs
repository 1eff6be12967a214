//! What people do about jobs that wait, or have ended: moved within their queue, handed in again.

use countersign_core::grant::{Caller, Grant};
use countersign_core::job::{Job, JobId};

use crate::Broker;
use crate::error::BrokerError;
use crate::jobs::attachments::from_json;
use crate::jobs::handing_in::{HIGHEST_PRIORITY, JobWish};
use crate::jobs::view::JobContext;

impl Broker {
    /// Moves a job within its queue: higher priorities are started first.
    pub async fn set_job_priority(
        &self,
        caller: &Caller,
        id: &JobId,
        priority: i64,
    ) -> Result<JobContext, BrokerError> {
        let job = self.visible_job(caller, id).await?;
        caller.require_in(Grant::Prompt, job.workspace)?;
        if priority.abs() > HIGHEST_PRIORITY {
            return Err(BrokerError::Invalid {
                field: "priority",
                problem: "is at least -100 and at most 100".to_owned(),
            });
        }
        let moved = self
            .store
            .set_job_priority(id, priority, caller.actor(), self.clock.now())
            .await?;
        if !moved {
            return Err(BrokerError::Conflict(format!(
                "job `{id}` waits in no queue any more"
            )));
        }
        let job = self.visible_job(caller, id).await?;
        self.job_context(caller, job).await
    }

    /// Hands a job in again as it was handed in, on behalf of the caller.
    pub async fn retry_job(
        &self,
        caller: &Caller,
        id: &JobId,
        new_id: Option<JobId>,
    ) -> Result<JobContext, BrokerError> {
        let job = self.visible_job(caller, id).await?;
        if !job.state.is_terminal() {
            return Err(BrokerError::Conflict(format!(
                "job `{id}` has not ended: it cannot be handed in again yet"
            )));
        }
        let attachments = self.store.job_attachments(id).await?;
        let Job {
            kind,
            workspace,
            title,
            prompt,
            engine,
            model,
            agent,
            mode,
            effort,
            on_ask,
            access,
            resume,
            wants_worktree,
            priority,
            limits,
            group,
            ..
        } = job;
        let wish = JobWish {
            id: new_id,
            kind,
            prompt,
            title: Some(title),
            directory: None,
            workspace: Some(workspace),
            engine: Some(engine),
            model,
            agent,
            mode,
            effort,
            on_ask,
            ask_expires_seconds: Some(limits.ask_expires_seconds),
            deadline_seconds: limits.deadline_seconds,
            idle_limit_seconds: Some(limits.idle_limit_seconds),
            priority: Some(priority),
            resume,
            access,
            worktree: wants_worktree,
            group,
            attachments: from_json(&attachments),
        };
        self.hand_in_job(caller, wish).await
    }
}
