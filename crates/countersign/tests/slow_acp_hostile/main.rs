//! ACP agents that do things wrong: every session comes to an end that says what happened, nothing is approved, nobody
//! else waits for it, and neither memory nor a process is left behind.

mod memory;
mod play;
mod table;

use countersign_testkit::hostile_agent::{APPROVED, COMMAND};
use countersign_testkit::test_server::{Engine, Setup};
use countersign_testkit::{TestServer, peers};

use memory::Memory;
use play::Bystander;
use serde_json::{Value, json};
use table::Row;
use tokio::task::LocalSet;

/// How much memory the server may have more than when it was idle, and each keeper at all, in KiB.
const MORE: u64 = 64 * 1024;

/// What agents are offered where it does not matter.
const LITTLE: &str = "{}";
/// Everything that an agent can be offered.
const EVERYTHING: &str = "{ files = 'read_write', terminal = true, questions = 'forms_and_links' }";

/// A server that has the hostile agent in each of these modes, under the name of the mode.
async fn server(rows: &[Row], capabilities: &str) -> TestServer {
    let program = peers::hostile_agent();
    let agents = rows.iter().map(|row| {
        let (name, program) = (row.mode.name(), program.display());
        format!(
            "[[agents]]\nname = '{name}'\ncommand = '{program}'\nargs = ['{name}']\n\
             capabilities = {capabilities}\n"
        )
    });
    let setup = Setup {
        engine_settings: agents.collect(),
        ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
    };
    setup.start().await
}

/// Plays the modes, `at_once` of them at a time.
async fn each_comes_to_its_end(rows: &'static [Row], at_once: usize) {
    each_comes_to_its_end_with(rows, at_once, LITTLE).await;
}

async fn each_comes_to_its_end_with(rows: &'static [Row], at_once: usize, capabilities: &str) {
    let mut server = server(rows, capabilities).await;
    LocalSet::new()
        .run_until(all_come_to_their_ends(&mut server, rows, at_once))
        .await;
    nothing_was_approved(&server);
    server.stop().await;
}

/// Plays the modes in a workspace with a rule that allows `command`, and returns what was allowed, line by line.
async fn with_a_rule(rows: &'static [Row], command: &str) -> Vec<Value> {
    let mut server = server(rows, LITTLE).await;
    allow(&server, command).await;
    let wrong = LocalSet::new()
        .run_until(play::all(server.api(), rows, 4))
        .await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    server.stop().await;
    let approved = std::fs::read_to_string(server.workspace().join(APPROVED));
    let approved = approved.unwrap_or_default();
    let lines = approved.lines().map(serde_json::from_str);
    lines.map(|line| line.expect("it is a message")).collect()
}

async fn all_come_to_their_ends(server: &mut TestServer, rows: &'static [Row], at_once: usize) {
    let memory = Memory::watch(server.program().id(), server.data());
    let bystander = Bystander::work(server.api().clone()).await;
    let wrong = play::all(server.api(), rows, at_once).await;
    bystander.has_worked().await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(server.api().open_asks().await.is_empty());
    let most = memory.most();
    assert!(most.server < MORE && most.keeper < MORE, "{most:?}");
}

/// Panics if an agent was allowed anything, or took it.
fn nothing_was_approved(server: &TestServer) {
    let workspace = server.workspace();
    for made in [
        APPROVED,
        "written-unasked.txt",
        "terminal-ran.txt",
        "out/written-outside.txt",
    ] {
        assert!(!workspace.join(made).exists(), "there is a {made}");
    }
}

/// Makes a rule that allows a command.
async fn allow(server: &TestServer, command: &str) {
    let rule = json!({
        "tool": "shell", "verdict": "allow", "match": "exact", "targets": [command],
    });
    let made = server.api().post("/api/v1/rules", &rule).await;
    made.expect(201);
}

#[tokio::test]
async fn lines_that_are_no_messages_are_counted_and_the_rest_is_read() {
    each_comes_to_its_end(table::LINES, 6).await;
}

#[tokio::test]
async fn words_that_the_protocol_does_not_know_approve_nothing() {
    each_comes_to_its_end(table::WORDS, 6).await;
}

#[tokio::test]
async fn deaths_and_misdeeds_end_only_what_they_belong_to() {
    each_comes_to_its_end(table::DEEDS, 6).await;
}

#[tokio::test]
async fn what_is_offered_is_reached_for_in_vain() {
    each_comes_to_its_end_with(table::REACH, 4, EVERYTHING).await;
}

#[tokio::test]
async fn silence_is_waited_for_only_so_long() {
    each_comes_to_its_end(table::SILENCE, 8).await;
}

#[tokio::test]
async fn lines_that_never_end_are_left_out_with_little_memory() {
    each_comes_to_its_end(table::LENGTH, 2).await;
}

#[tokio::test]
async fn floods_are_taken_in_with_little_memory() {
    each_comes_to_its_end(table::FLOODS, 2).await;
}

#[tokio::test]
async fn floods_of_rows_are_taken_in_with_little_memory() {
    each_comes_to_its_end(table::ROWS, 2).await;
}

#[tokio::test]
async fn what_a_person_has_to_look_at_is_allowed_by_no_rule() {
    let allowed = with_a_rule(table::DESPITE_A_RULE, COMMAND).await;
    assert_eq!(allowed, [Value::Null; 0]);
    let allowed = with_a_rule(table::AFTER_THE_CANCEL, "echo after the cancel").await;
    assert_eq!(allowed, [Value::Null; 0]);
}

#[tokio::test]
async fn what_a_rule_allows_is_allowed_once_and_for_this_time() {
    let allowed = with_a_rule(table::BY_A_RULE, COMMAND).await;
    let mut picked: Vec<&str> = allowed
        .iter()
        .filter_map(|reply| reply["result"]["outcome"]["optionId"].as_str())
        .collect();
    picked.sort_unstable();
    // Once for each mode, whatever the option is called.
    assert_eq!(picked, ["reject_once", "yes", "yes", "yes", "yes"]);
}
