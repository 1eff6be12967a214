//! Later tables only add: what an earlier ledger holds stays readable, and what it took is still taken.

use std::time::Duration;

use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskPhase};
use countersign_core::digest::Digest;
use rusqlite::Connection as FileConnection;
use sqlx::{Connection as _, PgConnection};

use super::backend::{Place, each_place};
use super::scene::{at, says};
use crate::database::{TABLES, migrator};
use crate::file::LedgerFile;
use crate::{Answered, AskFilter, ChainVerdict, Slice, Store, StoreError};

/// What the first tables hold in these tests.
const FIRST_ROWS: &str = include_str!("first_ledger.sql");

/// How the first version noted, in a file, that it had made its tables.
const FIRST_NOTE: &str = "\
CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO _sqlx_migrations VALUES (1, '', '2026-11-17 11:54:00', TRUE, \
X'43f2d7bda9c781846db9cd93327eae7b4a5ed2adcf464ce5eb57fdf5d0aec55a0f8aa3f674120cad7d5e02f1192c588c', \
1234567);";

/// The digests of the tables that were released, for SQLite and for PostgreSQL.
const RELEASED: [(&str, &str); 6] = [
    (
        "8e112f450eb1f1df3918930d2165c619cb078b8deed7629104504135ce6504fa",
        "8c0e65a55b93dfd90d60f97587eb8172bc89f558b77366cef02c47a37a2331ba",
    ),
    (
        "3859f68e8e383d893dd8fb0119b19ba8e28d3cf12ad42bc97fcfb7ac6d316af9",
        "31e5f3fca57bd9c6f607794efcbba03b15851a23804f4f89caab3f3999137207",
    ),
    (
        "69743fcb1f5045e727669bc45958d1ca28a3d576e25a6c525e1030309fdbf465",
        "f5af18908ac933bb4e6be5767e274936e7ebf219594923ecf24bbfe40b4289d6",
    ),
    (
        "17aac66428e592959bcfa8064c8241309ce266a0d9b5b64f27486ef80b3dc51d",
        "ea0935a3ec74daf627e970cc3a8ca065c7d4487fb910e4ef27ca8d6252a9dfa7",
    ),
    (
        "685dccdea91e28140628b8dd076842032bd913b1bc996f91a2d4a31e78bb9b4b",
        "eae9ee69fcaeb9d1c38c9d2b93f7fbf255eff7efad84d7824640a848c2e748b0",
    ),
    (
        "f0fb9f2f1ac7fcca49fee9b7aaa101b326831c72899366a25018a74bd920d80e",
        "5d00b15155c3f045162c03e5a7c7ff5c191f70ead8244b2f4b5f140944907d3e",
    ),
];

/// Brings the ledger at `place` to `tables`, and then puts the first rows into it.
async fn fill(place: &Place, tables: &'static [(&'static str, &'static str)]) {
    match place {
        Place::Sqlite(path) => {
            let connection = FileConnection::open(path).unwrap();
            connection.execute_batch(TABLES[0].0).unwrap();
            connection.execute_batch(FIRST_NOTE).unwrap();
            drop(connection);
            let file = LedgerFile::open(path, Duration::ZERO).await.unwrap();
            let migrator = migrator(tables, |(sqlite, _)| sqlite);
            file.migrate(&migrator).await.unwrap();
            file.close().await;
            let connection = FileConnection::open(path).unwrap();
            connection.execute_batch(FIRST_ROWS).unwrap();
        }
        Place::Postgres(url) => {
            let mut connection = PgConnection::connect(url).await.unwrap();
            let migrator = migrator(tables, |(_, postgres)| postgres);
            migrator.run(&mut connection).await.unwrap();
            let filled = sqlx::raw_sql(FIRST_ROWS).execute(&mut connection);
            filled.await.unwrap();
            connection.close().await.unwrap();
        }
    }
}

async fn ask_called(store: &Store, native_id: &str) -> Ask {
    let asks = store.asks(AskFilter::default(), 10).await.unwrap();
    assert_eq!(asks.len(), 4);
    let mut asks = asks.into_iter();
    asks.find(|ask| ask.native_id == native_id).unwrap()
}

#[test]
fn what_was_released_is_never_changed() {
    assert!(TABLES.len() >= RELEASED.len());
    for (number, ((sqlite, postgres), released)) in (1..).zip(TABLES.iter().zip(RELEASED)) {
        let digest = |text: &str| Digest::of_bytes(text.as_bytes()).to_string();
        let found = (digest(sqlite), digest(postgres));
        assert_eq!(
            (found.0.as_str(), found.1.as_str()),
            released,
            "migration {number} was changed: add another in its place"
        );
    }
}

#[tokio::test]
async fn a_ledger_of_the_first_version_is_taken_up_with_all_that_is_in_it() {
    each_place(async |place: &Place| {
        fill(place, &TABLES[..1]).await;
        let store = place.open().await;

        assert_eq!(*store.head().borrow(), 11);
        assert_eq!(store.events_after(0, 100).await.unwrap().len(), 11);
        for (native_id, phase) in [
            ("per_1", AskPhase::Delivered),
            ("per_2", AskPhase::Answered),
            ("per_3", AskPhase::Open),
            ("que_1", AskPhase::Open),
        ] {
            let ask = ask_called(&store, native_id).await;
            assert_eq!(ask.state.phase(), phase, "{native_id}");
            assert_eq!(ask.digest, Digest::of_json(&ask.raw), "{native_id}");
        }
        let denied = ask_called(&store, "per_2").await;
        let reason = denied.state.answer().unwrap().choice.reason();
        assert_eq!(reason, Some("not on a Friday"));
        let parcels = store.parcels(denied.run).await.unwrap();
        assert_eq!(parcels.len(), 1, "the answer is still on its way");
        let rules = store.rules(None).await.unwrap();
        assert_eq!(rules.len(), 1);
        let session = store.session(denied.session).await.unwrap().unwrap();
        let turn = store.newest_turn(session.id).await.unwrap().unwrap();
        assert_eq!(turn.prompt, "fix the build");

        // What was answered before figures were made is in them.
        let all = Slice {
            from: at(0),
            to: at(1_000),
            workspace: None,
            most: 100,
            target: 60_000_000,
            late: at(0),
        };
        let figures = store.figures(all).await.unwrap();
        let mut said: Vec<_> = figures
            .answered
            .iter()
            .map(|it| (it.tool.as_deref(), it.yes))
            .collect();
        said.sort_unstable();
        assert_eq!(said, [(Some("bash"), false), (Some("bash"), true)]);
        let mut waiting: Vec<_> = figures
            .unanswered
            .iter()
            .map(|it| it.tool.as_deref())
            .collect();
        waiting.sort_unstable();
        assert_eq!(waiting, [None, Some("bash")]);

        // Life goes on in it: the open ask is answered, and the chain that began then is whole.
        let open = ask_called(&store, "per_3").await;
        let answer = says(&rules[0].made_by, Choice::AllowOnce);
        let answered = store.answer(open.id, answer, at(20)).await.unwrap();
        assert!(matches!(answered, Answered::Won(_)), "{answered:?}");
        let verdicts = store.verify_audit().await.unwrap();
        let of_workspace = |verdict: &&ChainVerdict| verdict.workspace == open.workspace;
        let verdict = verdicts.iter().find(of_workspace).unwrap();
        assert!(
            verdict.outcome.as_ref().is_ok_and(|it| *it == 12),
            "{verdict:?}"
        );
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_the_first_version_wrote_can_still_be_written() {
    each_place(async |place: &Place| {
        // What later tables ask for beyond the first ones has a default: they only add.
        fill(place, TABLES).await;
        let store = place.open().await;
        let open = ask_called(&store, "per_3").await;
        assert_eq!(open.state.phase(), AskPhase::Open);
        store.close().await;
    })
    .await;
}

/// Opens a ledger that another version of this program has been at, which `change` stands for.
async fn open_changed(change: &str) -> StoreError {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    let store = Store::open_sqlite(&path).await.unwrap();
    store.close().await;
    let connection = FileConnection::open(&path).unwrap();
    assert_eq!(connection.execute(change, ()).unwrap(), 1, "{change}");
    drop(connection);
    Store::open_sqlite(&path).await.unwrap_err()
}

#[tokio::test]
async fn a_file_that_this_version_does_not_know_is_left_alone() {
    for (change, why) in [
        (
            "UPDATE _sqlx_migrations SET checksum = X'00' WHERE version = 2",
            "migration 2 was previously applied but has been modified",
        ),
        (
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (9999, '', TRUE, X'00', 0)",
            "migration 9999 was previously applied but is missing in the resolved migrations",
        ),
        (
            "UPDATE _sqlx_migrations SET success = FALSE WHERE version = 2",
            "migration 2 is partially applied; fix and remove row from `_sqlx_migrations` table",
        ),
    ] {
        let StoreError::Migrate(said) = open_changed(change).await else {
            panic!("{change}");
        };
        assert_eq!(said.to_string(), why);
    }
}
