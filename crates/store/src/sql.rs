//! One SQL text for both databases: what it is given, where it runs, and what comes back.
//!
//! On a file a statement runs at once, in the task that wants it: it takes a few microseconds, and less than the way to
//! another thread and back would. What waits for the disk is done aside.

mod row;
mod value;

pub(crate) use row::{Columns, FromRow, Row};
pub(crate) use value::Value;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres};

use crate::error::DatabaseError;
use crate::file::{Held, aside};

/// A statement with the values that it is given.
pub(crate) struct Query<'q> {
    sql: Sql,
    values: Vec<Value<'q>>,
    is_long: bool,
}

/// The text of a statement.
pub(crate) enum Sql {
    /// Always the same: it is prepared once.
    Constant(&'static str),
    /// As long as what it is given.
    Made(String),
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self::Constant(text)
    }
}

impl From<String> for Sql {
    fn from(text: String) -> Self {
        Self::Made(text)
    }
}

/// Where a statement runs.
pub(crate) enum On<'c> {
    /// On the ledger's file.
    File(&'c mut Held),
    /// On any connection to a server.
    Pool(&'c PgPool),
    /// On this one.
    Server(&'c mut PgConnection),
}

/// What a statement did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Executed {
    rows_affected: u64,
}

impl Executed {
    /// How many rows it wrote or deleted.
    pub(crate) fn rows_affected(self) -> u64 {
        self.rows_affected
    }
}

/// A statement in the subset that both databases understand. One that is constant is prepared once.
pub(crate) fn query<'q>(sql: impl Into<Sql>) -> Query<'q> {
    Query {
        sql: sql.into(),
        values: Vec::new(),
        is_long: false,
    }
}

/// The placeholders of `count` values that begin with number `first`.
pub(crate) fn placeholders(first: usize, count: usize) -> String {
    let numbers = first..first + count;
    let names: Vec<String> = numbers.map(|number| format!("${number}")).collect();
    names.join(", ")
}

impl<'q> Query<'q> {
    /// Gives the statement its next value.
    pub(crate) fn bind(mut self, value: impl Into<Value<'q>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Says that the statement looks at a great many rows: then it runs aside.
    pub(crate) fn long(mut self) -> Self {
        self.is_long = true;
        self
    }

    /// Runs a statement that returns nothing.
    pub(crate) async fn execute<'c>(
        self,
        on: impl Into<On<'c>>,
    ) -> Result<Executed, DatabaseError> {
        let rows_affected = match on.into() {
            On::File(file) => file.execute(&self.sql, &self.values)?,
            On::Pool(pool) => self.on_server().execute(pool).await?.rows_affected(),
            On::Server(server) => self.on_server().execute(server).await?.rows_affected(),
        };
        Ok(Executed { rows_affected })
    }

    /// The first row, if there is one.
    pub(crate) async fn fetch_optional<'c, T: FromRow>(
        self,
        on: impl Into<On<'c>>,
    ) -> Result<Option<T>, DatabaseError> {
        let row = match on.into() {
            On::File(file) => return Ok(self.on_file(file, 1)?.pop()),
            On::Pool(pool) => self.on_server().fetch_optional(pool).await?,
            On::Server(server) => self.on_server().fetch_optional(server).await?,
        };
        row.as_ref().map(of_server).transpose()
    }

    /// The first row, which has to be there.
    pub(crate) async fn fetch_one<'c, T: FromRow>(
        self,
        on: impl Into<On<'c>>,
    ) -> Result<T, DatabaseError> {
        let row = self.fetch_optional(on).await?;
        row.ok_or(DatabaseError::Missing)
    }

    /// All rows.
    pub(crate) async fn fetch_all<'c, T: FromRow>(
        self,
        on: impl Into<On<'c>>,
    ) -> Result<Vec<T>, DatabaseError> {
        let rows = match on.into() {
            On::File(file) => return self.on_file(file, usize::MAX),
            On::Pool(pool) => self.on_server().fetch_all(pool).await?,
            On::Server(server) => self.on_server().fetch_all(server).await?,
        };
        rows.iter().map(of_server).collect()
    }

    fn on_file<T: FromRow>(&self, file: &mut Held, most: usize) -> Result<Vec<T>, DatabaseError> {
        if self.is_long {
            return aside(|| file.fetch(&self.sql, &self.values, most));
        }
        file.fetch(&self.sql, &self.values, most)
    }

    fn on_server(self) -> sqlx::query::Query<'q, Postgres, sqlx::postgres::PgArguments> {
        let query = match self.sql {
            Sql::Constant(sql) => sqlx::query(sql),
            Sql::Made(sql) => sqlx::query(AssertSqlSafe(sql)),
        };
        self.values
            .into_iter()
            .fold(query, |query, value| value.bind_to(query))
    }
}

fn of_server<T: FromRow>(row: &PgRow) -> Result<T, DatabaseError> {
    let row = Row::Server {
        row,
        names: T::COLUMNS,
    };
    T::from_row(&mut Columns::of(&row))
}

impl<'c> From<&'c mut Held> for On<'c> {
    fn from(file: &'c mut Held) -> Self {
        Self::File(file)
    }
}

impl<'c> From<&'c mut PgConnection> for On<'c> {
    fn from(server: &'c mut PgConnection) -> Self {
        Self::Server(server)
    }
}
