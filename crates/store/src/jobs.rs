//! Jobs: handed in once, started once, ended once.
//!
//! Every step is a compare-and-set from the states in which it can be taken; it writes a line of the job's log, an audit
//! entry and an event in the same transaction.

mod list;
mod row;
mod turn;

pub use list::{Busy, JobFilter, Queue};
pub(crate) use turn::expiry_by_job;

use countersign_core::actor::Actor;
use countersign_core::event::EventBody;
use countersign_core::id::{SessionId, TurnId};
use countersign_core::job::{
    ChangedFile, Job, JobFailure, JobId, JobLogEntry, JobState, JobStep, JobUsage, Worktree,
};
use countersign_core::time::Timestamp;
use serde_json::{Value, json};

use crate::Store;
use crate::database::{Tx, on_db, on_tx, row};
use crate::error::StoreError;
use crate::jobs::row::{JobRow, select_jobs};
use crate::sql::query;
use crate::write::{COUNTERSIGN, Write, name_in_audit, to_json};

/// How a job ends.
#[derive(Debug, Clone, Default)]
pub struct JobEnd {
    /// Why it failed; it was completed if there is nothing and nobody cancelled it.
    pub failure: Option<JobFailure>,
    /// Who cancelled it.
    pub cancelled_by: Option<String>,
    /// The last words of the agent.
    pub result: Option<String>,
    /// The files that it changed.
    pub changed_files: Vec<ChangedFile>,
    /// What it used up.
    pub usage: Option<JobUsage>,
}

impl JobEnd {
    /// The step that this is.
    fn step(&self) -> JobStep {
        match (&self.cancelled_by, &self.failure) {
            (Some(_), _) => JobStep::Cancel,
            (None, Some(_)) => JobStep::Fail,
            (None, None) => JobStep::Complete,
        }
    }

    /// What the log says of it.
    fn sentence(&self) -> String {
        match (&self.cancelled_by, &self.failure) {
            (Some(by), _) => format!("cancelled by {by}"),
            (None, Some(failure)) => {
                format!("failed ({}): {}", failure.code.name(), failure.message)
            }
            (None, None) => "completed".to_owned(),
        }
    }
}

row! {
    struct LogRow {
        seq: i64,
        at: i64,
        state: String,
        text: String,
    }
}

impl Store {
    /// Writes a job down; says whether it is new. One with the same id that is there already stays as it is.
    pub async fn hand_in_job(
        &self,
        job: &Job,
        attachments: &Value,
        now: Timestamp,
    ) -> Result<(Job, bool), StoreError> {
        let mut write = self.write(now).await?;
        let added = row::insert(&mut write.tx, job, attachments).await?;
        let stored = job_in(&mut write.tx, &job.id)
            .await?
            .ok_or_else(|| StoreError::corrupt("jobs", &job.id, "id"))?;
        if added {
            let detail = json!({
                "kind": job.kind, "engine": job.engine, "directory": job.directory, "length": job.prompt.len(),
                "on_ask": job.on_ask, "access": job.access, "worktree": job.wants_worktree, "resume": job.resume,
            });
            let by = name_in_audit(&job.by);
            write.deed(job.workspace, &by, "job.hand_in", &job.id, detail);
            log(&mut write, &stored, "queued", now).await?;
            announce(&mut write, &stored);
            self.commit(write).await?;
        }
        Ok((stored, added))
    }

    /// The job called `id`.
    pub async fn job(&self, id: &JobId) -> Result<Option<Job>, StoreError> {
        const GET: &str = select_jobs!("jobs.prompt", "jobs.result", "WHERE jobs.id = $1");
        let row: Option<JobRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.as_str())
                .fetch_optional(connection)
                .await?
        });
        row.map(Job::try_from).transpose()
    }

    /// What was to come along with the prompt of a job.
    pub async fn job_attachments(&self, id: &JobId) -> Result<Value, StoreError> {
        const GET: &str = "SELECT attachments FROM jobs WHERE id = $1";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.as_str())
                .fetch_optional(connection)
                .await?
        });
        let text = row.map_or_else(|| "[]".to_owned(), |(text,)| text);
        serde_json::from_str(&text).map_err(|_| StoreError::corrupt("jobs", id, "attachments"))
    }

    /// Takes a job from the queue, with the names that its session and its turn will have; says whether it was there.
    pub async fn start_job(
        &self,
        id: &JobId,
        session: SessionId,
        turn: TurnId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const START: &str = "UPDATE jobs SET state = 'starting', session = $2, turn = $3, \
             started_at = $4, changed_at = $4 \
             WHERE id = $1 AND state = 'queued' AND cancel_wished_at IS NULL";
        let mut write = self.write(now).await?;
        let started = on_tx!(&mut write.tx, |connection| {
            query(START)
                .bind(id.as_str())
                .bind(session.to_string())
                .bind(turn.to_string())
                .bind(now.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        if started == 0 {
            return Ok(false);
        }
        self.tell(write, id, (COUNTERSIGN, "job.start"), "starting", now)
            .await?;
        Ok(true)
    }

    /// Takes a step that only changes the state, for the reason in `cause`; says whether it could be taken.
    pub async fn advance_job(
        &self,
        id: &JobId,
        step: JobStep,
        cause: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const ADVANCE: &str =
            "UPDATE jobs SET state = $3, changed_at = $4 WHERE id = $1 AND state = $2";
        let mut write = self.write(now).await?;
        for state in JobState::before(step) {
            let Ok(next) = state.advance(step) else {
                continue;
            };
            let advanced = on_tx!(&mut write.tx, |connection| {
                query(ADVANCE)
                    .bind(id.as_str())
                    .bind(state.name())
                    .bind(next.name())
                    .bind(now.as_micros())
                    .execute(connection)
                    .await?
                    .rows_affected()
            });
            if advanced == 1 {
                let action = format!("job.{}", next.name());
                self.tell(write, id, (COUNTERSIGN, &action), cause, now)
                    .await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends a job, once; says whether this was the end.
    pub async fn end_job(
        &self,
        id: &JobId,
        end: &JobEnd,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const END: &str = "UPDATE jobs SET state = $3, failure = $4, cancelled_by = $5, result = $6, \
             changed_files = $7, usage = COALESCE($8, usage), changed_at = $9, ended_at = $9 \
             WHERE id = $1 AND state = $2";
        let mut write = self.write(now).await?;
        let step = end.step();
        for state in JobState::before(step) {
            let Ok(next) = state.advance(step) else {
                continue;
            };
            let ended = on_tx!(&mut write.tx, |connection| {
                query(END)
                    .bind(id.as_str())
                    .bind(state.name())
                    .bind(next.name())
                    .bind(end.failure.as_ref().map(to_json))
                    .bind(&end.cancelled_by)
                    .bind(&end.result)
                    .bind(to_json(&end.changed_files))
                    .bind(end.usage.as_ref().map(to_json))
                    .bind(now.as_micros())
                    .execute(connection)
                    .await?
                    .rows_affected()
            });
            if ended == 1 {
                let action = format!("job.{}", next.name());
                self.tell(write, id, (COUNTERSIGN, &action), &end.sentence(), now)
                    .await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes that `by` wishes a job to end. One that waits in the queue is over at once; says whether it is news.
    pub async fn wish_job_cancelled(
        &self,
        id: &JobId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const WISH: &str = "UPDATE jobs SET cancel_wished_at = $2, cancelled_by = $3 \
             WHERE id = $1 AND ended_at IS NULL AND cancel_wished_at IS NULL";
        const END: &str = "UPDATE jobs SET state = 'cancelled', ended_at = $2, changed_at = $2 \
             WHERE id = $1 AND state = 'queued'";
        let mut write = self.write(now).await?;
        let (wished, ended) = on_tx!(&mut write.tx, |connection| {
            let wished = query(WISH)
                .bind(id.as_str())
                .bind(now.as_micros())
                .bind(&by.name)
                .execute(&mut *connection)
                .await?
                .rows_affected();
            let ended = query(END)
                .bind(id.as_str())
                .bind(now.as_micros())
                .execute(connection)
                .await?
                .rows_affected();
            (wished, ended)
        });
        if wished == 0 {
            return Ok(false);
        }
        let name = name_in_audit(by);
        let cause = if ended == 1 {
            format!("cancelled by {}", by.name)
        } else {
            format!("{} wants it to end", by.name)
        };
        self.tell(write, id, (&name, "job.cancel"), &cause, now)
            .await?;
        Ok(true)
    }

    /// Moves a job within its queue, on behalf of `by`; says whether it was still there.
    pub async fn set_job_priority(
        &self,
        id: &JobId,
        priority: i64,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SET: &str = "UPDATE jobs SET priority = $2 WHERE id = $1 AND state = 'queued'";
        let mut write = self.write(now).await?;
        let moved = on_tx!(&mut write.tx, |connection| {
            query(SET)
                .bind(id.as_str())
                .bind(priority)
                .execute(connection)
                .await?
                .rows_affected()
        });
        if moved == 0 {
            return Ok(false);
        }
        let cause = format!("{} gave it the priority {priority}", by.name);
        self.tell(write, id, (&name_in_audit(by), "job.priority"), &cause, now)
            .await?;
        Ok(true)
    }

    /// Notes what became of a job's worktree, on behalf of `by`, or of Countersign itself.
    pub async fn set_worktree(
        &self,
        id: &JobId,
        worktree: &Worktree,
        by: Option<&Actor>,
        cause: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SET: &str = "UPDATE jobs SET worktree = $2, directory = $3 WHERE id = $1";
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            query(SET)
                .bind(id.as_str())
                .bind(to_json(worktree))
                .bind(&worktree.path)
                .execute(connection)
                .await?;
        });
        let by = by.map_or_else(|| COUNTERSIGN.to_owned(), name_in_audit);
        self.tell(write, id, (&by, "job.worktree"), cause, now)
            .await
    }

    /// Adds a line to a job's log that is no step.
    pub async fn note_job(&self, id: &JobId, text: &str, now: Timestamp) -> Result<(), StoreError> {
        let write = self.write(now).await?;
        self.tell(write, id, (COUNTERSIGN, "job.note"), text, now)
            .await
    }

    /// The lines of a job's log after the place `after`, at most `limit` of them.
    pub async fn job_log(
        &self,
        id: &JobId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<JobLogEntry>, StoreError> {
        const LIST: &str = "SELECT seq, at, state, text FROM job_log \
             WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let rows: Vec<LogRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(id.as_str())
                .bind(after)
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter()
            .map(|row| {
                Ok(JobLogEntry {
                    seq: row.seq,
                    at: Timestamp::from_micros(row.at),
                    state: JobState::from_name(&row.state)
                        .ok_or_else(|| StoreError::corrupt("job_log", id, "state"))?,
                    text: row.text,
                })
            })
            .collect()
    }

    /// Writes the log line, the audit entry and the event of what `write` changed about a job, and commits it.
    async fn tell(
        &self,
        mut write: Write,
        id: &JobId,
        (actor, action): (&str, &str),
        cause: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(job) = job_in(&mut write.tx, id).await? else {
            return Ok(());
        };
        log(&mut write, &job, cause, now).await?;
        let detail = json!({ "state": job.state, "cause": cause });
        write.deed(job.workspace, actor, action, id, detail);
        announce(&mut write, &job);
        self.commit(write).await
    }
}

/// The job called `id`, within a transaction.
async fn job_in(tx: &mut Tx, id: &JobId) -> Result<Option<Job>, StoreError> {
    const GET: &str = select_jobs!("jobs.prompt", "jobs.result", "WHERE jobs.id = $1");
    let row: Option<JobRow> = on_tx!(tx, |connection| {
        query(GET)
            .bind(id.as_str())
            .fetch_optional(connection)
            .await?
    });
    row.map(Job::try_from).transpose()
}

/// Adds a line to a job's log. Whoever writes one holds the job's row by then, so that each has a place of its own.
async fn log(write: &mut Write, job: &Job, text: &str, now: Timestamp) -> Result<(), StoreError> {
    const HOLD: &str = "UPDATE jobs SET changed_at = changed_at WHERE id = $1";
    const ADD: &str = "INSERT INTO job_log (job, seq, at, state, text) VALUES ($1, \
         (SELECT COALESCE(MAX(seq), 0) + 1 FROM job_log WHERE job = $1), $2, $3, $4)";
    on_tx!(&mut write.tx, |connection| {
        query(HOLD)
            .bind(job.id.as_str())
            .execute(&mut *connection)
            .await?;
        query(ADD)
            .bind(job.id.as_str())
            .bind(now.as_micros())
            .bind(job.state.name())
            .bind(text.replace('\0', "\u{fffd}"))
            .execute(connection)
            .await?;
    });
    Ok(())
}

fn announce(write: &mut Write, job: &Job) {
    let event = EventBody::JobChanged {
        job: job.id.clone(),
        state: job.state,
        session: job.session,
        group: job.group.clone(),
    };
    write.event(job.workspace, event);
}
