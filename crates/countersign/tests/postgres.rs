//! The whole program on PostgreSQL: the same journey, the same survival.

use std::process::Command;
use std::time::{Duration, Instant};

use countersign_testkit::test_server::{Engine, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

const LEFT_OUT: &str =
    "left out: COUNTERSIGN_TEST_POSTGRES is not set (`cargo xtask test` sets it)";

/// A schema of its own in the database that `cargo xtask test` starts; it goes when this is dropped.
struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Nothing where no database was started.
    fn make(purpose: &str) -> Option<Self> {
        let server = std::env::var("COUNTERSIGN_TEST_POSTGRES").ok()?;
        let schema = Self {
            server,
            name: format!("program_{purpose}_{}", std::process::id()),
        };
        schema.run(&format!("CREATE SCHEMA {}", schema.name));
        Some(schema)
    }

    fn url(&self) -> String {
        let separator = if self.server.contains('?') { '&' } else { '?' };
        format!(
            "{}{separator}options=-csearch_path%3D{}",
            self.server, self.name
        )
    }

    /// Starts the whole program on it.
    async fn serve(&self) -> TestServer {
        let mut setup = Setup::new(BINARY, Engine::Scripted);
        setup.arguments = vec!["--database".to_owned(), self.url()];
        let server = setup.start().await;
        server.api().wait_for_engine().await;
        server
    }

    fn run(&self, statement: &str) {
        let ran = Command::new("psql")
            .args([&self.server, "-qc", statement])
            .status();
        assert!(ran.expect("`psql` can be started").success(), "{statement}");
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.run(&format!("DROP SCHEMA {} CASCADE", self.name));
    }
}

async fn answered(server: &TestServer, ask: &Value) -> Value {
    let id = ask["id"].as_str().expect("an ask has an id");
    server
        .api()
        .answer(id, &json!({ "answer": "allow_once" }))
        .await
        .expect(200);
    server.api().settled(id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ask_is_answered_and_delivered_and_survives_a_kill() {
    let Some(schema) = Schema::make("journey") else {
        eprintln!("{LEFT_OUT}");
        return;
    };
    let mut server = schema.serve().await;

    let session = server.api().start_and_prompt("ASK 1").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    assert_eq!(answered(&server, &ask).await["state"], "delivered");

    let session = server.api().start_and_prompt("ASK 1").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    server.kill();
    server.restart().await;
    server.api().wait_for_engine().await;
    assert_eq!(answered(&server, &ask).await["state"], "delivered");

    // An answer that was accepted is carried by the next server, however little time the last one had for it.
    let session = server.api().start_and_prompt("ASK 1").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let id = ask["id"].as_str().expect("an ask has an id");
    let allow = json!({ "answer": "allow_once" });
    server.api().answer(id, &allow).await.expect(200);
    server.kill();
    server.restart().await;
    assert_eq!(server.api().settled(id).await["state"], "delivered");

    server.cli(&["audit", "verify"]).await.expect_success();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_the_same_database_is_refused() {
    const ENDED: &str = "SELECT pg_terminate_backend(pid) FROM pg_locks \
         WHERE locktype = 'advisory' AND objid = hashtext('SCHEMA')::bigint::bit(32)::bigint::oid";
    let Some(schema) = Schema::make("second") else {
        eprintln!("{LEFT_OUT}");
        return;
    };
    let mut server = schema.serve().await;
    let session = server.api().start_and_prompt("ASK 1").await;
    let ask = server.api().wait_for_ask_of(&session).await;

    let home = tempfile::tempdir().expect("a folder can be made");
    let second = || {
        let started = Command::new(BINARY)
            .args(["serve", "--port", "0", "--no-engine", "--database"])
            .arg(schema.url())
            .current_dir(home.path())
            .env("COUNTERSIGN_DATA", home.path().join("data"))
            .output()
            .expect("the program can be started");
        let said = String::from_utf8_lossy(&started.stderr).into_owned();
        assert_eq!(started.status.code(), Some(1), "{said}");
        assert!(said.contains("another server uses this database"), "{said}");
    };
    second();

    // Also after the database ended the connection that holds the lock.
    schema.run(&ENDED.replace("SCHEMA", &schema.name));
    let again = async || server.log().contains("lock was replaced").then_some(());
    eventually(
        Duration::from_mins(1),
        "the server takes the lock again",
        again,
    )
    .await;
    second();

    assert_eq!(answered(&server, &ask).await["state"], "delivered");
    server.stop().await;
}

/// How many pieces of transcripts there are.
const PIECES: u64 = 100_000;
/// How long somebody waits at most who looks for a word that is in none of them. It takes a tenth of this on a machine of
/// two cores that has other things to do.
const LONGEST_SEARCH: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn words_are_looked_for_in_a_hundred_thousand_pieces_within_bounds() {
    let Some(schema) = Schema::make("search") else {
        eprintln!("{LEFT_OUT}");
        return;
    };
    let mut server = schema.serve().await;
    let session = server.api().start_session().await;
    let filler = "what an agent says while it works on something ".repeat(8);
    schema.run(&format!(
        "INSERT INTO {}.items (session, seq, native_id, at, body) SELECT '{session}', n, 'piece_' || n, n, \
         '{{\"kind\":\"text\",\"text\":\"piece ' || n || ' of {filler}\"}}' FROM generate_series(1, {PIECES}) AS n",
        schema.name
    ));
    let search = async |words: &str| {
        let began = Instant::now();
        let found = server.api().get(&format!("/api/v1/search?q={words}")).await;
        (found, began.elapsed())
    };
    let (found, took) = search("nobody%20said%20heliotrope").await;
    eprintln!("looked through {PIECES} pieces in {took:?}");
    assert_eq!(found["hits"], json!([]), "{found}");
    assert_eq!(found["looked_at"], PIECES, "{found}");
    assert!(took < LONGEST_SEARCH, "{took:?}");
    let (found, took) = search("piece%2012").await;
    assert!(!found["hits"].as_array().expect("a list").is_empty());
    assert!(took < LONGEST_SEARCH, "{took:?}");
    server.stop().await;
}
