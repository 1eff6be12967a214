//! Turns: a prompt is a row before it is sent, so that none is lost and none is sent twice unnoticed.
//!
//! `sent_at` says how far one is: nothing while it waits and can be taken back, zero while it is on its way to an engine that
//! is told again if that breaks off, and the time once the engine has it.

use countersign_core::actor::Actor;
use countersign_core::event::EventBody;
use countersign_core::id::{AskId, SessionId, TurnId, WorkspaceId};
use countersign_core::session::{Activity, Turn, TurnOutcome};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::attachments::{Attached, keep_attachments};
use crate::database::{on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::{COUNTERSIGN, Write, name_in_audit, to_json};

/// A turn that is to begin.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// Its id; a turn with this id that is there already is returned instead.
    pub id: TurnId,
    /// The session.
    pub session: SessionId,
    /// What the engine is to call the prompt's message.
    pub native_id: String,
    /// What is said.
    pub prompt: String,
    /// The model that is wished for, as the engine calls it.
    pub model: Option<String>,
    /// The mode that is wished for.
    pub mode: Option<String>,
    /// The agent that is wished for.
    pub agent: Option<String>,
    /// The ask whose denial it gives the reason of, or says that nobody answered.
    pub follows: Option<AskId>,
}

/// A prompt that waits until its agent has come to the end of what it is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedTurn {
    /// The turn that it will begin.
    pub turn: TurnId,
    /// The beginning of what will be said, at most 500 characters.
    pub text: String,
    /// Who wrote it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

row! {
    struct TurnRow {
        id: String,
        session: String,
        native_id: String,
        prompt: String,
        model: Option<String>,
        mode: Option<String>,
        agent: Option<String>,
        follows: Option<String>,
        started_at: i64,
        cancelled_at: Option<i64>,
        outcome: Option<String>,
    }
}

impl TryFrom<TurnRow> for Turn {
    type Error = StoreError;

    fn try_from(row: TurnRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("turns", &row.id, column);
        Ok(Self {
            id: row.id.parse().map_err(|_| corrupt("id"))?,
            session: row.session.parse().map_err(|_| corrupt("session"))?,
            follows: row
                .follows
                .map(|id| id.parse())
                .transpose()
                .map_err(|_| corrupt("follows"))?,
            outcome: row
                .outcome
                .map(|json| serde_json::from_str(&json))
                .transpose()
                .map_err(|_| corrupt("outcome"))?,
            native_id: row.native_id,
            prompt: row.prompt,
            model: row.model,
            mode: row.mode,
            agent: row.agent,
            started_at: Timestamp::from_micros(row.started_at),
            cancelled_at: row.cancelled_at.map(Timestamp::from_micros),
        })
    }
}

macro_rules! select_turns {
    ($rest:literal) => {
        concat!(
            "SELECT id, session, native_id, prompt, model, mode, agent, follows, started_at, cancelled_at, outcome FROM turns ",
            $rest
        )
    };
}

impl Store {
    /// Begins a turn on behalf of `by`; says whether it is new.
    pub async fn begin_turn(
        &self,
        workspace: WorkspaceId,
        turn: NewTurn,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(Turn, bool), StoreError> {
        self.begin_turn_with(workspace, turn, &[], by, now).await
    }

    /// Begins a turn with what comes along with its prompt; says whether it is new. One that is there already keeps
    /// what it came with.
    pub async fn begin_turn_with(
        &self,
        workspace: WorkspaceId,
        turn: NewTurn,
        attachments: &[Attached],
        by: &Actor,
        now: Timestamp,
    ) -> Result<(Turn, bool), StoreError> {
        let (id, name) = (by.id.to_string(), name_in_audit(by));
        self.begin(workspace, turn, attachments, (&id, &name), now)
            .await
    }

    /// Begins a turn in which nobody but Countersign itself says something; says whether it is new.
    pub async fn begin_own_turn(
        &self,
        workspace: WorkspaceId,
        turn: NewTurn,
        now: Timestamp,
    ) -> Result<(Turn, bool), StoreError> {
        self.begin(workspace, turn, &[], (COUNTERSIGN, COUNTERSIGN), now)
            .await
    }

    /// Begins a turn; whoever does has an id, and a name in the audit.
    async fn begin(
        &self,
        workspace: WorkspaceId,
        turn: NewTurn,
        attachments: &[Attached],
        by: (&str, &str),
        now: Timestamp,
    ) -> Result<(Turn, bool), StoreError> {
        let mut write = self.write(now).await?;
        let begun = begin_turn_in(&mut write, workspace, turn, attachments, by, now).await?;
        self.commit(write).await?;
        Ok(begun)
    }

    /// The turn called `id`.
    pub async fn turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        const GET: &str = select_turns!("WHERE id = $1");
        let row: Option<TurnRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Turn::try_from).transpose()
    }

    /// Notes that the engine has taken a turn's prompt. Its session is at work from now on, unless the turn has ended by
    /// now: the engine can be done before its word that it took the prompt is read.
    pub async fn mark_turn_sent(&self, turn: TurnId, now: Timestamp) -> Result<(), StoreError> {
        const MARK: &str =
            "UPDATE turns SET sent_at = $2 WHERE id = $1 AND COALESCE(sent_at, 0) = 0";
        const BUSY: &str = "UPDATE sessions SET activity = 'busy', changed_at = $2 WHERE activity <> 'busy' \
             AND id = (SELECT session FROM turns WHERE id = $1 AND ended_at IS NULL) RETURNING id, workspace";
        let mut write = self.write(now).await?;
        let row: Option<(String, String)> = on_tx!(&mut write.tx, |connection| {
            query(MARK)
                .bind(turn.to_string())
                .bind(now.as_micros())
                .execute(&mut *connection)
                .await?;
            query(BUSY)
                .bind(turn.to_string())
                .bind(now.as_micros())
                .fetch_optional(connection)
                .await?
        });
        if let Some((session, workspace)) = row {
            let session = session
                .parse()
                .map_err(|_| StoreError::corrupt("turns", turn, "session"))?;
            let workspace = workspace
                .parse()
                .map_err(|_| StoreError::corrupt("sessions", session, "workspace"))?;
            let activity = Activity::Busy;
            write.event(workspace, EventBody::SessionChanged { session, activity });
        }
        self.commit(write).await
    }

    /// Notes that `by` cancelled the turns of a session that have not ended; returns those of which it is news.
    ///
    /// They end when the engine has let go of them.
    pub async fn cancel_turns(
        &self,
        workspace: WorkspaceId,
        session: SessionId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Vec<TurnId>, StoreError> {
        const CANCEL: &str = "UPDATE turns SET cancelled_at = $2 \
             WHERE session = $1 AND ended_at IS NULL AND cancelled_at IS NULL RETURNING id";
        let mut write = self.write(now).await?;
        let rows: Vec<(String,)> = on_tx!(&mut write.tx, |connection| {
            query(CANCEL)
                .bind(session.to_string())
                .bind(now.as_micros())
                .fetch_all(connection)
                .await?
        });
        let turns: Vec<TurnId> = rows
            .iter()
            .map(|(id,)| {
                id.parse()
                    .map_err(|_| StoreError::corrupt("turns", id, "id"))
            })
            .collect::<Result<_, _>>()?;
        for turn in &turns {
            let event = EventBody::TurnChanged {
                turn: *turn,
                session,
                ended: false,
            };
            write.event(workspace, event);
        }
        if !turns.is_empty() {
            let detail = json!({ "turns": turns });
            write.deed(
                workspace,
                &name_in_audit(by),
                "session.cancel",
                session,
                detail,
            );
            self.commit(write).await?;
        }
        Ok(turns)
    }

    /// Notes that a turn is about to be said to its agent; says whether it may be. One that was taken back may not.
    pub async fn claim_turn(&self, turn: TurnId, now: Timestamp) -> Result<bool, StoreError> {
        const CLAIM: &str =
            "UPDATE turns SET sent_at = COALESCE(sent_at, $2) WHERE id = $1 AND ended_at IS NULL";
        let mut write = self.write(now).await?;
        let claimed = on_tx!(&mut write.tx, |connection| {
            query(CLAIM)
                .bind(turn.to_string())
                .bind(now.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        self.commit(write).await?;
        Ok(claimed == 1)
    }

    /// Notes that a turn is on its way to its engine, which is told again if that breaks off; says whether it may go. One
    /// that has ended may not, for it was taken back.
    pub async fn send_off_turn(&self, turn: TurnId, now: Timestamp) -> Result<bool, StoreError> {
        const SEND_OFF: &str = "UPDATE turns SET sent_at = COALESCE(sent_at, 0) WHERE id = $1 AND ended_at IS NULL \
             RETURNING id";
        let mut write = self.write(now).await?;
        let gone: Option<(String,)> = on_tx!(&mut write.tx, |connection| {
            query(SEND_OFF)
                .bind(turn.to_string())
                .fetch_optional(connection)
                .await?
        });
        self.commit(write).await?;
        Ok(gone.is_some())
    }

    /// Takes a turn back that has not been said to its agent, on behalf of `by`; says whether it could be.
    pub async fn take_turn_back(
        &self,
        workspace: WorkspaceId,
        session: SessionId,
        turn: TurnId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const TAKE: &str = "UPDATE turns SET cancelled_at = $3, ended_at = $3, outcome = $4 \
             WHERE id = $1 AND session = $2 AND ended_at IS NULL AND sent_at IS NULL AND resumed = 0";
        let mut write = self.write(now).await?;
        let taken = on_tx!(&mut write.tx, |connection| {
            query(TAKE)
                .bind(turn.to_string())
                .bind(session.to_string())
                .bind(now.as_micros())
                .bind(to_json(&TurnOutcome::Cancelled))
                .execute(connection)
                .await?
                .rows_affected()
        });
        if taken == 0 {
            return Ok(false);
        }
        let event = EventBody::TurnChanged {
            turn,
            session,
            ended: true,
        };
        write.event(workspace, event);
        let detail = json!({ "turn": turn });
        write.deed(
            workspace,
            &name_in_audit(by),
            "session.take_back",
            session,
            detail,
        );
        self.commit(write).await?;
        Ok(true)
    }

    /// The prompts of a session that people wrote and its agent has not been told, oldest first, each with its beginning.
    pub async fn queued_turns(&self, session: SessionId) -> Result<Vec<QueuedTurn>, StoreError> {
        const LIST: &str = "SELECT turns.id, SUBSTR(turns.prompt, 1, 500), turns.started_at, \
             COALESCE(actors.name, turns.actor) \
             FROM turns LEFT JOIN actors ON actors.id = turns.actor WHERE turns.session = $1 \
             AND turns.ended_at IS NULL AND turns.sent_at IS NULL AND turns.cancelled_at IS NULL \
             AND turns.resumed = 0 AND turns.follows IS NULL ORDER BY turns.id";
        let rows: Vec<(String, String, i64, String)> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(session.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter()
            .map(|(id, text, at, by)| {
                Ok(QueuedTurn {
                    turn: id
                        .parse()
                        .map_err(|_| StoreError::corrupt("turns", &id, "id"))?,
                    text,
                    by,
                    at: Timestamp::from_micros(at),
                })
            })
            .collect()
    }

    /// Ends a turn, once.
    pub async fn end_turn(
        &self,
        workspace: WorkspaceId,
        turn: TurnId,
        outcome: &TurnOutcome,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const END: &str = "UPDATE turns SET outcome = $2, ended_at = $3 \
             WHERE id = $1 AND ended_at IS NULL RETURNING session";
        let mut write = self.write(now).await?;
        let row: Option<(String,)> = on_tx!(&mut write.tx, |connection| {
            query(END)
                .bind(turn.to_string())
                .bind(to_json(outcome))
                .bind(now.as_micros())
                .fetch_optional(connection)
                .await?
        });
        let Some((session,)) = row else {
            return Ok(false);
        };
        let session = session
            .parse()
            .map_err(|_| StoreError::corrupt("turns", turn, "session"))?;
        write.event(
            workspace,
            EventBody::TurnChanged {
                turn,
                session,
                ended: true,
            },
        );
        self.commit(write).await?;
        Ok(true)
    }

    /// The newest turn of a session.
    pub async fn newest_turn(&self, session: SessionId) -> Result<Option<Turn>, StoreError> {
        const GET: &str = select_turns!("WHERE session = $1 ORDER BY id DESC LIMIT 1");
        let row: Option<TurnRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(session.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Turn::try_from).transpose()
    }

    /// The turns of a session that have not ended, oldest first.
    pub async fn open_turns(&self, session: SessionId) -> Result<Vec<Turn>, StoreError> {
        const LIST: &str = select_turns!("WHERE session = $1 AND ended_at IS NULL ORDER BY id");
        let rows: Vec<TurnRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(session.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Turn::try_from).collect()
    }

    /// Whether a turn waits to be sent: it is not even on its way.
    pub async fn is_turn_waiting(&self, turn: TurnId) -> Result<bool, StoreError> {
        const COUNT: &str =
            "SELECT COUNT(*) FROM turns WHERE id = $1 AND ended_at IS NULL AND sent_at IS NULL";
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT)
                .bind(turn.to_string())
                .fetch_one(connection)
                .await?
        });
        Ok(count > 0)
    }

    /// The turns of an engine of a workspace that were written down and, as far as is known, never sent.
    pub async fn unsent_turns(
        &self,
        workspace: WorkspaceId,
        engine: &str,
    ) -> Result<Vec<Turn>, StoreError> {
        const LIST: &str = "SELECT turns.id, turns.session, turns.native_id, turns.prompt, \
             turns.model, turns.mode, turns.agent, turns.follows, turns.started_at, turns.cancelled_at, turns.outcome FROM turns JOIN sessions ON sessions.id = turns.session \
             WHERE sessions.workspace = $1 AND sessions.engine = $2 AND turns.ended_at IS NULL \
             AND COALESCE(turns.sent_at, 0) = 0 ORDER BY turns.id";
        let rows: Vec<TurnRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(workspace.to_string())
                .bind(engine)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Turn::try_from).collect()
    }
}

/// Begins a turn in a transaction; says whether it is new. Whoever begins it has an id, and a name in the audit.
pub(crate) async fn begin_turn_in(
    write: &mut Write,
    workspace: WorkspaceId,
    turn: NewTurn,
    attachments: &[Attached],
    (actor, name): (&str, &str),
    now: Timestamp,
) -> Result<(Turn, bool), StoreError> {
    const ADD: &str = "INSERT INTO turns (id, session, native_id, prompt, actor, started_at, model, agent, follows, mode) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING";
    const GET: &str = select_turns!("WHERE id = $1");
    let added = on_tx!(&mut write.tx, |connection| {
        query(ADD)
            .bind(turn.id.to_string())
            .bind(turn.session.to_string())
            .bind(&turn.native_id)
            .bind(&turn.prompt)
            .bind(actor)
            .bind(now.as_micros())
            .bind(&turn.model)
            .bind(&turn.agent)
            .bind(turn.follows.map(|id| id.to_string()))
            .bind(&turn.mode)
            .execute(connection)
            .await?
            .rows_affected()
    });
    let row: TurnRow = on_tx!(&mut write.tx, |connection| {
        query(GET)
            .bind(turn.id.to_string())
            .fetch_one(connection)
            .await?
    });
    let stored = Turn::try_from(row)?;
    if added > 0 {
        let event = EventBody::TurnChanged {
            turn: stored.id,
            session: stored.session,
            ended: false,
        };
        write.event(workspace, event);
        let mut detail = json!({ "turn": stored.id, "length": stored.prompt.len() });
        if !attachments.is_empty() {
            keep_attachments(&mut write.tx, stored.id, attachments).await?;
            detail["attachments"] = attachments.iter().map(Attached::in_audit).collect();
        }
        write.deed(workspace, name, "session.prompt", stored.session, detail);
    }
    Ok((stored, added > 0))
}
