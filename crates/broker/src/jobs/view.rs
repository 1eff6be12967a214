//! Jobs as surfaces see them: found by the beginning of their id, listed, waited for, cancelled.

use std::time::Duration;

use countersign_core::ask::Ask;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{AskId, SessionId};
use countersign_core::job::{Breadcrumb, Job, JobId, JobLogEntry, JobPhase, JobState};
use countersign_core::session::{Item, ToolStatus};
use countersign_store::JobFilter;
use serde_json::Value;

use crate::Broker;
use crate::error::BrokerError;

/// More ids with the same beginning than anybody looks at.
const CANDIDATES: i64 = 20;
/// How many jobs are listed at most because they have not ended, however old they are.
const MOST_UNENDED: i64 = 400;
/// How many of the newest items are looked at to say what a job does.
const NEWEST: i64 = 5;
/// The longest line that says what a job does, in characters.
const CRUMB_LENGTH: usize = 160;

/// A job with what is not in its row.
#[derive(Debug, Clone, PartialEq)]
pub struct JobContext {
    /// The job.
    pub job: Job,
    /// Where its workspace is.
    pub workspace_path: String,
    /// Its session, if that has been made.
    pub session: Option<SessionId>,
    /// What the engine calls its session.
    pub native_session: Option<String>,
    /// What it is about at the moment.
    pub phase: JobPhase,
    /// What it does now.
    pub breadcrumb: Option<Breadcrumb>,
    /// Its open asks.
    pub open_asks: Vec<AskId>,
    /// How many are started before it.
    pub queue_place: Option<i64>,
    /// Whether the caller may cancel it.
    pub may_cancel: bool,
}

/// What was found by the beginning of an id.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// One job.
    One(Box<JobContext>),
    /// Several, which begin like that.
    Several(Vec<JobId>),
}

impl Broker {
    /// The job whose id is `text`, or the only one whose id begins with it.
    pub async fn find_job(&self, caller: &Caller, text: &str) -> Result<Found, BrokerError> {
        caller.require(Grant::Read)?;
        let missing = || BrokerError::missing("job", text.chars().take(80).collect::<String>());
        if !JobId::could_begin_with(text) {
            return Err(missing());
        }
        let mut candidates = Vec::new();
        for id in self.store.job_ids(text, CANDIDATES).await? {
            if let Ok(job) = self.visible_job(caller, &id).await {
                if id.as_str() == text {
                    let context = self.job_context(caller, job).await?;
                    return Ok(Found::One(Box::new(context)));
                }
                candidates.push(job);
            }
        }
        match (candidates.pop(), candidates.len()) {
            (None, _) => Err(missing()),
            (Some(job), 0) => {
                let context = self.job_context(caller, job).await?;
                Ok(Found::One(Box::new(context)))
            }
            (Some(job), _) => {
                candidates.push(job);
                let ids = candidates.into_iter().map(|job| job.id);
                Ok(Found::Several(ids.collect()))
            }
        }
    }

    /// The jobs that `filter` lets through and the caller may see, newest first, each with the beginning of what is long.
    pub async fn jobs(
        &self,
        caller: &Caller,
        mut filter: JobFilter,
        limit: i64,
    ) -> Result<Vec<JobContext>, BrokerError> {
        caller.require(Grant::Read)?;
        if let Some(only) = caller.workspace() {
            if filter.workspace.is_some_and(|wanted| wanted != only) {
                return Ok(Vec::new());
            }
            filter.workspace = Some(only);
        }
        let mut contexts = Vec::new();
        let mut jobs = self.store.jobs(&filter, limit).await?;
        if filter.unended
            && let Some(oldest) = jobs.last()
            && i64::try_from(jobs.len()).is_ok_and(|count| count >= limit)
        {
            let older = self
                .store
                .unended_jobs_before(&filter, oldest, MOST_UNENDED);
            let older = older.await?;
            jobs.extend(older);
        }
        for job in jobs {
            let context = if job.state.is_terminal() {
                // Most of a list has ended, and little more is read for it.
                self.ended_context(job).await?
            } else {
                self.job_context(caller, job).await?
            };
            contexts.push(context);
        }
        Ok(contexts)
    }

    /// How many jobs have not ended: whoever would end the server looks at this first.
    pub async fn count_unended_jobs(&self) -> Result<i64, BrokerError> {
        Ok(self.store.count_unended_jobs().await?)
    }

    /// Waits until a job has ended, or until `limit` has passed; returns it as it is then.
    pub async fn wait_until_ended(
        &self,
        caller: &Caller,
        id: &JobId,
        limit: Duration,
    ) -> Result<JobContext, BrokerError> {
        let deadline = tokio::time::Instant::now() + limit;
        let mut head = self.store.head();
        loop {
            // What changes after this look is seen by the wait below.
            head.mark_unchanged();
            caller.require(Grant::Read)?;
            let job = self.visible_job(caller, id).await?;
            if job.state.is_terminal() {
                return self.job_context(caller, job).await;
            }
            let goes_on = tokio::select! {
                changed = head.changed() => changed.is_ok(),
                () = tokio::time::sleep_until(deadline) => false,
                () = self.ending.cancelled() => false,
            };
            if !goes_on {
                let job = self.visible_job(caller, id).await?;
                return self.job_context(caller, job).await;
            }
        }
    }

    /// Has a job ended. One that has ended already stays as it is.
    pub async fn cancel_job(&self, caller: &Caller, id: &JobId) -> Result<JobContext, BrokerError> {
        let job = self.visible_job(caller, id).await?;
        caller.require_in(Grant::Prompt, job.workspace)?;
        let now = self.clock.now();
        self.store
            .wish_job_cancelled(id, caller.actor(), now)
            .await?;
        let job = self.visible_job(caller, id).await?;
        self.job_context(caller, job).await
    }

    /// The lines of a job's log after the place `after`.
    pub async fn job_log(
        &self,
        caller: &Caller,
        id: &JobId,
        after: i64,
        limit: i64,
    ) -> Result<(Job, Vec<JobLogEntry>), BrokerError> {
        caller.require(Grant::Read)?;
        let job = self.visible_job(caller, id).await?;
        let entries = self.store.job_log(id, after, limit).await?;
        Ok((job, entries))
    }

    pub(super) async fn visible_job(
        &self,
        caller: &Caller,
        id: &JobId,
    ) -> Result<Job, BrokerError> {
        let job = self.store.job(id).await?;
        // What a caller may not see does not exist for it.
        job.filter(|job| caller.sees(job.workspace))
            .ok_or_else(|| BrokerError::missing("job", id))
    }

    pub(super) async fn job_context(
        &self,
        caller: &Caller,
        job: Job,
    ) -> Result<JobContext, BrokerError> {
        if job.state.is_terminal() {
            return self.ended_context(job).await;
        }
        let session = match job.session {
            Some(session) => self.store.session(session).await?,
            None => None,
        };
        let workspace_path = self.path_of(&job).await?;
        let asks = match &session {
            Some(session) if job.state.holds_place() => {
                self.store.open_asks_of_family(session.id).await?
            }
            Some(_) | None => Vec::new(),
        };
        let queue_place = match job.state {
            JobState::Queued => Some(self.store.queue_place(&job).await?),
            JobState::Starting
            | JobState::Running
            | JobState::Waiting
            | JobState::Completed
            | JobState::Failed
            | JobState::Cancelled => None,
        };
        let (tool, breadcrumb) = self.crumb(&job, asks.first(), queue_place).await?;
        let is_ending = job.cancel_wished_at.is_some();
        Ok(JobContext {
            phase: JobPhase::of(job.kind, job.state, tool.as_deref(), is_ending),
            workspace_path,
            session: session.as_ref().map(|session| session.id),
            native_session: session.map(|session| session.native_id),
            breadcrumb,
            open_asks: asks.iter().map(|ask| ask.id).collect(),
            queue_place,
            may_cancel: caller.require_in(Grant::Prompt, job.workspace).is_ok(),
            job,
        })
    }

    /// A job that has ended, with its session. One that ended before it had one has only the name of it.
    async fn ended_context(&self, job: Job) -> Result<JobContext, BrokerError> {
        let native_session = match job.session {
            Some(session) => self.store.native_id(session).await?,
            None => None,
        };
        Ok(JobContext {
            workspace_path: self.path_of(&job).await?,
            session: job.session.filter(|_| native_session.is_some()),
            native_session,
            phase: JobPhase::of(job.kind, job.state, None, false),
            breadcrumb: None,
            open_asks: Vec::new(),
            queue_place: None,
            may_cancel: false,
            job,
        })
    }

    /// Where the workspace of a job is.
    async fn path_of(&self, job: &Job) -> Result<String, BrokerError> {
        if let Some(supervisor) = self.supervisors.of(job.workspace) {
            return Ok(supervisor.workspace().path.clone());
        }
        let workspace = self.store.workspace(job.workspace).await?;
        Ok(workspace.map_or_else(String::new, |workspace| workspace.path))
    }

    /// The newest tool of a job that has not ended, and what the job does.
    async fn crumb(
        &self,
        job: &Job,
        ask: Option<&Ask>,
        queue_place: Option<i64>,
    ) -> Result<(Option<String>, Option<Breadcrumb>), BrokerError> {
        let crumb = |text: String, since| Breadcrumb {
            text: one_line(&text),
            since,
        };
        if let Some(ask) = ask {
            let text = format!(
                "waiting for you: {} {}",
                ask.subject.tool(),
                ask.subject.summary()
            );
            return Ok((None, Some(crumb(text, ask.opened_at))));
        }
        if let Some(place) = queue_place {
            let text = format!("queued, {place} before it");
            return Ok((None, Some(crumb(text, job.created_at))));
        }
        let since = job.started_at.unwrap_or(job.created_at);
        let Some(session) = job.session.filter(|_| job.state != JobState::Starting) else {
            let text = format!("starting {}", job.engine);
            return Ok((None, Some(crumb(text, since))));
        };
        let items = self
            .store
            .newest_items(session, 0, i64::MAX, NEWEST)
            .await?;
        let is_talking = !self.live.growing(session).is_empty();
        let newest = items.into_iter().next();
        Ok(match newest.map(|item| (item.at, item.item)) {
            Some((
                at,
                Item::Tool {
                    tool,
                    status: ToolStatus::Running | ToolStatus::Pending,
                    input,
                    ..
                },
            )) => {
                let text = format!("{tool}: {}", in_short(&input));
                (Some(tool), Some(crumb(text, at)))
            }
            Some((at, Item::Tool { tool, .. })) if !is_talking => {
                let text = format!("thinking, after {tool}");
                (Some(tool), Some(crumb(text, at)))
            }
            Some((at, _)) if is_talking => (None, Some(crumb("writing".to_owned(), at))),
            Some((at, _)) => (None, Some(crumb("thinking".to_owned(), at))),
            None => (None, Some(crumb("thinking".to_owned(), since))),
        })
    }
}

/// What a tool was given, in a line.
fn in_short(input: &Value) -> String {
    let known = ["command", "filePath", "file_path", "path", "pattern", "url"];
    known
        .iter()
        .find_map(|name| input[*name].as_str())
        .map_or_else(|| input.to_string(), str::to_owned)
}

fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(CRUMB_LENGTH).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
