//! One connection, and transactions that are whole whatever becomes of those who began them.

use std::sync::atomic::AtomicUsize;
use std::task::{Context, Waker};

use super::*;
use crate::sql::query;

const PATIENCE: Duration = Duration::from_secs(10);

async fn open(directory: &tempfile::TempDir) -> LedgerFile {
    let path = directory.path().join("ledger.db");
    let file = LedgerFile::open(&path, PATIENCE).await.unwrap();
    let mut held = file.hold().await.unwrap();
    query("CREATE TABLE IF NOT EXISTS rows (number INTEGER)")
        .execute(&mut held)
        .await
        .unwrap();
    file
}

async fn add(connection: &mut Held, number: i64) {
    query("INSERT INTO rows VALUES ($1)")
        .bind(number)
        .execute(connection)
        .await
        .unwrap();
}

async fn numbers(file: &LedgerFile) -> Vec<i64> {
    let mut held = file.hold().await.unwrap();
    let rows: Vec<(i64,)> = query("SELECT number FROM rows ORDER BY number")
        .fetch_all(&mut held)
        .await
        .unwrap();
    rows.into_iter().map(|(number,)| number).collect()
}

#[tokio::test]
async fn the_end_of_a_chain_is_known_from_what_was_committed_alone() {
    // What is looked at when it is committed: the row that this one belongs to is not there.
    const NONSENSE: &str = "CREATE TABLE parents (id INTEGER PRIMARY KEY); CREATE TABLE children \
         (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)";
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let mut held = file.hold().await.unwrap();
    held.connection().execute_batch(NONSENSE).unwrap();
    drop(held);
    let workspace = WorkspaceId::SERVER;
    let heads = || Heads {
        audit: BTreeMap::from([(workspace, (7, Digest::ZERO))]),
        events: Some(3),
    };
    let good = file.begin().await.unwrap();
    good.commit(heads()).unwrap();
    let mut bad = file.begin().await.unwrap();
    assert_eq!(bad.audit_head(workspace), Some((7, Digest::ZERO)));
    let orphan = query("INSERT INTO children VALUES (1)");
    orphan.execute(bad.held()).await.unwrap();
    assert!(bad.commit(heads()).is_err());
    let next = file.begin().await.unwrap();
    assert_eq!(next.audit_head(workspace), None, "it is looked for again");
}

#[tokio::test]
async fn only_what_was_committed_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let mut dropped = file.begin().await.unwrap();
    add(dropped.held(), 1).await;
    drop(dropped);
    add(&mut file.hold().await.unwrap(), 2).await;
    let mut committed = file.begin().await.unwrap();
    add(committed.held(), 3).await;
    committed.commit(Heads::default()).unwrap();
    assert_eq!(numbers(&file).await, [2, 3]);
}

#[tokio::test]
async fn what_panics_is_rolled_back() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let panicking = file.clone();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let mut transaction = panicking.begin().await.unwrap();
        add(transaction.held(), 1).await;
        panic!("on purpose");
    });
    let panicked: Result<(), _> = tasks.join_next().await.unwrap();
    assert!(panicked.unwrap_err().is_panic());
    add(&mut file.hold().await.unwrap(), 2).await;
    assert_eq!(numbers(&file).await, [2]);
}

#[tokio::test]
async fn values_are_given_by_their_numbers_and_columns_found_by_their_names() {
    crate::database::row! {
        struct Pair {
            first: i64,
            second: Option<String>,
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let mut held = file.hold().await.unwrap();
    let swapped: Vec<Pair> = query("SELECT $2 AS second, 0 AS gap, $1 AS first")
        .bind(7)
        .bind("seven")
        .fetch_all(&mut held)
        .await
        .unwrap();
    assert_eq!(swapped.len(), 1);
    assert_eq!(swapped[0].first, 7);
    assert_eq!(swapped[0].second.as_deref(), Some("seven"));
    let missing: Result<Vec<Pair>, _> = query("SELECT $1 AS first").fetch_all(&mut held).await;
    assert!(missing.is_err(), "a value is missing");
    let missing: Result<Vec<Pair>, _> = query("SELECT 1 AS first").fetch_all(&mut held).await;
    assert!(missing.is_err(), "a column is missing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_log_is_emptied_before_it_grows_without_end() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let page = "x".repeat(4_000);
    let mut held = file.hold().await.unwrap();
    query("CREATE TABLE pages (page TEXT)")
        .execute(&mut held)
        .await
        .unwrap();
    drop(held);
    for _ in 0..10 {
        let mut transaction = file.begin().await.unwrap();
        for _ in 0..500 {
            query("INSERT INTO pages VALUES ($1)")
                .bind(&page)
                .execute(transaction.held())
                .await
                .unwrap();
        }
        transaction.commit(Heads::default()).unwrap();
    }
    let length = |name: &str| directory.path().join(name).metadata().unwrap().len();
    let (log, ledger) = (length("ledger.db-wal"), length("ledger.db"));
    assert!(ledger > 4_000 * 4_000, "{ledger}");
    assert!(log < 4_200 * 2_000, "{log}");
}

#[tokio::test]
async fn whoever_waits_too_long_is_told_that_it_is_busy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    let file = LedgerFile::open(&path, Duration::from_millis(1))
        .await
        .unwrap();
    let held = file.hold().await.unwrap();
    assert!(matches!(file.hold().await, Err(DatabaseError::Busy)));
    drop(held);
    file.hold().await.unwrap();
}

/// Polls `future` until it has gone on `polls` times, and drops it.
fn cancel_after(polls: usize, future: impl Future) {
    let mut future = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..polls {
        if future.as_mut().poll(&mut context).is_ready() {
            return;
        }
    }
}

/// Goes on at the second look, as if something else were awaited.
async fn hesitate() {
    let mut is_first = true;
    std::future::poll_fn(|_| {
        if std::mem::take(&mut is_first) {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_cancelled_leaves_no_transaction_behind() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let committed = AtomicUsize::new(0);
    let mut written = Vec::new();
    for polls in 1..8 {
        cancel_after(polls, async {
            hesitate().await;
            let mut transaction = file.begin().await.unwrap();
            hesitate().await;
            add(transaction.held(), 1_000).await;
            hesitate().await;
            add(transaction.held(), 1_001).await;
            hesitate().await;
            transaction.commit(Heads::default()).unwrap();
            committed.fetch_add(1, Ordering::Relaxed);
            hesitate().await;
        });
        let number = i64::try_from(polls).unwrap();
        add(&mut file.hold().await.unwrap(), number).await;
        written.push(number);
    }
    let there = numbers(&file).await;
    let ours = there.iter().filter(|number| **number < 1_000);
    assert!(ours.eq(&written), "{there:?}");
    let halves = |half| there.iter().filter(|number| **number == half).count();
    let committed = committed.into_inner();
    assert_eq!(committed, 3, "from the fifth poll on");
    assert_eq!((halves(1_000), halves(1_001)), (committed, committed));
    // The file itself has them: another connection sees nothing that is not committed.
    file.close().await;
    assert!(matches!(file.hold().await, Err(DatabaseError::Closed)));
    assert_eq!(numbers(&open(&directory).await).await, there);
}

/// The file as a kill would leave it.
async fn as_killed(directory: &tempfile::TempDir) -> (tempfile::TempDir, LedgerFile) {
    let copy = tempfile::tempdir().unwrap();
    for name in ["ledger.db", "ledger.db-wal"] {
        std::fs::copy(directory.path().join(name), copy.path().join(name)).unwrap();
    }
    let file = open(&copy).await;
    (copy, file)
}

/// How often `work` had the log on the disk.
async fn syncs(work: impl Future<Output = ()>) -> usize {
    let before = log_files::SYNCS.get();
    work.await;
    log_files::SYNCS.get() - before
}

#[tokio::test]
async fn what_need_not_be_synced_outlives_the_process_and_everything_else_is_synced() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let commit = async |transaction: FileTransaction, number| {
        let mut transaction = transaction;
        add(transaction.held(), number).await;
        transaction.commit(Heads::default()).unwrap();
    };
    let begun = file.begin().await.unwrap();
    assert_eq!(syncs(commit(begun, 1)).await, 1);
    let begun = file.begin_unsynced().await.unwrap();
    assert_eq!(syncs(commit(begun, 2)).await, 0);
    let mut left = file.begin_unsynced().await.unwrap();
    add(left.held(), 3).await;
    drop(left);
    let alone = async { add(&mut file.hold().await.unwrap(), 4).await };
    assert_eq!(
        syncs(alone).await,
        1,
        "also after one that was not committed"
    );
    let (_copy, killed) = as_killed(&directory).await;
    assert_eq!(numbers(&killed).await, [1, 2, 4]);

    // What begins the log anew is on the disk before it, though the commit itself need not be.
    let mut held = file.hold().await.unwrap();
    let emptied = held
        .connection()
        .execute_batch("PRAGMA wal_checkpoint(RESTART)");
    emptied.unwrap();
    drop(held);
    let begun = file.begin_unsynced().await.unwrap();
    assert_eq!(syncs(commit(begun, 5)).await, 1);
    let begun = file.begin_unsynced().await.unwrap();
    assert_eq!(syncs(commit(begun, 6)).await, 0);
    let (_copy, killed) = as_killed(&directory).await;
    assert_eq!(numbers(&killed).await, [1, 2, 4, 5, 6]);
}

#[tokio::test]
async fn an_event_is_on_the_disk_with_the_next_commit_that_writes_and_with_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let heads = |event| Heads {
        events: Some(event),
        ..Heads::default()
    };
    let mut unsynced = file.begin_unsynced().await.unwrap();
    add(unsynced.held(), 1).await;
    unsynced.commit(heads(1)).unwrap();
    assert!(!file.has_synced(1));
    let nothing = file.begin().await.unwrap();
    let committing = async { nothing.commit(Heads::default()).unwrap() };
    assert_eq!(syncs(committing).await, 0, "there is nothing to write");
    assert!(!file.has_synced(1));
    let mut synced = file.begin().await.unwrap();
    add(synced.held(), 2).await;
    synced.commit(heads(2)).unwrap();
    assert!(file.has_synced(2) && !file.has_synced(3));
}

#[tokio::test]
async fn a_commit_that_writes_its_own_pages_again_is_whole_as_well() {
    const GROW: &str =
        "PRAGMA cache_size = 4; CREATE TABLE large (number INTEGER PRIMARY KEY, text TEXT);";
    const FILL: &str = "WITH RECURSIVE counted (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM counted \
         WHERE number < 300) INSERT INTO large SELECT number, printf('%.2000c', 'x') FROM counted; \
         UPDATE large SET text = text || 'y' WHERE number % 7 = 0; \
         UPDATE large SET text = text || 'z' WHERE number % 11 = 0;";
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let mut held = file.hold().await.unwrap();
    held.connection().execute_batch(GROW).unwrap();
    drop(held);
    // One that is taken back leaves pages in the log which the next one writes over.
    let mut left = file.begin_unsynced().await.unwrap();
    left.held().connection().execute_batch(FILL).unwrap();
    drop(left);
    let mut whole = file.begin_unsynced().await.unwrap();
    whole.held().connection().execute_batch(FILL).unwrap();
    let committing = async { whole.commit(Heads::default()).unwrap() };
    assert_eq!(syncs(committing).await, 0, "it need not be on the disk");

    let (_copy, killed) = as_killed(&directory).await;
    for file in [&file, &killed] {
        let mut held = file.hold().await.unwrap();
        let connection = held.connection();
        let intact = connection.query_row("PRAGMA integrity_check", (), |row| row.get(0));
        assert_eq!(intact, Ok("ok".to_owned()));
        let lengths = "SELECT COUNT(*), SUM(length(text)) FROM large";
        let found = connection.query_row(lengths, (), |row| Ok((row.get(0)?, row.get(1)?)));
        assert_eq!(found, Ok((300, 300 * 2_000 + 300 / 7 + 300 / 11)));
    }
}

#[tokio::test]
async fn what_a_commit_stands_on_is_laid_before_the_log_is_emptied_or_the_file_closed() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory).await;
    let laid = Arc::new(AtomicUsize::new(0));
    let ground = || {
        let laid = Arc::clone(&laid);
        Ground::new(move || {
            laid.fetch_add(1, Ordering::Relaxed);
        })
    };
    let mut short = file.begin_unsynced().await.unwrap();
    short.stand_on(ground());
    add(short.held(), 1).await;
    short.commit(Heads::default()).unwrap();
    assert_eq!(
        laid.load(Ordering::Relaxed),
        0,
        "nothing is on the disk yet"
    );

    let mut long = file.begin_unsynced().await.unwrap();
    long.stand_on(ground());
    let many_pages = "CREATE TABLE long AS SELECT zeroblob(8000000) AS pages";
    long.held().connection().execute_batch(many_pages).unwrap();
    long.commit(Heads::default()).unwrap();
    assert_eq!(laid.load(Ordering::Relaxed), 2, "the log was emptied");

    let mut last = file.begin_unsynced().await.unwrap();
    last.stand_on(ground());
    last.commit(Heads::default()).unwrap();
    file.close().await;
    assert_eq!(laid.load(Ordering::Relaxed), 3);
}
