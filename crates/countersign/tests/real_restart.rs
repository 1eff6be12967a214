//! Ends of all kinds, with a real opencode: the server's by `kill -9`, the engine's by `kill -9`, and an orderly one.

use std::time::Duration;

use countersign_core::time::{Clock, Timestamp};
use countersign_testkit::test_server::PATIENCE;
use countersign_testkit::{StubModel, TestServer, eventually};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// How soon the asks of an engine that is gone have to be over, by what the ledger says.
const ENGINE_GONE_LIMIT: Duration = Duration::from_secs(5);

fn id(ask: &Value) -> &str {
    ask["id"].as_str().expect("an ask has an id")
}

fn is_alive(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn an_ask_outlives_the_server_that_took_it_in() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let session = server
        .api()
        .start_and_prompt("TOOL bash: touch survived.txt")
        .await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let engine = server.engine();

    server.kill();
    assert!(is_alive(engine.process), "the engine works on");
    server.restart().await;

    let api = server.api();
    assert_eq!(api.ask(id(&ask)).await["state"], "open");
    api.wait_for_engine().await;
    assert_eq!(server.engine().process, engine.process);
    assert_eq!(server.engine().run, engine.run);
    server.cli(&["allow", id(&ask)]).await.expect_success();
    let settled = api.settled(id(&ask)).await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    let outcome = api.turn_outcome(&session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
    assert!(server.workspace().join("survived.txt").exists());
    assert_eq!(api.alarms().await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_asks_of_a_killed_engine_end_and_another_engine_comes_up() {
    let model = StubModel::start().await;
    let server = TestServer::with_real_opencode(BINARY, &model).await;
    let api = server.api();
    let prompt = "TOOL bash: touch orphaned.txt";
    let mut asks = Vec::new();
    for _ in 0..2 {
        let session = api.start_and_prompt(prompt).await;
        asks.push((api.wait_for_ask_of(&session).await, session));
    }
    let engine = server.engine();

    engine.kill();
    let killed = Clock::System.now();
    for (ask, session) in &asks {
        let over = api.settled(id(ask)).await;
        assert_eq!(over["state"], "withdrawn", "{over}");
        assert_eq!(over["why"], "the engine is gone");
        let ended: Timestamp = serde_json::from_value(over["ended_at"].clone()).unwrap();
        let took = ended.since(killed);
        assert!(took < ENGINE_GONE_LIMIT, "it took {took:?}");
        let late = api.answer(id(ask), &json!({"answer": "allow_once"})).await;
        late.expect(410);
        let outcome = api.turn_outcome(session).await;
        assert_eq!(outcome["outcome"], "failed", "{outcome}");
    }
    eventually(PATIENCE, "another engine comes up", async || {
        let engines = server.engines();
        engines
            .iter()
            .any(|other| other.process != engine.process)
            .then_some(())
    })
    .await;
    api.wait_for_engine().await;
    assert!(!is_alive(engine.keeper), "the keeper went with its engine");

    // The new one works, also in a session of the old one.
    let (_, session) = &asks[0];
    api.prompt(session, prompt).await;
    let again = api.wait_for_ask_of(session).await;
    let taken = api
        .answer(id(&again), &json!({"answer": "allow_once"}))
        .await;
    taken.expect(200);
    assert_eq!(api.settled(id(&again)).await["state"], "delivered");
    assert_eq!(api.turn_outcome(session).await["outcome"], "completed");
    assert!(server.workspace().join("orphaned.txt").exists());
    assert_eq!(api.alarms().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_orderly_stop_leaves_no_process_and_no_open_ask() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let api = server.api().clone();

    // Tools that outlive their command, their session, and even their environment.
    let naps: Vec<String> = (0..4).map(|number| nap(&server, number)).collect();
    let command = format!(
        "sleep {} & setsid sleep {} & (env -i setsid sleep {} &) ; sleep {}",
        naps[0], naps[1], naps[2], naps[3]
    );
    let session = api.start_and_prompt(&format!("TOOL bash: {command}")).await;
    let ask = api.wait_for_ask_of(&session).await;
    let allow = json!({"answer": "allow_once"});
    api.answer(id(&ask), &allow).await.expect(200);
    let sleepers = eventually(PATIENCE, "all tools sleep", async || {
        naps.iter()
            .map(|nap| sleeper(nap))
            .collect::<Option<Vec<u32>>>()
    })
    .await;
    let waiting = api.start_and_prompt("TOOL bash: touch never.txt").await;
    let open = api.wait_for_ask_of(&waiting).await;
    let engine = server.engine();

    server.stop().await;
    for process in sleepers.into_iter().chain([engine.keeper, engine.process]) {
        assert!(!is_alive(process), "{process} is left");
    }
    assert!(!server.data().join("server.json").exists());
    assert!(server.engines().is_empty(), "no run directory is left");

    server.restart().await;
    let over = server.api().ask(id(&open)).await;
    assert_eq!(over["state"], "withdrawn", "{over}");
    assert_eq!(over["why"], "the engine is gone");
    assert!(!server.workspace().join("never.txt").exists());
}

/// A number of seconds that nobody else sleeps for.
fn nap(server: &TestServer, number: usize) -> String {
    let port = server.url();
    let port = port.rsplit(':').next().expect("an address has a port");
    format!("300.{port}{number}")
}

/// The process that sleeps for `nap` seconds.
fn sleeper(nap: &str) -> Option<u32> {
    let wanted = format!("sleep\0{nap}\0");
    let processes = std::fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.find(|process: &u32| {
        let command = std::fs::read(format!("/proc/{process}/cmdline"));
        command.is_ok_and(|command| command == wanted.as_bytes())
    })
}
