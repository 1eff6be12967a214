//! The server is killed ten times over a real opencode that works on behind its keeper: what was accepted happened,
//! once, and what was denied did not.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use countersign_testkit::test_server::PATIENCE;
use countersign_testkit::{Seed, StubModel, TestServer, eventually};
use rand::RngExt as _;
use serde_json::Value;

use clients::{Clients, Weather};
use history::Outcome;

#[path = "kill_loop/clients.rs"]
mod clients;
#[path = "kill_loop/history.rs"]
mod history;
#[path = "kill_loop/ledger.rs"]
mod ledger;

const KILLS: usize = 10;
const CLIENTS: usize = 3;
const SESSIONS: usize = 3;
/// How many commands a session runs, one after the other.
const COMMANDS: usize = 20;
/// The most answers in the life of a server.
const MOST_ANSWERS: usize = 4;
/// The longest a server goes on after them.
const LONGEST_REST: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_ten_kills_over_one_real_engine_lose_nothing_and_run_nothing_twice() {
    let seed = Seed::take();
    let model = StubModel::start().await;
    let binary = env!("CARGO_BIN_EXE_countersign");
    let mut server = TestServer::with_real_opencode(binary, &model).await;
    let engine = server.engine();
    let mut sessions = Vec::new();
    for session in 0..SESSIONS {
        let lines = (0..COMMANDS).map(|number| format!("TOOL bash: {}", command(session, number)));
        let prompt = lines.collect::<Vec<_>>().join("\n");
        sessions.push(server.api().start_and_prompt(&prompt).await);
    }
    let mut clients = Clients::send_out(server.api(), &server.url(), seed, CLIENTS, 15).await;

    kill_again_and_again(&mut server, &mut clients, seed).await;

    for session in &sessions {
        server.api().turn_outcome(session).await;
    }
    ledger::wait_until_all_is_settled(server.api()).await;
    clients.go_home().await;
    let asks = ledger::all_asks(server.api()).await;
    let events = ledger::all_events(server.api()).await;
    let accepted = clients
        .history
        .count(|outcome| matches!(outcome, Outcome::Accepted));
    let unknown = clients
        .history
        .count(|outcome| matches!(outcome, Outcome::Unknown));
    eprintln!(
        "{KILLS} kills, {} asks, {} answers tried, {accepted} accepted, {unknown} unknown",
        asks.len(),
        clients.history.len()
    );
    let mut wrong = clients.history.contradictions(&asks);
    wrong.extend(ledger::impossible_events(&events, &asks));
    wrong.extend(untrue_ends(&asks, server.workspace()));
    let alarms = server.api().alarms().await;
    wrong.extend(alarms.iter().map(|alarm| format!("a false alarm: {alarm}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        asks.len(),
        SESSIONS * COMMANDS,
        "every command was asked for"
    );
    assert_eq!(
        server.engine().process,
        engine.process,
        "the engine lives on"
    );
    server.cli(&["audit", "verify"]).await.expect_success();
    server.stop().await;
}

fn command(session: usize, number: usize) -> String {
    format!("echo {session}-{number} >> ran.txt")
}

async fn kill_again_and_again(server: &mut TestServer, clients: &mut Clients, seed: Seed) {
    let mut dice = seed.dice("kills");
    let mut checked = 0;
    for kill in 1..=KILLS {
        let accepted = || {
            clients
                .history
                .count(|outcome| matches!(outcome, Outcome::Accepted))
        };
        let enough = accepted() + dice.random_range(1..=MOST_ANSWERS);
        eventually(PATIENCE, "answers are accepted", async || {
            (accepted() >= enough).then_some(())
        })
        .await;
        tokio::time::sleep(LONGEST_REST.mul_f64(dice.random::<f64>())).await;
        clients.assert_well();
        server.kill();
        clients.tell(Weather::Down);
        server.restart().await;
        for attempt in clients.history.since(checked) {
            checked += 1;
            let ask = server.api().ask(&attempt.ask).await;
            assert_eq!(
                history::contradiction(&attempt, &ask),
                None,
                "after {kill} kills"
            );
        }
        clients.tell(Weather::Up);
    }
}

/// Compares how the ledger says that each ask ended with what really ran.
fn untrue_ends(asks: &[Value], workspace: &Path) -> Vec<String> {
    let ran = std::fs::read_to_string(workspace.join("ran.txt")).unwrap_or_default();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for line in ran.lines() {
        *times.entry(format!("echo {line} >> ran.txt")).or_default() += 1;
    }
    let is_untrue = |ask: &&Value| {
        let command = ask["raw"]["metadata"]["command"]
            .as_str()
            .unwrap_or_default();
        let ran = times.get(command).copied().unwrap_or_default();
        match (ask["state"].as_str(), ask["answer"]["answer"].as_str()) {
            (Some("delivered"), Some("allow_once")) => ran != 1,
            (Some("delivered"), Some("deny")) => ran != 0,
            _ => true,
        }
    };
    asks.iter()
        .filter(is_untrue)
        .map(|ask| format!("{ran:?} shows otherwise: {ask}"))
        .collect()
}
