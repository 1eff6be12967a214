//! The rows of jobs, written and read.

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::job::{Access, Job, JobKind, JobLimits, JobState, OnAsk};
use countersign_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::database::{Tx, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::to_json;

row! {
    pub(super) struct JobRow {
        id: String,
        kind: String,
        workspace: String,
        actor: String,
        actor_kind: String,
        actor_name: String,
        caller_group: Option<String>,
        title: String,
        prompt: String,
        engine: String,
        model: Option<String>,
        agent: Option<String>,
        mode: Option<String>,
        effort: Option<String>,
        on_ask: String,
        access: String,
        resume: Option<String>,
        directory: String,
        wants_worktree: i64,
        worktree: Option<String>,
        priority: i64,
        ask_expires_s: i64,
        deadline_s: Option<i64>,
        idle_limit_s: i64,
        state: String,
        failure: Option<String>,
        cancelled_by: Option<String>,
        cancel_wished_at: Option<i64>,
        session: Option<String>,
        turn: Option<String>,
        result: Option<String>,
        changed_files: String,
        usage: Option<String>,
        created_at: i64,
        started_at: Option<i64>,
        changed_at: i64,
        ended_at: Option<i64>,
    }
}

/// Selects jobs with as much of their prompt and their result as is said.
macro_rules! select_jobs {
    ($prompt:literal, $result:literal, $($rest:literal),+) => {
        concat!(
            "SELECT jobs.id, jobs.kind, jobs.workspace, jobs.actor, actors.kind AS actor_kind, \
             actors.name AS actor_name, jobs.caller_group, jobs.title, ",
            $prompt,
            " AS prompt, jobs.engine, jobs.model, jobs.agent, jobs.mode, jobs.effort, jobs.on_ask, jobs.access, \
             jobs.resume, jobs.directory, jobs.wants_worktree, jobs.worktree, jobs.priority, jobs.ask_expires_s, \
             jobs.deadline_s, jobs.idle_limit_s, jobs.state, jobs.failure, jobs.cancelled_by, \
             jobs.cancel_wished_at, jobs.session, jobs.turn, ",
            $result,
            " AS result, jobs.changed_files, jobs.usage, jobs.created_at, jobs.started_at, jobs.changed_at, \
             jobs.ended_at FROM jobs JOIN actors ON actors.id = jobs.actor ",
            $($rest),+
        )
    };
}

pub(super) use select_jobs;

impl TryFrom<JobRow> for Job {
    type Error = StoreError;

    fn try_from(row: JobRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("jobs", &row.id, column);
        let seconds = |value: i64, column| u64::try_from(value).map_err(|_| corrupt(column));
        Ok(Self {
            id: row.id.parse().map_err(|_| corrupt("id"))?,
            kind: JobKind::from_name(&row.kind).ok_or_else(|| corrupt("kind"))?,
            workspace: row.workspace.parse().map_err(|_| corrupt("workspace"))?,
            by: Actor {
                id: row.actor.parse().map_err(|_| corrupt("actor"))?,
                kind: ActorKind::from_name(&row.actor_kind).ok_or_else(|| corrupt("actor"))?,
                name: row.actor_name,
            },
            on_ask: OnAsk::from_name(&row.on_ask).ok_or_else(|| corrupt("on_ask"))?,
            access: Access::from_name(&row.access).ok_or_else(|| corrupt("access"))?,
            resume: from_json(row.resume).map_err(|()| corrupt("resume"))?,
            wants_worktree: row.wants_worktree != 0,
            worktree: from_json(row.worktree).map_err(|()| corrupt("worktree"))?,
            limits: JobLimits {
                ask_expires_seconds: seconds(row.ask_expires_s, "ask_expires_s")?,
                deadline_seconds: row
                    .deadline_s
                    .map(|value| seconds(value, "deadline_s"))
                    .transpose()?,
                idle_limit_seconds: seconds(row.idle_limit_s, "idle_limit_s")?,
            },
            state: JobState::from_name(&row.state).ok_or_else(|| corrupt("state"))?,
            failure: from_json(row.failure).map_err(|()| corrupt("failure"))?,
            session: row
                .session
                .map(|id| id.parse())
                .transpose()
                .map_err(|_| corrupt("session"))?,
            turn: row
                .turn
                .map(|id| id.parse())
                .transpose()
                .map_err(|_| corrupt("turn"))?,
            changed_files: from_json(Some(row.changed_files))
                .map_err(|()| corrupt("changed_files"))?
                .unwrap_or_default(),
            usage: from_json(row.usage).map_err(|()| corrupt("usage"))?,
            group: row.caller_group,
            title: row.title,
            prompt: row.prompt,
            engine: row.engine,
            model: row.model,
            agent: row.agent,
            mode: row.mode,
            effort: row.effort,
            directory: row.directory,
            priority: row.priority,
            cancelled_by: row.cancelled_by,
            cancel_wished_at: row.cancel_wished_at.map(Timestamp::from_micros),
            result: row.result,
            created_at: Timestamp::from_micros(row.created_at),
            started_at: row.started_at.map(Timestamp::from_micros),
            changed_at: Timestamp::from_micros(row.changed_at),
            ended_at: row.ended_at.map(Timestamp::from_micros),
        })
    }
}

fn from_json<T: DeserializeOwned>(text: Option<String>) -> Result<Option<T>, ()> {
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|_| ())
}

/// Adds a job that is queued, unless it is known; says whether it was added.
pub(super) async fn insert(
    tx: &mut Tx,
    job: &Job,
    attachments: &Value,
) -> Result<bool, StoreError> {
    const ADD: &str = "INSERT INTO jobs (id, kind, workspace, actor, caller_group, title, prompt, engine, model, \
         agent, mode, effort, on_ask, access, resume, directory, wants_worktree, worktree, priority, ask_expires_s, \
         deadline_s, idle_limit_s, attachments, state, created_at, changed_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
         $22, $23, 'queued', $24, $24) ON CONFLICT (id) DO NOTHING";
    let seconds = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let added = on_tx!(tx, |connection| {
        query(ADD)
            .bind(job.id.as_str())
            .bind(job.kind.name())
            .bind(job.workspace.to_string())
            .bind(job.by.id.to_string())
            .bind(&job.group)
            .bind(&job.title)
            .bind(&job.prompt)
            .bind(&job.engine)
            .bind(&job.model)
            .bind(&job.agent)
            .bind(&job.mode)
            .bind(&job.effort)
            .bind(job.on_ask.name())
            .bind(job.access.name())
            .bind(job.resume.as_ref().map(to_json))
            .bind(&job.directory)
            .bind(i64::from(job.wants_worktree))
            .bind(job.worktree.as_ref().map(to_json))
            .bind(job.priority)
            .bind(seconds(job.limits.ask_expires_seconds))
            .bind(job.limits.deadline_seconds.map(seconds))
            .bind(seconds(job.limits.idle_limit_seconds))
            .bind(attachments.to_string())
            .bind(job.created_at.as_micros())
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(added == 1)
}
