//! What comes back: rows that are read by the names of their columns, or one column after the other.

use rusqlite::types::FromSql;
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row as _, Type};

use crate::error::DatabaseError;

/// Something that is made of a row.
pub(crate) trait FromRow: Sized {
    /// The names of its columns, in the order in which they are taken. Without names they are taken as they come.
    const COLUMNS: &'static [&'static str];

    /// Makes it.
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, DatabaseError>;
}

/// Something that a column of either database holds.
pub(crate) trait Column: FromSql + for<'r> Decode<'r, Postgres> + Type<Postgres> {}

impl<T: FromSql + for<'r> Decode<'r, Postgres> + Type<Postgres>> Column for T {}

/// A row of either database.
pub(crate) enum Row<'r> {
    /// Of a file, with the places of its named columns.
    File {
        row: &'r rusqlite::Row<'r>,
        places: &'r [usize],
    },
    /// Of a server, with the names of its columns.
    Server {
        row: &'r PgRow,
        names: &'static [&'static str],
    },
}

/// The columns of a row, taken one after the other.
pub(crate) struct Columns<'r> {
    row: &'r Row<'r>,
    taken: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r Row<'r>) -> Self {
        Self { row, taken: 0 }
    }

    /// Takes the next one.
    pub(crate) fn take<T: Column>(&mut self) -> Result<T, DatabaseError> {
        let at = self.taken;
        self.taken += 1;
        Ok(match self.row {
            Row::File { row, places } => row.get(places.get(at).copied().unwrap_or(at))?,
            Row::Server { row, names } => match names.get(at) {
                Some(name) => row.try_get(*name)?,
                None => row.try_get(at)?,
            },
        })
    }
}

macro_rules! tuples {
    ($($($column:ident)*;)*) => {$(
        impl<$($column: Column),*> FromRow for ($($column,)*) {
            const COLUMNS: &'static [&'static str] = &[];

            fn from_row(columns: &mut Columns<'_>) -> Result<Self, DatabaseError> {
                Ok(($(columns.take::<$column>()?,)*))
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
}
