//! The ledger in a file: one connection, which its users have one after the other.
//!
//! A pool would do, and try the connection before and after every use: each try is a message to the connection's thread
//! and back, and that is most of what a small statement costs.

mod attention;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteQueryResult, SqliteRow, SqliteStatement, SqliteTypeInfo,
};
use sqlx::{
    ConnectOptions as _, Connection as _, Either, Execute, Executor, QueryBuilder, SqlStr, Sqlite,
    SqliteConnection,
};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::StoreError;
use crate::file::attention::Attentive;

/// The one connection to the ledger's file.
#[derive(Debug, Clone)]
pub(crate) struct LedgerFile {
    line: Arc<Mutex<Line>>,
    patience: Duration,
}

#[derive(Debug)]
struct Line {
    /// `None` once it is closed.
    connection: Option<SqliteConnection>,
    /// Whether a transaction may be open that its user did not bring to an end.
    is_begun: bool,
}

/// The connection, for as long as somebody has it.
#[derive(Debug)]
pub(crate) struct Held(OwnedMutexGuard<Line>);

/// A transaction, which is rolled back unless it is committed.
#[derive(Debug)]
pub(crate) struct FileTransaction(Held);

impl LedgerFile {
    /// Opens the file; whoever waits longer than `patience` for the connection is told that it is busy.
    pub(crate) async fn open(
        options: &SqliteConnectOptions,
        patience: Duration,
    ) -> Result<Self, sqlx::Error> {
        let line = Line {
            connection: Some(options.connect().await?),
            is_begun: false,
        };
        Ok(Self {
            line: Arc::new(Mutex::new(line)),
            patience,
        })
    }

    /// Brings the tables up to date.
    pub(crate) async fn migrate(&self, migrator: &Migrator) -> Result<(), StoreError> {
        let mut held = self.hold().await?;
        migrator
            .run(held.connection())
            .await
            .map_err(StoreError::Migrate)
    }

    /// Waits for the connection.
    pub(crate) async fn hold(&self) -> Result<Held, sqlx::Error> {
        let line = Arc::clone(&self.line).lock_owned();
        let line = tokio::time::timeout(self.patience, line)
            .await
            .map_err(|_| sqlx::Error::PoolTimedOut)?;
        if line.connection.is_none() {
            return Err(sqlx::Error::PoolClosed);
        }
        let mut held = Held(line);
        if held.0.is_begun {
            held.roll_back().await?;
        }
        Ok(held)
    }

    /// Begins a transaction that is going to write.
    pub(crate) async fn begin(&self) -> Result<FileTransaction, sqlx::Error> {
        let mut held = self.hold().await?;
        // Whoever is cancelled from here on leaves a transaction behind, perhaps.
        held.0.is_begun = true;
        // Taking the write lock at once: a reader that becomes a writer could be refused.
        sqlx::query("BEGIN IMMEDIATE").execute(&mut held).await?;
        Ok(FileTransaction(held))
    }

    /// Closes the connection behind everybody who waits for it.
    pub(crate) async fn close(&self) {
        let Some(connection) = self.line.lock().await.connection.take() else {
            return;
        };
        if let Err(error) = connection.close().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger was not closed in order"
            );
        }
    }
}

impl Held {
    /// Ends the transaction that somebody left behind, if there is one.
    async fn roll_back(&mut self) -> Result<(), sqlx::Error> {
        let outcome = sqlx::query("ROLLBACK").execute(&mut *self).await;
        match outcome {
            Ok(_) => {}
            // It was cancelled before it began, or after it was committed.
            Err(sqlx::Error::Database(error)) if error.message().contains("no transaction") => {}
            Err(error) => return Err(error),
        }
        self.0.is_begun = false;
        Ok(())
    }
}

impl FileTransaction {
    /// Runs the statements of `batch`, each with a semicolon behind it, commits, and returns what they returned.
    pub(crate) async fn commit_after(
        mut self,
        mut batch: QueryBuilder<Sqlite>,
    ) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let query = batch.push("COMMIT").build();
        let rows = query.fetch_all(&mut self.0).await?;
        self.0.0.is_begun = false;
        Ok(rows)
    }
}

impl Held {
    fn connection(&mut self) -> &mut SqliteConnection {
        let connection = self.0.connection.as_mut();
        // Nobody closes what somebody holds.
        connection.expect("a connection that is held is open")
    }
}

impl<'c> Executor<'c> for &'c mut Held {
    type Database = Sqlite;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<SqliteQueryResult, SqliteRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        Box::pin(Attentive(self.connection().fetch_many(query)))
    }

    fn fetch_optional<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxFuture<'e, Result<Option<SqliteRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        Box::pin(Attentive(self.connection().fetch_optional(query)))
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [SqliteTypeInfo],
    ) -> BoxFuture<'e, Result<SqliteStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        self.connection().prepare_with(sql, parameters)
    }
}

impl Deref for FileTransaction {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.0
    }
}

impl DerefMut for FileTransaction {
    fn deref_mut(&mut self) -> &mut Held {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    async fn open(directory: &tempfile::TempDir) -> LedgerFile {
        let options = SqliteConnectOptions::new()
            .filename(directory.path().join("ledger.db"))
            .create_if_missing(true);
        let file = LedgerFile::open(&options, PATIENCE).await.unwrap();
        let mut held = file.hold().await.unwrap();
        sqlx::query("CREATE TABLE rows (number INTEGER)")
            .execute(&mut held)
            .await
            .unwrap();
        file
    }

    async fn add(connection: &mut Held, number: i64) {
        sqlx::query("INSERT INTO rows VALUES ($1)")
            .bind(number)
            .execute(connection)
            .await
            .unwrap();
    }

    async fn numbers(file: &LedgerFile) -> Vec<i64> {
        let mut held = file.hold().await.unwrap();
        sqlx::query_scalar("SELECT number FROM rows ORDER BY number")
            .fetch_all(&mut held)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn only_what_was_committed_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let file = open(&directory).await;
        let mut dropped = file.begin().await.unwrap();
        add(&mut dropped, 1).await;
        drop(dropped);
        add(&mut file.hold().await.unwrap(), 2).await;
        let mut committed = file.begin().await.unwrap();
        add(&mut committed, 3).await;
        committed.commit_after(QueryBuilder::new("")).await.unwrap();
        assert_eq!(numbers(&file).await, [2, 3]);
    }

    /// Polls `future` once or a few times and drops it.
    async fn cancel_after(polls: usize, future: impl Future) {
        let mut future = Box::pin(future);
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..polls {
            if future.as_mut().poll(&mut context).is_ready() {
                return;
            }
            // The connection's own thread gets on meanwhile.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn whoever_is_cancelled_leaves_no_transaction_behind() {
        let directory = tempfile::tempdir().unwrap();
        let file = open(&directory).await;
        let mut written = Vec::new();
        for polls in 1..40 {
            cancel_after(polls, async {
                let mut transaction = file.begin().await.unwrap();
                add(&mut transaction, 1_000).await;
                let mut batch = QueryBuilder::new("INSERT INTO rows VALUES (");
                batch.push_bind(1_001).push("); ");
                transaction.commit_after(batch).await.unwrap();
            })
            .await;
            let number = i64::try_from(polls).unwrap();
            add(&mut file.hold().await.unwrap(), number).await;
            written.push(number);
        }
        let there = numbers(&file).await;
        let ours = there.iter().filter(|number| **number < 1_000);
        assert!(ours.eq(&written), "{there:?}");
        let halves = |half| there.iter().filter(|number| **number == half).count();
        assert_eq!(halves(1_000), halves(1_001), "{there:?}");
        // The file itself has them: another connection sees nothing that is not committed.
        file.close().await;
        assert!(matches!(file.hold().await, Err(sqlx::Error::PoolClosed)));
        let other = SqliteConnectOptions::new().filename(directory.path().join("ledger.db"));
        let other = LedgerFile::open(&other, PATIENCE).await.unwrap();
        assert_eq!(numbers(&other).await, there);
    }
}
