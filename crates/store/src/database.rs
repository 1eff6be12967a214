//! The two databases behind one SQL text.
//!
//! SQLite runs on one connection that holds the file exclusively: no other process, an agent's least of
//! all, can read or change the ledger while a server runs on it.

use std::path::Path;
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode, SqliteSynchronous};
use sqlx::{PgPool, Postgres, QueryBuilder, SqlSafeStr as _, Transaction};

use crate::error::StoreError;
use crate::file::{FileTransaction, LedgerFile};

/// The tables in both dialects, in the order in which they came to be. What was released stays as it is, to the letter:
/// a ledger knows what it was made by. Later ones only add.
///
/// sqlx's macros would do this and the rows below, and build both databases a second time for themselves.
pub(crate) const TABLES: &[(&str, &str)] = &[
    (
        include_str!("../migrations/sqlite/0001_ledger.sql"),
        include_str!("../migrations/postgres/0001_ledger.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0002_doors.sql"),
        include_str!("../migrations/postgres/0002_doors.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0003_attachments.sql"),
        include_str!("../migrations/postgres/0003_attachments.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0004_settings.sql"),
        include_str!("../migrations/postgres/0004_settings.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0005_proxies.sql"),
        include_str!("../migrations/postgres/0005_proxies.sql"),
    ),
];

/// How long a caller waits for a connection before it is told that the store is busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// A database of either kind.
#[derive(Debug, Clone)]
pub(crate) enum Db {
    /// A file.
    Sqlite(LedgerFile),
    /// A server.
    Postgres(PgPool),
}

/// A transaction on either kind; it is rolled back unless it is committed.
pub(crate) enum Tx {
    /// On a file.
    Sqlite(FileTransaction),
    /// On a server.
    Postgres(Transaction<'static, Postgres>),
}

/// Runs the same expression on a connection to whichever database there is.
macro_rules! on_db {
    ($db:expr, |$connection:ident| $body:expr) => {
        match $db {
            $crate::database::Db::Sqlite(file) => {
                let mut held = file.hold().await?;
                let $connection = &mut held;
                $body
            }
            $crate::database::Db::Postgres($connection) => $body,
        }
    };
}

/// Runs the same expression on whichever transaction there is.
macro_rules! on_tx {
    ($tx:expr, |$connection:ident| $body:expr) => {
        match $tx {
            $crate::database::Tx::Sqlite(transaction) => {
                let $connection = &mut **transaction;
                $body
            }
            $crate::database::Tx::Postgres(transaction) => {
                let $connection = &mut **transaction;
                $body
            }
        }
    };
}

/// Declares a row that is read by the names of its columns, on either kind.
macro_rules! row {
    ($visibility:vis struct $name:ident { $($column:ident: $type:ty,)* }) => {
        $visibility struct $name { $($column: $type,)* }

        impl<'r, R> sqlx::FromRow<'r, R> for $name
        where
            R: sqlx::Row,
            &'static str: sqlx::ColumnIndex<R>,
            $($type: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,)*
        {
            fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
                Ok(Self { $($column: row.try_get(stringify!($column))?,)* })
            }
        }
    };
}

pub(crate) use {on_db, on_tx, row};

/// What brings a ledger to `tables`.
pub(crate) fn migrator(
    tables: &'static [(&'static str, &'static str)],
    dialect: fn((&'static str, &'static str)) -> &'static str,
) -> Migrator {
    let migrations = (1..).zip(tables).map(|(version, tables)| {
        let sql = dialect(*tables).into_sql_str();
        Migration::new(version, "".into(), MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(migrations.collect())
}

impl Db {
    pub(crate) async fn open_sqlite(path: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // An answer that was accepted has to survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .locking_mode(SqliteLockingMode::Exclusive)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(2));
        let failed = |source| StoreError::Open {
            name: path.display().to_string(),
            source,
        };
        let file = LedgerFile::open(&options, PATIENCE).await.map_err(failed)?;
        file.migrate(&migrator(TABLES, |(sqlite, _)| sqlite))
            .await?;
        Ok(Self::Sqlite(file))
    }

    pub(crate) async fn open_postgres(url: &str) -> Result<Self, StoreError> {
        let failed = |name: &str| {
            let name = name.to_owned();
            move |source| StoreError::Open { name, source }
        };
        let options: PgConnectOptions = url.parse().map_err(failed("postgres"))?;
        let name = format!("{}:{}", options.get_host(), options.get_port());
        let pool = PgPoolOptions::new()
            .max_connections(8)
            .acquire_timeout(PATIENCE)
            .connect_with(options)
            .await
            .map_err(failed(&name))?;
        migrator(TABLES, |(_, postgres)| postgres)
            .run(&pool)
            .await
            .map_err(StoreError::Migrate)?;
        Ok(Self::Postgres(pool))
    }

    /// Begins a transaction that is going to write.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            Self::Sqlite(file) => Tx::Sqlite(file.begin().await?),
            Self::Postgres(pool) => Tx::Postgres(pool.begin().await?),
        })
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(file) => file.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

impl Tx {
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(transaction) => {
                transaction.commit_after(QueryBuilder::new("")).await?;
            }
            Self::Postgres(transaction) => transaction.commit().await?,
        }
        Ok(())
    }
}
