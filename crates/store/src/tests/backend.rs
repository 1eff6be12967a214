//! Runs a test on each database: a fresh SQLite file, and a schema of its own in PostgreSQL.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::Store;

/// Where the tests find a PostgreSQL server.
const POSTGRES: &str = "COUNTERSIGN_TEST_POSTGRES";

/// Runs `body` on a fresh ledger of each kind. PostgreSQL is left out where no server is named.
pub(super) async fn each_backend(body: impl AsyncFn(Store)) {
    on_sqlite(&body).await;
    on_postgres(async |url: &str| {
        let store = Store::open_postgres(url).await.unwrap();
        Box::pin(body(store.clone())).await;
        store.close().await;
    })
    .await;
}

/// Runs `body` on a fresh SQLite file.
pub(super) async fn on_sqlite(body: impl AsyncFn(Store)) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&directory.path().join("ledger.db"))
        .await
        .unwrap();
    Box::pin(body(store.clone())).await;
    store.close().await;
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
