//! Engines and their runs: each life of an engine's process is a row that ends exactly once.

use countersign_core::ask::Withdrawal;
use countersign_core::delivery::Undeliverable;
use countersign_core::event::{EnginePhase, EventBody};
use countersign_core::id::{EngineId, RunId, WorkspaceId};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::asks::end_asks_of_run;
use crate::database::{Tx, on_db, on_tx};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::COUNTERSIGN;

/// An engine of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// Its id.
    pub id: EngineId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// What it is.
    pub program: String,
}

/// One life of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Whose life it is.
    pub engine: EngineId,
    /// When it began.
    pub started_at: Timestamp,
    /// Up to where its output is taken in, for a life whose output is held.
    pub taken: u64,
    /// Which version of its protocol the engine speaks in this life, where there are several.
    pub protocol: i64,
    /// Which process it is, for a life that somebody else runs: in the words of whoever wrote it down.
    pub process: Option<String>,
}

/// Holds a life until the transaction ends.
///
/// Whoever opens asks of a life, answers them or lets them expire holds it first: so a life ends with every
/// ask of it, and two denials never wait for each other's siblings.
pub(crate) async fn hold_run(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    const HOLD: &str = "SELECT 1 FROM runs WHERE id = $1 FOR NO KEY UPDATE";
    match tx {
        // A writer on SQLite holds the whole file anyway.
        Tx::Sqlite(_) => {}
        Tx::Postgres(transaction) => {
            query(HOLD)
                .bind(run.to_string())
                .execute(&mut **transaction)
                .await?;
        }
    }
    Ok(())
}

impl Store {
    /// The engine `program` of a workspace, added if it is new.
    pub async fn ensure_engine(
        &self,
        workspace: WorkspaceId,
        program: &str,
        now: Timestamp,
    ) -> Result<Engine, StoreError> {
        const ADD: &str = "INSERT INTO engines (id, workspace, program, added_at) \
             VALUES ($1, $2, $3, $4) ON CONFLICT (workspace, program) DO NOTHING";
        const GET: &str = "SELECT id FROM engines WHERE workspace = $1 AND program = $2";
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            query(ADD)
                .bind(EngineId::generate(now).to_string())
                .bind(workspace.to_string())
                .bind(program)
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        let (id,): (String,) = on_tx!(&mut write.tx, |connection| {
            query(GET)
                .bind(workspace.to_string())
                .bind(program)
                .fetch_one(connection)
                .await?
        });
        self.commit(write).await?;
        let id = id
            .parse()
            .map_err(|_| StoreError::corrupt("engines", &id, "id"))?;
        Ok(Engine {
            id,
            workspace,
            program: program.to_owned(),
        })
    }

    /// The engines that a workspace has or had.
    pub async fn engines(&self, workspace: WorkspaceId) -> Result<Vec<Engine>, StoreError> {
        const LIST: &str = "SELECT id, program FROM engines WHERE workspace = $1 ORDER BY id";
        let rows: Vec<(String, String)> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(workspace.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter()
            .map(|(id, program)| {
                Ok(Engine {
                    id: id
                        .parse()
                        .map_err(|_| StoreError::corrupt("engines", &id, "id"))?,
                    workspace,
                    program,
                })
            })
            .collect()
    }

    /// Begins a life of `engine`.
    pub async fn begin_run(&self, engine: &Engine, now: Timestamp) -> Result<Run, StoreError> {
        const ADD: &str =
            "INSERT INTO runs (id, engine, state, started_at) VALUES ($1, $2, $3, $4)";
        let id = RunId::generate(now);
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            query(ADD)
                .bind(id.to_string())
                .bind(engine.id.to_string())
                .bind(EnginePhase::Starting.name())
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        let message = format!("{} is starting", engine.program);
        write.event(
            engine.workspace,
            EventBody::EngineChanged {
                state: EnginePhase::Starting,
                message,
            },
        );
        write.deed(
            engine.workspace,
            COUNTERSIGN,
            "engine.start",
            id,
            json!({ "program": engine.program }),
        );
        self.commit(write).await?;
        Ok(Run {
            id,
            engine: engine.id,
            started_at: now,
            taken: 0,
            protocol: 1,
            process: None,
        })
    }

    /// The lives of `engine` that have not ended as far as the ledger knows, oldest first.
    pub async fn unended_runs(&self, engine: EngineId) -> Result<Vec<Run>, StoreError> {
        const LIST: &str = "SELECT id, started_at, taken, protocol, process FROM runs \
             WHERE engine = $1 AND ended_at IS NULL ORDER BY id";
        let rows: Vec<(String, i64, i64, i64, Option<String>)> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(engine.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter()
            .map(|(id, started_at, taken, protocol, process)| {
                Ok(Run {
                    id: id
                        .parse()
                        .map_err(|_| StoreError::corrupt("runs", &id, "id"))?,
                    engine,
                    started_at: Timestamp::from_micros(started_at),
                    taken: u64::try_from(taken).unwrap_or_default(),
                    protocol,
                    process,
                })
            })
            .collect()
    }

    /// Notes which process a life is.
    pub async fn set_run_process(&self, run: RunId, process: &str) -> Result<(), StoreError> {
        const SET: &str = "UPDATE runs SET process = $2 WHERE id = $1";
        on_db!(&self.db, |connection| {
            query(SET)
                .bind(run.to_string())
                .bind(process)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Notes up to where the output of a life is taken in, once everything before is durable.
    pub async fn set_taken(&self, run: RunId, taken: u64) -> Result<(), StoreError> {
        const SET: &str = "UPDATE runs SET taken = $2 WHERE id = $1 AND taken < $2";
        let taken = i64::try_from(taken).unwrap_or(i64::MAX);
        on_db!(&self.db, |connection| {
            query(SET)
                .bind(run.to_string())
                .bind(taken)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Notes which version of its protocol the engine speaks in this life.
    pub async fn set_protocol(&self, run: RunId, protocol: i64) -> Result<(), StoreError> {
        const SET: &str = "UPDATE runs SET protocol = $2 WHERE id = $1";
        on_db!(&self.db, |connection| {
            query(SET)
                .bind(run.to_string())
                .bind(protocol)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Notes how a life stands now, and announces it.
    pub async fn set_run_state(
        &self,
        workspace: WorkspaceId,
        run: RunId,
        state: EnginePhase,
        message: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SET: &str =
            "UPDATE runs SET state = $2 WHERE id = $1 AND state <> $2 AND ended_at IS NULL";
        let mut write = self.write(now).await?;
        let changed = on_tx!(&mut write.tx, |connection| {
            query(SET)
                .bind(run.to_string())
                .bind(state.name())
                .execute(connection)
                .await?
                .rows_affected()
        });
        if changed == 0 {
            return Ok(());
        }
        write.event(
            workspace,
            EventBody::EngineChanged {
                state,
                message: message.to_owned(),
            },
        );
        self.commit(write).await
    }

    /// Ends a life, and with it every ask of it: open ones are withdrawn, answered ones undeliverable.
    pub async fn end_run(
        &self,
        workspace: WorkspaceId,
        run: RunId,
        why: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const END: &str = "UPDATE runs SET state = $2, ended_at = $3, why = $4 \
             WHERE id = $1 AND ended_at IS NULL";
        let mut write = self.write(now).await?;
        let ended = on_tx!(&mut write.tx, |connection| {
            query(END)
                .bind(run.to_string())
                .bind(EnginePhase::Gone.name())
                .bind(now.as_micros())
                .bind(why)
                .execute(connection)
                .await?
                .rows_affected()
        });
        if ended == 0 {
            return Ok(false);
        }
        let why_asks_end = (&Withdrawal::EngineGone, &Undeliverable::EngineGone);
        end_asks_of_run(&mut write, run, why_asks_end, now).await?;
        write.event(
            workspace,
            EventBody::EngineChanged {
                state: EnginePhase::Gone,
                message: why.to_owned(),
            },
        );
        write.deed(
            workspace,
            COUNTERSIGN,
            "engine.end",
            run,
            json!({ "why": why }),
        );
        self.commit(write).await?;
        Ok(true)
    }
}
