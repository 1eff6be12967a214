//! Later tables only add: what an earlier ledger holds stays readable, and what it took is still taken.

use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskPhase};
use countersign_core::digest::Digest;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};

use super::backend::{Place, each_place};
use super::scene::{at, says};
use crate::database::{TABLES, migrator};
use crate::{Answered, AskFilter, ChainVerdict, Store};

/// What the first tables hold in these tests.
const FIRST_ROWS: &str = include_str!("first_ledger.sql");

/// The digests of the tables that were released, for SQLite and for PostgreSQL.
const RELEASED: [(&str, &str); 1] = [(
    "8e112f450eb1f1df3918930d2165c619cb078b8deed7629104504135ce6504fa",
    "8c0e65a55b93dfd90d60f97587eb8172bc89f558b77366cef02c47a37a2331ba",
)];

/// Brings the ledger at `place` to `tables`, and then puts the first rows into it.
async fn fill(place: &Place, tables: &'static [(&'static str, &'static str)]) {
    match place {
        Place::Sqlite(path) => {
            let options = SqliteConnectOptions::new()
                .filename(path)
                .create_if_missing(true)
                .foreign_keys(true);
            let mut connection = options.connect().await.unwrap();
            let migrator = migrator(tables, |(sqlite, _)| sqlite);
            migrator.run(&mut connection).await.unwrap();
            let filled = sqlx::raw_sql(FIRST_ROWS).execute(&mut connection);
            filled.await.unwrap();
            connection.close().await.unwrap();
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
