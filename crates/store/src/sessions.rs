//! Sessions.

use countersign_core::attachment::Takes;
use countersign_core::event::EventBody;
use countersign_core::id::{RunId, SessionId, WorkspaceId};
use countersign_core::session::{Activity, Session};
use countersign_core::time::Timestamp;

use crate::Store;
use crate::database::{Tx, on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::to_json;

row! {
    struct SessionRow {
        id: String,
        workspace: String,
        engine: String,
        native_id: String,
        parent: Option<String>,
        title: String,
        directory: String,
        agent: String,
        activity: String,
        started_at: i64,
        changed_at: i64,
    }
}

impl TryFrom<SessionRow> for Session {
    type Error = StoreError;

    fn try_from(row: SessionRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("sessions", &row.id, column);
        Ok(Self {
            id: row.id.parse().map_err(|_| corrupt("id"))?,
            workspace: row.workspace.parse().map_err(|_| corrupt("workspace"))?,
            parent: row
                .parent
                .map(|id| id.parse())
                .transpose()
                .map_err(|_| corrupt("parent"))?,
            activity: Activity::from_name(&row.activity).ok_or_else(|| corrupt("activity"))?,
            engine: row.engine,
            native_id: row.native_id,
            title: row.title,
            directory: row.directory,
            agent: row.agent,
            started_at: Timestamp::from_micros(row.started_at),
            changed_at: Timestamp::from_micros(row.changed_at),
        })
    }
}

macro_rules! session_columns {
    () => {
        "id, workspace, engine, native_id, parent, title, directory, agent, activity, started_at, changed_at"
    };
}

macro_rules! select_sessions {
    ($rest:literal) => {
        concat!("SELECT ", session_columns!(), " FROM sessions ", $rest)
    };
}

/// Notes within a larger write which life of its engine serves a session from now on.
pub(crate) async fn bind_run(
    tx: &mut Tx,
    session: SessionId,
    run: RunId,
    taken: u64,
) -> Result<(), StoreError> {
    const BIND: &str = "UPDATE sessions SET run = $2 WHERE id = $1";
    const TAKE: &str = "UPDATE runs SET taken = $2 WHERE id = $1";
    on_tx!(tx, |connection| {
        query(BIND)
            .bind(session.to_string())
            .bind(run.to_string())
            .execute(connection)
            .await?;
    });
    on_tx!(tx, |connection| {
        query(TAKE)
            .bind(run.to_string())
            .bind(i64::try_from(taken).unwrap_or(i64::MAX))
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// Adds a session, unless it is known by its native id; says whether it was added.
pub(crate) async fn add_session(
    tx: &mut Tx,
    session: &Session,
    takes: Option<Takes>,
) -> Result<bool, StoreError> {
    const ADD: &str = "INSERT INTO sessions \
         (id, workspace, native_id, parent, title, directory, agent, activity, started_at, changed_at, engine, takes) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (workspace, engine, native_id) DO NOTHING";
    let added = on_tx!(tx, |connection| {
        query(ADD)
            .bind(session.id.to_string())
            .bind(session.workspace.to_string())
            .bind(&session.native_id)
            .bind(session.parent.map(|id| id.to_string()))
            .bind(&session.title)
            .bind(&session.directory)
            .bind(&session.agent)
            .bind(session.activity.name())
            .bind(session.started_at.as_micros())
            .bind(session.changed_at.as_micros())
            .bind(&session.engine)
            .bind(takes.map(|takes| to_json(&takes)))
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(added > 0)
}

impl Store {
    /// Writes down a session, or what has changed about one that is known by its native id.
    pub async fn put_session(&self, session: &Session) -> Result<Session, StoreError> {
        const CHANGE: &str = concat!(
            "UPDATE sessions SET parent = COALESCE(parent, $4), title = $5, agent = $6, changed_at = $7 \
             WHERE workspace = $1 AND engine = $2 AND native_id = $3 RETURNING ",
            session_columns!()
        );
        let mut write = self.write(session.changed_at).await?;
        let stored = if add_session(&mut write.tx, session, None).await? {
            session.clone()
        } else {
            let row: SessionRow = on_tx!(&mut write.tx, |connection| {
                query(CHANGE)
                    .bind(session.workspace.to_string())
                    .bind(&session.engine)
                    .bind(&session.native_id)
                    .bind(session.parent.map(|id| id.to_string()))
                    .bind(&session.title)
                    .bind(&session.agent)
                    .bind(session.changed_at.as_micros())
                    .fetch_one(connection)
                    .await?
            });
            Session::try_from(row)?
        };
        write.event(
            stored.workspace,
            EventBody::SessionChanged {
                session: stored.id,
                activity: stored.activity,
            },
        );
        self.commit(write).await?;
        Ok(stored)
    }

    /// Notes what a session is doing; says whether that was news.
    pub async fn set_activity(
        &self,
        session: SessionId,
        activity: Activity,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SET: &str = "UPDATE sessions SET activity = $2, changed_at = $3 \
             WHERE id = $1 AND activity <> $2 RETURNING workspace";
        let mut write = self.write(now).await?;
        let row: Option<(String,)> = on_tx!(&mut write.tx, |connection| {
            query(SET)
                .bind(session.to_string())
                .bind(activity.name())
                .bind(now.as_micros())
                .fetch_optional(connection)
                .await?
        });
        let Some((workspace,)) = row else {
            return Ok(false);
        };
        let workspace: WorkspaceId = workspace
            .parse()
            .map_err(|_| StoreError::corrupt("sessions", session, "workspace"))?;
        write.event(workspace, EventBody::SessionChanged { session, activity });
        self.commit(write).await?;
        Ok(true)
    }

    /// The session called `id`.
    pub async fn session(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        const GET: &str = select_sessions!("WHERE id = $1");
        let row: Option<SessionRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Session::try_from).transpose()
    }

    /// What the engine of a session calls it, if there is such a session.
    pub async fn native_id(&self, id: SessionId) -> Result<Option<String>, StoreError> {
        const GET: &str = "SELECT native_id FROM sessions WHERE id = $1";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        Ok(row.map(|(native_id,)| native_id))
    }

    /// The session that `engine` calls `native_id`.
    pub async fn session_by_native_id(
        &self,
        workspace: WorkspaceId,
        engine: &str,
        native_id: &str,
    ) -> Result<Option<Session>, StoreError> {
        const GET: &str =
            select_sessions!("WHERE workspace = $1 AND engine = $2 AND native_id = $3");
        let row: Option<SessionRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(workspace.to_string())
                .bind(engine)
                .bind(native_id)
                .fetch_optional(connection)
                .await?
        });
        row.map(Session::try_from).transpose()
    }

    /// The sessions of one workspace or of all in which somebody talks with an engine, the one that changed last first.
    pub async fn sessions(
        &self,
        workspace: Option<WorkspaceId>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError> {
        const LIST: &str = select_sessions!(
            "WHERE (CAST($1 AS TEXT) IS NULL OR workspace = $1) AND engine <> $3 \
             ORDER BY changed_at DESC LIMIT $2"
        );
        let rows: Vec<SessionRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(workspace.map(|id| id.to_string()))
                .bind(limit)
                .bind(Session::WORKSPACE_WRITES)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Session::try_from).collect()
    }

    /// The sessions that a session started for sub-agents.
    pub async fn child_sessions(&self, parent: SessionId) -> Result<Vec<Session>, StoreError> {
        const LIST: &str = select_sessions!("WHERE parent = $1 ORDER BY id");
        let rows: Vec<SessionRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(parent.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Session::try_from).collect()
    }

    /// Notes which life of its engine serves a session from now on, and up to where that one's output is taken.
    pub async fn bind_session(
        &self,
        session: SessionId,
        run: RunId,
        taken: u64,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        bind_run(&mut tx, session, run, taken).await?;
        tx.commit().await
    }

    /// The session that a life of its engine serves.
    pub async fn session_of_run(&self, run: RunId) -> Result<Option<Session>, StoreError> {
        const GET: &str = select_sessions!("WHERE run = $1");
        let row: Option<SessionRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(run.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Session::try_from).transpose()
    }

    /// The sessions of an engine of a workspace that have turns which have not ended.
    pub async fn sessions_with_open_turns(
        &self,
        workspace: WorkspaceId,
        engine: &str,
    ) -> Result<Vec<Session>, StoreError> {
        const LIST: &str = select_sessions!(
            "WHERE workspace = $1 AND engine = $2 \
             AND id IN (SELECT session FROM turns WHERE ended_at IS NULL) ORDER BY id"
        );
        let rows: Vec<SessionRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(workspace.to_string())
                .bind(engine)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Session::try_from).collect()
    }

    /// The sessions of an engine of a workspace that are at work as far as the ledger knows: they are busy, or have turns
    /// which have not ended.
    pub async fn sessions_at_work(
        &self,
        workspace: WorkspaceId,
        engine: &str,
    ) -> Result<Vec<Session>, StoreError> {
        const LIST: &str = select_sessions!(
            "WHERE workspace = $1 AND engine = $2 AND (activity = 'busy' \
             OR id IN (SELECT session FROM turns WHERE ended_at IS NULL)) ORDER BY id"
        );
        let rows: Vec<SessionRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(workspace.to_string())
                .bind(engine)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Session::try_from).collect()
    }
}
