//! What can go wrong with the store.

use std::fmt;

/// A failure of the store. None of them leaves anything half done.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened.
    #[error("failed to open the database `{name}`")]
    Open {
        /// Its path or address, without credentials.
        name: String,
        /// Why.
        #[source]
        source: DatabaseError,
    },
    /// The tables cannot be brought up to date.
    #[error("failed to bring the database's tables up to date")]
    Migrate(#[source] DatabaseError),
    /// A statement failed.
    #[error("the database refused a statement")]
    Statement(#[from] DatabaseError),
    /// Another server has the ledger.
    #[error("another server uses this database")]
    InUse,
    /// A row holds what this program never writes.
    #[error("the row `{row}` of `{table}` holds something unreadable in `{column}`")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The row's id.
        row: String,
        /// The column.
        column: &'static str,
    },
}

/// A failure of the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file says so.
    #[error(transparent)]
    File(#[from] rusqlite::Error),
    /// The server says so.
    #[error(transparent)]
    Server(#[from] sqlx::Error),
    /// The tables are not as this program knows them, or cannot be.
    #[error(transparent)]
    Tables(#[from] sqlx::migrate::MigrateError),
    /// The file's one connection was not to be had in time.
    #[error("the ledger's file was busy for too long")]
    Busy,
    /// The file was closed.
    #[error("the ledger's file is closed")]
    Closed,
    /// The disk does not have it.
    #[error("the ledger's file is not on the disk")]
    Sync(#[source] std::io::Error),
    /// A row is not there that always is.
    #[error("a row is missing that is always there")]
    Missing,
}

impl StoreError {
    /// Says that `column` of `row` in `table` cannot be read.
    pub(crate) fn corrupt(
        table: &'static str,
        row: impl fmt::Display,
        column: &'static str,
    ) -> Self {
        Self::Corrupt {
            table,
            row: row.to_string(),
            column,
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Statement(error.into())
    }
}
