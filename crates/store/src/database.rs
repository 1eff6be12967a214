//! The two databases behind one SQL text.
//!
//! SQLite runs on one connection that holds the file exclusively: no other process, an agent's least of
//! all, can read or change the ledger while a server runs on it.

use std::path::Path;
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Postgres, SqlSafeStr as _, Transaction};

use crate::error::{DatabaseError, StoreError};
use crate::file::{FileTransaction, Heads, Held, LedgerFile};
use crate::sql::On;

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
    (
        include_str!("../migrations/sqlite/0006_jobs.sql"),
        include_str!("../migrations/postgres/0006_jobs.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0007_notifications.sql"),
        include_str!("../migrations/postgres/0007_notifications.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0009_access.sql"),
        include_str!("../migrations/postgres/0009_access.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0010_push.sql"),
        include_str!("../migrations/postgres/0010_push.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0011_bridges.sql"),
        include_str!("../migrations/postgres/0011_bridges.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0012_kept_workspaces.sql"),
        include_str!("../migrations/postgres/0012_kept_workspaces.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0013_looking.sql"),
        include_str!("../migrations/postgres/0013_looking.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0014_schedules.sql"),
        include_str!("../migrations/postgres/0014_schedules.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0015_lean_asks.sql"),
        include_str!("../migrations/postgres/0015_lean_asks.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0016_answers_by_ask.sql"),
        include_str!("../migrations/postgres/0016_answers_by_ask.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0017_few_indexes.sql"),
        include_str!("../migrations/postgres/0017_few_indexes.sql"),
    ),
    (
        include_str!("../migrations/sqlite/0018_scoped_pairings.sql"),
        include_str!("../migrations/postgres/0018_scoped_pairings.sql"),
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

/// A connection to either kind, for as long as somebody has it.
pub(crate) enum Connection<'c> {
    /// The one to a file.
    Sqlite(Held),
    /// Any one to a server.
    Postgres(&'c PgPool),
}

impl<'c> From<&'c mut Connection<'_>> for On<'c> {
    fn from(connection: &'c mut Connection<'_>) -> Self {
        match connection {
            Connection::Sqlite(file) => Self::File(file),
            Connection::Postgres(pool) => Self::Pool(pool),
        }
    }
}

impl<'c> From<&'c mut Tx> for On<'c> {
    fn from(tx: &'c mut Tx) -> Self {
        match tx {
            Tx::Sqlite(transaction) => Self::File(transaction.held()),
            Tx::Postgres(transaction) => Self::Server(transaction),
        }
    }
}

/// Runs an expression with a connection to whichever database there is.
macro_rules! on_db {
    ($db:expr, |$connection:ident| $body:expr) => {{
        let mut connection = $db.connection().await?;
        let $connection = &mut connection;
        $body
    }};
}

/// Runs an expression within whichever transaction there is.
macro_rules! on_tx {
    ($tx:expr, |$connection:ident| $body:expr) => {{
        let $connection: &mut $crate::database::Tx = $tx;
        $body
    }};
}

/// Declares a row that is read by the names of its columns, on either kind.
macro_rules! row {
    ($visibility:vis struct $name:ident { $($column:ident: $type:ty,)* }) => {
        $visibility struct $name { $($column: $type,)* }

        impl $crate::sql::FromRow for $name {
            const COLUMNS: &'static [&'static str] = &[$(stringify!($column)),*];

            fn from_row(
                columns: &mut $crate::sql::Columns<'_>,
            ) -> Result<Self, $crate::error::DatabaseError> {
                Ok(Self { $($column: columns.take()?,)* })
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
        let failed = |source| StoreError::Open {
            name: path.display().to_string(),
            source,
        };
        let file = LedgerFile::open(path, PATIENCE).await.map_err(failed)?;
        file.migrate(&migrator(TABLES, |(sqlite, _)| sqlite))
            .await?;
        Ok(Self::Sqlite(file))
    }

    pub(crate) async fn open_postgres(url: &str) -> Result<Self, StoreError> {
        let failed = |name: &str| {
            let name = name.to_owned();
            move |source| StoreError::Open {
                name,
                source: DatabaseError::Server(source),
            }
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
            .map_err(|error| StoreError::Migrate(error.into()))?;
        Ok(Self::Postgres(pool))
    }

    /// Waits for a connection.
    pub(crate) async fn connection(&self) -> Result<Connection<'_>, StoreError> {
        Ok(match self {
            Self::Sqlite(file) => Connection::Sqlite(file.hold().await?),
            Self::Postgres(pool) => Connection::Postgres(pool),
        })
    }

    /// Begins a transaction that is going to write.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            Self::Sqlite(file) => Tx::Sqlite(file.begin().await?),
            Self::Postgres(pool) => Tx::Postgres(pool.begin().await?),
        })
    }

    /// The same for what whoever begins on the ledger next can find out again, should the machine fail before the next
    /// write. A database server fails without those who are connected, which would not look: there it is like any other.
    pub(crate) async fn begin_unsynced(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            Self::Sqlite(file) => Tx::Sqlite(file.begin_unsynced().await?),
            Self::Postgres(_) => self.begin().await?,
        })
    }

    /// Has everything on the disk that was committed.
    pub(crate) async fn sync(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(file) => file.sync().await?,
            Self::Postgres(_) => {}
        }
        Ok(())
    }

    /// Has the event of that number on the disk, with all before it.
    pub(crate) async fn sync_up_to(&self, event: i64) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(file) if !file.has_synced(event) => Ok(file.sync().await?),
            Self::Sqlite(_) | Self::Postgres(_) => Ok(()),
        }
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
            Self::Sqlite(transaction) => transaction.commit(Heads::default())?,
            Self::Postgres(transaction) => transaction.commit().await?,
        }
        Ok(())
    }
}
