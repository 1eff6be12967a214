//! Workspace writes: what their asks hang on, and how they end with the life of a server.
//!
//! What stands for the engine is the server itself: its life is a run, which ends when the next server begins. The
//! asks of one proposer are held together by a session in which nobody talks.

use countersign_core::actor::Actor;
use countersign_core::ask::{Ask, Door, Withdrawal};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::event::EnginePhase;
use countersign_core::id::{EngineId, RunId, SessionId, WorkspaceId};
use countersign_core::session::{Activity, Session, Workspace};
use countersign_core::time::Timestamp;

use crate::Store;
use crate::asks::{AskRow, end_asks_of_run, select_asks};
use crate::audit::Record;
use crate::database::{Tx, on_db, on_tx};
use crate::deliveries::deliver_in;
use crate::error::StoreError;
use crate::sessions::add_session;
use crate::sql::query;

/// What the asks of one proposer hang on, in one life of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writer {
    /// The life of the server.
    pub run: RunId,
    /// What holds the proposer's asks together, in every life.
    pub session: SessionId,
}

impl Store {
    /// What the writes of `actor` in a workspace hang on, written down if it is new.
    pub async fn writer(
        &self,
        workspace: &Workspace,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Writer, StoreError> {
        const GET: &str =
            "SELECT id FROM sessions WHERE workspace = $1 AND engine = $2 AND native_id = $3";
        let mut write = self.write(now).await?;
        let run = this_life(&mut write.tx, workspace.id, now).await?;
        let session = Session {
            id: SessionId::generate(now),
            workspace: workspace.id,
            engine: Session::WORKSPACE_WRITES.to_owned(),
            native_id: actor.id.to_string(),
            parent: None,
            title: format!("Writes that {} proposes", actor.name),
            directory: workspace.path.clone(),
            agent: actor.name.clone(),
            activity: Activity::Idle,
            started_at: now,
            changed_at: now,
        };
        add_session(&mut write.tx, &session, None).await?;
        let (id,): (String,) = on_tx!(&mut write.tx, |connection| {
            query(GET)
                .bind(workspace.id.to_string())
                .bind(Session::WORKSPACE_WRITES)
                .bind(&session.native_id)
                .fetch_one(connection)
                .await?
        });
        self.commit(write).await?;
        let session = id
            .parse()
            .map_err(|_| StoreError::corrupt("sessions", &id, "id"))?;
        Ok(Writer { run, session })
    }

    /// Ends the lives of servers before this one, and with them every write that was asked for: open ones are
    /// withdrawn, of allowed ones it is not known whether they were done.
    pub async fn end_earlier_writes(
        &self,
        workspace: WorkspaceId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const UNENDED: &str = "SELECT runs.id FROM runs JOIN engines ON engines.id = runs.engine \
             WHERE engines.workspace = $1 AND engines.program = $2 AND runs.ended_at IS NULL \
             ORDER BY runs.id";
        const END: &str = "UPDATE runs SET state = $2, ended_at = $3, why = $4 \
             WHERE id = $1 AND ended_at IS NULL";
        let unended: Vec<(String,)> = on_db!(&self.db, |connection| {
            query(UNENDED)
                .bind(workspace.to_string())
                .bind(Session::WORKSPACE_WRITES)
                .fetch_all(connection)
                .await?
        });
        for (id,) in unended {
            let run: RunId = id
                .parse()
                .map_err(|_| StoreError::corrupt("runs", &id, "id"))?;
            let mut write = self.write(now).await?;
            let ended = on_tx!(&mut write.tx, |connection| {
                query(END)
                    .bind(&id)
                    .bind(EnginePhase::Gone.name())
                    .bind(now.as_micros())
                    .bind("another server began")
                    .execute(connection)
                    .await?
                    .rows_affected()
            });
            if ended == 1 {
                let why = (
                    &Withdrawal::ServerRestarted,
                    &Undeliverable::ServerRestarted,
                );
                end_asks_of_run(&mut write, run, why, now).await?;
                self.commit(write).await?;
            }
        }
        Ok(())
    }

    /// The writes of one workspace or of all that nobody has answered, oldest first.
    pub async fn open_writes(
        &self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<Ask>, StoreError> {
        const LIST: &str = select_asks!(
            "WHERE asks.state = 'open' AND asks.door = $1 \
             AND (CAST($2 AS TEXT) IS NULL OR asks.workspace = $2) ORDER BY asks.id"
        );
        let rows: Vec<AskRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(Door::Workspace.name())
                .bind(workspace.map(|id| id.to_string()))
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Ask::try_from).collect()
    }

    /// Notes that what was allowed is done, and what it was that `by` did, at once.
    pub async fn mark_written(
        &self,
        ask: &Ask,
        evidence: &Evidence,
        by: &Actor,
        records: Vec<Record>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut write = self.write(now).await?;
        deliver_in(&mut write, ask, evidence, now).await?;
        // It was done, whatever has become of the ask meanwhile.
        write.records(ask.workspace, by, records);
        self.commit(write).await
    }
}

/// The present life of the server as far as writes of a workspace are concerned, begun if it has not.
async fn this_life(
    tx: &mut Tx,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<RunId, StoreError> {
    const ADD_ENGINE: &str = "INSERT INTO engines (id, workspace, program, added_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (workspace, program) DO NOTHING";
    const GET_ENGINE: &str = "SELECT id FROM engines WHERE workspace = $1 AND program = $2";
    const GET_RUN: &str =
        "SELECT id FROM runs WHERE engine = $1 AND ended_at IS NULL ORDER BY id DESC LIMIT 1";
    const ADD_RUN: &str =
        "INSERT INTO runs (id, engine, state, started_at) VALUES ($1, $2, $3, $4)";

    on_tx!(tx, |connection| {
        query(ADD_ENGINE)
            .bind(EngineId::generate(now).to_string())
            .bind(workspace.to_string())
            .bind(Session::WORKSPACE_WRITES)
            .bind(now.as_micros())
            .execute(connection)
            .await?;
    });
    let (engine,): (String,) = on_tx!(tx, |connection| {
        query(GET_ENGINE)
            .bind(workspace.to_string())
            .bind(Session::WORKSPACE_WRITES)
            .fetch_one(connection)
            .await?
    });
    let begun: Option<(String,)> = on_tx!(tx, |connection| {
        query(GET_RUN)
            .bind(&engine)
            .fetch_optional(connection)
            .await?
    });
    if let Some((id,)) = begun {
        return id
            .parse()
            .map_err(|_| StoreError::corrupt("runs", &id, "id"));
    }
    let id = RunId::generate(now);
    on_tx!(tx, |connection| {
        query(ADD_RUN)
            .bind(id.to_string())
            .bind(&engine)
            .bind(EnginePhase::Ready.name())
            .bind(now.as_micros())
            .execute(connection)
            .await?;
    });
    Ok(id)
}
