//! Runs a test on each database: a fresh SQLite file, and a schema of its own in PostgreSQL.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::Store;
use crate::database::Db;
use crate::sql::{FromRow, Query, query};

/// Where the tests find a PostgreSQL server.
const POSTGRES: &str = "COUNTERSIGN_TEST_POSTGRES";

/// Where a ledger is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// In a file.
    Sqlite(PathBuf),
    /// On a server, at this address.
    Postgres(String),
}

impl Place {
    /// Opens the ledger that is there, or makes it.
    pub(super) async fn open(&self) -> Store {
        match self {
            Self::Sqlite(path) => Store::open_sqlite(path).await.unwrap(),
            Self::Postgres(url) => Store::open_postgres(url).await.unwrap(),
        }
    }
}

/// Runs `body` on a fresh ledger of each kind. PostgreSQL is left out where no server is named.
pub(super) async fn each_backend(body: impl AsyncFn(Store)) {
    each_place(async |place: &Place| {
        let store = place.open().await;
        Box::pin(body(store.clone())).await;
        store.close().await;
    })
    .await;
}

/// Runs `body` with an empty place for each kind of ledger. PostgreSQL is left out where no server is named.
pub(super) async fn each_place(body: impl AsyncFn(&Place)) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    Box::pin(body(&Place::Sqlite(path))).await;
    on_postgres(async |url: &str| body(&Place::Postgres(url.to_owned())).await).await;
}

/// The steps in which a file finds what `sql` asks for, with the values that `bind` gives it.
pub(super) async fn plan_on_file(
    sql: &str,
    bind: impl FnOnce(Query<'static>) -> Query<'static>,
) -> Vec<String> {
    let explain = bind(query(format!("EXPLAIN QUERY PLAN {sql}")));
    let steps: Vec<(i64, i64, i64, String)> = explained(explain).await;
    steps.into_iter().map(|(_, _, _, step)| step).collect()
}

/// The instructions that a file follows to do what `sql` says.
pub(super) async fn steps_on_file(sql: &str) -> Vec<String> {
    // More values than there are in any statement.
    let explain = (0..32).fold(query(format!("EXPLAIN {sql}")), |it, _| it.bind("x"));
    let steps: Vec<(i64, String)> = explained(explain).await;
    steps.into_iter().map(|(_, step)| step).collect()
}

async fn explained<T: FromRow>(explain: Query<'static>) -> Vec<T> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    let store = Store::open_sqlite(&path).await.unwrap();
    let Db::Sqlite(file) = &store.db else {
        panic!("it is a file")
    };
    let mut held = file.hold().await.unwrap();
    explain.fetch_all(&mut held).await.unwrap()
}

/// Runs `body` with the address of an empty PostgreSQL schema, if a server is named.
pub(super) async fn on_postgres(body: impl AsyncFn(&str)) {
    let Ok(server) = std::env::var(POSTGRES) else {
        eprintln!("PostgreSQL was left out: {POSTGRES} is not set");
        return;
    };
    let schema = unused_schema();
    execute(&server, format!("CREATE SCHEMA {schema}")).await;
    let separator = if server.contains('?') { '&' } else { '?' };
    let url = format!("{server}{separator}options=-csearch_path%3D{schema}");
    Box::pin(body(&url)).await;
    // After a failure the schema stays, to be looked at.
    execute(&server, format!("DROP SCHEMA {schema} CASCADE")).await;
}

fn unused_schema() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("test_{}_{count}", std::process::id())
}

async fn execute(server: &str, statement: String) {
    let mut connection = PgConnection::connect(server).await.unwrap();
    sqlx::query(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}
