//! ACP agents that do things wrong: every session comes to an end that says what happened, nothing is approved, nobody
//! else waits for it, and neither memory nor a process is left behind.

mod play;
mod table;

use countersign_testkit::hostile_agent::APPROVED;
use countersign_testkit::test_server::{Engine, Setup};
use countersign_testkit::{TestServer, peers};

use play::{Bystander, Memory};
use table::Row;
use tokio::task::LocalSet;

/// How much memory the server may have more than when it was idle, in KiB.
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
    server.stop().await;
}

async fn all_come_to_their_ends(server: &mut TestServer, rows: &'static [Row], at_once: usize) {
    let memory = Memory::watch(server.program().id());
    let bystander = Bystander::work(server.api().clone()).await;
    let wrong = play::all(server.api(), rows, at_once).await;
    bystander.has_worked().await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(server.api().open_asks().await.is_empty());
    let workspace = server.workspace();
    for made in [
        APPROVED,
        "written-unasked.txt",
        "terminal-ran.txt",
        "out/written-outside.txt",
    ] {
        assert!(!workspace.join(made).exists(), "there is a {made}");
    }
    let more = memory.most_above_idle();
    assert!(
        more < MORE,
        "the server took {more} KiB more than when it was idle"
    );
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
#[ignore = "takes minutes in a build that is not optimised"]
async fn floods_of_rows_are_taken_in_with_little_memory() {
    each_comes_to_its_end(table::ROWS, 1).await;
}
