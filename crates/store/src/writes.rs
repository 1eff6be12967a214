//! Workspace writes: what their asks hang on, and how they end with the life of a server.
//!
//! What stands for the engine is the server itself: its life is a run, which ends when the next server begins. The
//! asks of one proposer are held together by a session in which nobody talks.

use countersign_core::actor::Actor;
use countersign_core::ask::{Ask, Door, Subject, Withdrawal};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::digest::Digest;
use countersign_core::event::EnginePhase;
use countersign_core::id::{AskId, EngineId, RunId, SessionId, WorkspaceId};
use countersign_core::session::{Activity, Session, Workspace};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::asks::{AskRow, ask_in, end_asks_of_run, select_asks};
use crate::audit::Record;
use crate::database::{Tx, on_db, on_tx};
use crate::deliveries::deliver_in;
use crate::error::StoreError;
use crate::file::{Ground, aside};
use crate::sessions::add_session;
use crate::sql::query;
use crate::write::Write;

/// Under this key the audit has what is known of a write that was found to be done after a restart.
pub const FOUND: &str = "found";

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

    /// The writes that were asked for in the lives of servers before this one, and have not ended.
    pub async fn earlier_writes(&self, workspace: WorkspaceId) -> Result<Vec<Ask>, StoreError> {
        let mut left = Vec::new();
        for run in self.unended_lives(workspace).await? {
            left.extend(self.live_asks(run).await?);
        }
        Ok(left)
    }

    /// Ends the lives of servers before this one, and with them every write that was asked for: open ones are
    /// withdrawn, those that were `found` done are recorded as that, and of other allowed ones it is not known.
    pub async fn end_earlier_writes(
        &self,
        workspace: WorkspaceId,
        found: &[(AskId, Digest)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const END: &str = "UPDATE runs SET state = $2, ended_at = $3, why = $4 \
             WHERE id = $1 AND ended_at IS NULL";
        for run in self.unended_lives(workspace).await? {
            let mut write = self.write(now).await?;
            let ended = on_tx!(&mut write.tx, |connection| {
                query(END)
                    .bind(run.to_string())
                    .bind(EnginePhase::Gone.name())
                    .bind(now.as_micros())
                    .bind("another server began")
                    .execute(connection)
                    .await?
                    .rows_affected()
            });
            if ended == 1 {
                for (ask, digest) in found {
                    record_found(&mut write, run, *ask, *digest, now).await?;
                }
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

    /// The lives of servers that have not ended as far as writes of a workspace are concerned.
    async fn unended_lives(&self, workspace: WorkspaceId) -> Result<Vec<RunId>, StoreError> {
        const UNENDED: &str = "SELECT runs.id FROM runs JOIN engines ON engines.id = runs.engine \
             WHERE engines.workspace = $1 AND engines.program = $2 AND runs.ended_at IS NULL \
             ORDER BY runs.id";
        let unended: Vec<(String,)> = on_db!(&self.db, |connection| {
            query(UNENDED)
                .bind(workspace.to_string())
                .bind(Session::WORKSPACE_WRITES)
                .fetch_all(connection)
                .await?
        });
        let ids = unended.into_iter().map(|(id,)| {
            id.parse()
                .map_err(|_| StoreError::corrupt("runs", &id, "id"))
        });
        ids.collect()
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
    ///
    /// The answer is on the disk by then. This gets there after the `ground` that it stands on: if the machine fails before,
    /// the next server looks whether the files are as they were to be, and notes what it finds. Returns what
    /// [`Store::announce_durably`] is to be told.
    pub async fn mark_written(
        &self,
        ask: &Ask,
        evidence: &Evidence,
        (by, records): (&Actor, Vec<Record>),
        ground: Option<Ground>,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        let mut write = self.write_unsynced(now).await?;
        if let Some(ground) = ground {
            match &mut write.tx {
                Tx::Sqlite(transaction) => transaction.stand_on(ground),
                Tx::Postgres(_) => aside(|| ground.lay()),
            }
        }
        deliver_in(&mut write, ask, evidence, now).await?;
        // It was done, whatever has become of the ask meanwhile.
        write.records(ask.workspace, by, records);
        self.commit_unannounced(write).await
    }
}

/// Records that a write of a life that is over was done, if nobody has meanwhile said what became of it.
async fn record_found(
    write: &mut Write,
    run: RunId,
    id: AskId,
    digest: Digest,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(ask) = ask_in(&mut write.tx, id).await? else {
        return Ok(());
    };
    let evidence = Evidence::FilesFound { digest };
    if ask.run != run || !deliver_in(write, &ask, &evidence, now).await? {
        return Ok(());
    }
    if let Subject::WorkspaceWrite {
        action,
        summary,
        paths,
        by,
        wire_actor,
        ..
    } = &ask.subject
    {
        let record = Record {
            action: action.clone(),
            subject: paths.join(", "),
            detail: json!({ FOUND: { "ask": ask.id, "summary": summary, "actor": wire_actor },
                            "digest": digest }),
        };
        write.records(ask.workspace, by, vec![record]);
    }
    Ok(())
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
