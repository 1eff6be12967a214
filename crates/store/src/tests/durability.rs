//! What is written stays written. What the SQLite file promises besides: synced to the disk with each commit, and
//! closed to everybody else.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::backend::{Place, each_place};
use super::scene::Scene;
use crate::database::Db;
use crate::sql::query;
use crate::{Store, StoreError};

/// The first version in which a write-ahead log cannot be damaged by a checkpoint at the wrong moment.
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];

async fn value(store: &Store, it: &'static str) -> String {
    let Db::Sqlite(file) = &store.db else {
        unreachable!("these tests are about SQLite");
    };
    // Pragmas answer with numbers or texts; a text is made of either.
    let text = format!("SELECT CAST(it AS TEXT) FROM (SELECT {it} AS it)");
    let (value,): (String,) = query(text)
        .fetch_one(&mut file.hold().await.unwrap())
        .await
        .unwrap();
    value
}

async fn open(path: &Path) -> Store {
    Store::open_sqlite(path).await.unwrap()
}

#[tokio::test]
async fn a_commit_is_on_the_disk_before_anybody_hears_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("ledger.db")).await;

    let synchronous = "(SELECT synchronous FROM pragma_synchronous)";
    assert_eq!(value(&store, synchronous).await, "2", "FULL is wanted");
    let journal = "(SELECT journal_mode FROM pragma_journal_mode)";
    assert_eq!(value(&store, journal).await, "wal");
    let foreign_keys = "(SELECT foreign_keys FROM pragma_foreign_keys)";
    assert_eq!(value(&store, foreign_keys).await, "1");
}

#[tokio::test]
async fn the_sqlite_inside_is_one_that_does_not_damage_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("ledger.db")).await;

    let version = value(&store, "sqlite_version()").await;
    let parts: Vec<u32> = version.split('.').map(|it| it.parse().unwrap()).collect();
    assert!(parts.as_slice() >= OLDEST_SQLITE.as_slice(), "{version}");
}

#[tokio::test]
async fn nobody_else_can_open_the_file_while_a_ledger_is_open_on_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    let store = open(&path).await;
    Scene::new(&store).await;

    let second = Store::open_sqlite(&path).await.unwrap_err();
    let StoreError::Open { name, source } = &second else {
        panic!("{second:?}");
    };
    assert_eq!(*name, path.display().to_string());
    assert!(
        source.to_string().contains("database is locked"),
        "{source}"
    );
    let stranger = Connection::open(&path).unwrap();
    stranger.busy_timeout(Duration::ZERO).unwrap();
    let read = stranger.execute_batch("SELECT * FROM asks");
    let error = read.unwrap_err().to_string();
    assert!(error.contains("database is locked"), "{error}");
    store.ping().await.unwrap();
}

#[tokio::test]
async fn what_was_written_is_there_when_the_ledger_is_opened_again() {
    each_place(async |place: &Place| {
        let store = place.open().await;
        let scene = Scene::new(&store).await;
        let ask = scene.open_command("per_1", "ls").await;
        let head = *store.head().borrow();
        store.close().await;

        let store = place.open().await;
        assert_eq!(store.ask(ask.id).await.unwrap(), Some(ask));
        assert_eq!(*store.head().borrow(), head);
        store.close().await;
    })
    .await;
}
