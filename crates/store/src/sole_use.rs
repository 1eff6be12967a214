//! One server for each ledger: a second server on the same PostgreSQL schema is refused.
//!
//! A server would take the engines of another one for dead and withdraw their asks. The file of a SQLite ledger is locked
//! by the connection that has it open; on PostgreSQL a connection of its own holds an advisory lock, which the database
//! releases when that connection ends, however the server ends.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::time::{Instant, timeout};

use crate::Store;
use crate::database::Db;
use crate::error::StoreError;

/// Sets our lock apart from those of other programs in the same database. Any number would do; it has to stay the same.
const LOCK_CLASS: i32 = 0x0C57;
/// How long the database may take to notice that a server which was killed is gone.
const RELEASE_LIMIT: Duration = Duration::from_secs(10);
/// How soon to try again while another server seems to have the ledger.
const TRY_AGAIN: Duration = Duration::from_millis(200);
/// How often the connection that holds the lock is checked.
const CHECK: Duration = Duration::from_secs(2);
/// How long the database may take to answer such a check.
const CHECK_LIMIT: Duration = Duration::from_secs(10);

/// The right of one server to use a ledger; it ends when this is dropped.
#[derive(Debug)]
pub struct SoleUse(Holder);

#[derive(Debug)]
enum Holder {
    /// The lock of the file is held by the store itself.
    File,
    Server {
        pool: PgPool,
        connection: PgConnection,
    },
}

impl Store {
    /// Makes this server the only one on the ledger, or fails with [`StoreError::InUse`].
    pub async fn claim(&self) -> Result<SoleUse, StoreError> {
        let holder = match &self.db {
            Db::Sqlite(_) => Holder::File,
            Db::Postgres(pool) => Holder::Server {
                pool: pool.clone(),
                connection: lock(pool).await?,
            },
        };
        Ok(SoleUse(holder))
    }
}

impl SoleUse {
    /// Keeps the right, also when the database was restarted, and returns when another server has got it instead.
    ///
    /// While the database cannot be reached no server can write to the ledger, so there is nothing to end.
    pub async fn lost(&mut self) {
        let Holder::Server { pool, connection } = &mut self.0 else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(CHECK).await;
            if let Ok(Ok(())) = timeout(CHECK_LIMIT, connection.ping()).await {
                continue;
            }
            match lock(pool).await {
                Ok(new) => {
                    tracing::warn!("the connection that holds the ledger's lock was replaced");
                    *connection = new;
                }
                Err(StoreError::InUse) => return,
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the ledger's lock cannot be checked; trying again"
                ),
            }
        }
    }
}

/// Takes the lock on a connection of its own.
async fn lock(pool: &PgPool) -> Result<PgConnection, StoreError> {
    // Two schemas of one database are two ledgers.
    const TRY_LOCK: &str = "SELECT pg_try_advisory_lock($1, hashtext(current_schema()))";
    let give_up_at = Instant::now() + RELEASE_LIMIT;
    let mut connection = pool.acquire().await?.detach();
    loop {
        let is_ours: bool = sqlx::query_scalar(TRY_LOCK)
            .bind(LOCK_CLASS)
            .fetch_one(&mut connection)
            .await?;
        if is_ours {
            return Ok(connection);
        }
        if Instant::now() >= give_up_at {
            return Err(StoreError::InUse);
        }
        tokio::time::sleep(TRY_AGAIN).await;
    }
}
