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
        source: sqlx::Error,
    },
    /// The tables cannot be brought up to date.
    #[error("failed to bring the database's tables up to date")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// A statement failed.
    #[error("the database refused a statement")]
    Statement(#[from] sqlx::Error),
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
