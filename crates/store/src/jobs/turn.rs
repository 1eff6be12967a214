//! What jobs have to do with turns, sessions and asks: how long their asks stay open, whether the turn of one may be sent
//! again after its engine died, and what it said last.

use std::time::Duration;

use countersign_core::ask::Ask;
use countersign_core::id::{RunId, SessionId, TurnId};
use countersign_core::job::JobUsage;
use countersign_core::session::TranscriptItem;
use countersign_core::time::Timestamp;

use crate::Store;
use crate::asks::{AskRow, select_asks};
use crate::database::{Tx, on_db, on_tx};
use crate::error::StoreError;
use crate::sql::query;
use crate::transcript::ItemRow;
use crate::write::to_json;

/// How often the turn of a job is sent again because its engine died over it: an engine that always dies over it would
/// do so for ever.
const RESUMPTIONS: i64 = 1;

/// How long an ask of a session stays open because a job of that session, or of the one that started it, says so.
///
/// Every ask that is opened looks here. Where no job is at work, which an index of those tells, nothing is looked for.
pub(crate) async fn expiry_by_job(
    tx: &mut Tx,
    session: SessionId,
) -> Result<Option<Duration>, StoreError> {
    const GET: &str = "WITH RECURSIVE family (id, parent) AS ( \
             SELECT id, parent FROM sessions WHERE id = $1 AND EXISTS ( \
                 SELECT 1 FROM jobs WHERE state IN ('starting', 'running', 'waiting')) \
             UNION SELECT sessions.id, sessions.parent FROM sessions JOIN family ON sessions.id = family.parent) \
         SELECT MIN(jobs.ask_expires_s) FROM jobs JOIN family ON jobs.session = family.id \
         WHERE jobs.state IN ('starting', 'running', 'waiting')";
    let (seconds,): (Option<i64>,) = on_tx!(tx, |connection| {
        query(GET)
            .bind(session.to_string())
            .fetch_one(connection)
            .await?
    });
    Ok(seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map(Duration::from_secs))
}

impl Store {
    /// How hard the model is to think in a turn, if the turn is a job's that says so.
    pub async fn effort_of_turn(&self, turn: TurnId) -> Result<Option<String>, StoreError> {
        const GET: &str = "SELECT effort FROM jobs WHERE turn = $1 AND effort IS NOT NULL";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(turn.to_string())
                .fetch_optional(connection)
                .await?
        });
        Ok(row.map(|(effort,)| effort))
    }

    /// Whether a turn is a job's.
    pub async fn is_of_job(&self, turn: TurnId) -> Result<bool, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM jobs WHERE turn = $1";
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT)
                .bind(turn.to_string())
                .fetch_one(connection)
                .await?
        });
        Ok(count > 0)
    }

    /// Notes what the turn of a job used up, for when the job ends.
    pub async fn note_job_usage(&self, turn: TurnId, usage: &JobUsage) -> Result<(), StoreError> {
        const SET: &str = "UPDATE jobs SET usage = $2 WHERE turn = $1 AND ended_at IS NULL";
        on_db!(&self.db, |connection| {
            query(SET)
                .bind(turn.to_string())
                .bind(to_json(usage))
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// The open asks of a session and of the sessions of its sub-agents, oldest first.
    pub async fn open_asks_of_family(&self, session: SessionId) -> Result<Vec<Ask>, StoreError> {
        const LIST: &str = select_asks!(
            "WHERE asks.state = 'open' AND asks.session || '' IN ( \
                 WITH RECURSIVE family (id) AS ( \
                     SELECT id FROM sessions WHERE id = $1 \
                     UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent = family.id) \
                 SELECT id FROM family) \
             ORDER BY asks.id"
        );
        let rows: Vec<AskRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(session.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Ask::try_from).collect()
    }

    /// Has the turn of a job that has not ended sent again under its own name, because its engine died over it; says
    /// whether it may be. It is not while somebody wants the job to end, nor more often than it can help.
    pub async fn resume_job_turn(
        &self,
        turn: TurnId,
        why: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const RESUME: &str = "UPDATE turns SET sent_at = NULL, resumed = resumed + 1 \
             WHERE id = $1 AND ended_at IS NULL AND cancelled_at IS NULL AND resumed < $2 \
             AND id IN (SELECT turn FROM jobs WHERE turn = $1 AND cancel_wished_at IS NULL \
                 AND state IN ('starting', 'running', 'waiting'))";
        const JOB: &str = "SELECT id FROM jobs WHERE turn = $1";
        let mut tx = self.db.begin().await?;
        let resumed = on_tx!(&mut tx, |connection| {
            query(RESUME)
                .bind(turn.to_string())
                .bind(RESUMPTIONS)
                .execute(connection)
                .await?
                .rows_affected()
        });
        if resumed == 0 {
            return Ok(false);
        }
        let (job,): (String,) = on_tx!(&mut tx, |connection| {
            query(JOB)
                .bind(turn.to_string())
                .fetch_one(connection)
                .await?
        });
        tx.commit().await?;
        if let Ok(job) = job.parse() {
            let text = format!("{why}: its next life goes on with the same prompt");
            self.note_job(&job, &text, now).await?;
        }
        Ok(true)
    }

    /// Whether a turn is to be sent again because its engine died over it.
    pub async fn is_to_be_resumed(&self, turn: TurnId) -> Result<bool, StoreError> {
        const GET: &str = "SELECT COUNT(*) FROM turns WHERE id = $1 AND ended_at IS NULL AND COALESCE(sent_at, 0) = 0 \
             AND resumed > 0";
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(GET)
                .bind(turn.to_string())
                .fetch_one(connection)
                .await?
        });
        Ok(count > 0)
    }

    /// The place of the item that the engine calls `native_id`.
    pub async fn item_place(
        &self,
        session: SessionId,
        native_id: &str,
    ) -> Result<Option<i64>, StoreError> {
        const GET: &str = "SELECT seq FROM items WHERE session = $1 AND native_id = $2";
        let row: Option<(i64,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(session.to_string())
                .bind(native_id)
                .fetch_optional(connection)
                .await?
        });
        Ok(row.map(|(seq,)| seq))
    }

    /// The newest items of a session behind the place `after` and before `before`, newest first.
    pub async fn newest_items(
        &self,
        session: SessionId,
        after: i64,
        before: i64,
        limit: i64,
    ) -> Result<Vec<TranscriptItem>, StoreError> {
        const LIST: &str = "SELECT seq, native_id, at, changed_at, body FROM items \
             WHERE session = $1 AND seq > $2 AND seq < $3 ORDER BY seq DESC LIMIT $4";
        let rows: Vec<ItemRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(session.to_string())
                .bind(after)
                .bind(before)
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(TranscriptItem::try_from).collect()
    }

    /// The life of its engine that serves a session, or served it last.
    pub async fn run_of_session(&self, session: SessionId) -> Result<Option<RunId>, StoreError> {
        const GET: &str = "SELECT run FROM sessions WHERE id = $1 AND run IS NOT NULL";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(session.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(|(run,)| {
            run.parse()
                .map_err(|_| StoreError::corrupt("sessions", session, "run"))
        })
        .transpose()
    }

    /// The sessions of jobs that have ended whose agents still run, though nobody talks with them.
    pub async fn sessions_to_release(&self) -> Result<Vec<SessionId>, StoreError> {
        const LIST: &str = "SELECT DISTINCT jobs.session FROM jobs \
             JOIN sessions ON sessions.id = jobs.session JOIN runs ON runs.id = sessions.run \
             WHERE runs.ended_at IS NULL AND jobs.ended_at IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.session = sessions.id AND turns.ended_at IS NULL) \
             AND NOT EXISTS (SELECT 1 FROM jobs AS others WHERE others.session = sessions.id \
                 AND others.ended_at IS NULL)";
        let rows: Vec<(String,)> = on_db!(&self.db, |connection| {
            query(LIST).fetch_all(connection).await?
        });
        rows.into_iter()
            .map(|(id,)| {
                id.parse()
                    .map_err(|_| StoreError::corrupt("jobs", &id, "session"))
            })
            .collect()
    }
}
