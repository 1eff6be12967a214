//! What agents have their host do when the server or the agent does not stay, and what is not offered.

use countersign_testkit::test_server::{Engine, Setup};
use serde_json::{Value, json};

use crate::stage::{Stage, code};

#[tokio::test]
async fn a_killed_server_loses_neither_an_open_ask_nor_a_command_nor_those_who_wait() {
    let mut stage = Stage::set().await;
    let terminal = stage.run(1, "echo up; exec sleep 1000").await;
    let wait = json!({ "terminalId": terminal });
    stage
        .puppet
        .request(2, "terminal/wait_for_exit", &wait)
        .await;
    stage.want_write(3, "notes.txt", "after the fall").await;
    let before = stage.asked().await;
    stage.server.kill();
    stage.server.restart().await;
    let ask = stage.asked().await;
    assert_eq!(ask["id"], before["id"], "it is the same ask");
    let again = stage.run(4, "echo more").await;
    assert_ne!(again, terminal);
    let open = stage.server.api().open_asks().await;
    assert_eq!(open.len(), 1, "{open:#?}");
    stage.allow(&ask).await;
    assert!(stage.puppet.response(3).await.get("error").is_none());
    assert_eq!(stage.content("notes.txt"), "after the fall");
    let output = stage.terminal(5, "output", &terminal).await;
    assert_eq!(output["result"]["output"], "up\n");
    assert!(!stage.puppet.has_heard(2));
    stage.terminal(6, "kill", &terminal).await;
    let ended = stage.puppet.response(2).await;
    assert_eq!(ended["result"]["signal"], "SIGTERM", "{ended}");
    stage.end().await;
}

#[tokio::test]
async fn an_answer_that_is_given_while_no_server_runs_its_act_is_done_once() {
    let mut stage = Stage::set().await;
    stage.want_run(1, "echo ran >> ran.txt").await;
    let ask = stage.asked().await;
    let id = ask["id"].as_str().expect("it has an id").to_owned();
    let answer = json!({ "answer": "allow_once" });
    stage.server.api().answer(&id, &answer).await.expect(200);
    // Killed on the heels of the answer, wherever it is on its way.
    stage.server.kill();
    stage.server.restart().await;
    let settled = stage.server.api().settled(&id).await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    let created = stage.puppet.response(1).await;
    let terminal = created["result"]["terminalId"]
        .as_str()
        .expect("it ran")
        .to_owned();
    stage.terminal(2, "wait_for_exit", &terminal).await;
    assert_eq!(stage.content("ran.txt"), "ran\n");
    stage.end().await;
}

#[tokio::test]
async fn the_demo_agent_has_its_host_do_what_it_was_allowed() {
    let setup = Setup {
        engine_settings: "[[agents]]\nname = 'demo'\n\
             capabilities = { files = 'read_write', terminal = true, questions = 'forms' }\n"
            .to_owned(),
        files: vec![("README.md".to_owned(), "Read me.\n".to_owned())],
        ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
    };
    let mut server = setup.start().await;
    let session = server.api().start_session_with("demo").await;
    let prompt = "EDIT made.txt something\nRUN wc -l made.txt\nRUN false\nRUN sleep 1000";
    server.api().prompt(&session, prompt).await;
    for _ in 0..3 {
        let ask = server.api().wait_for_ask_of(&session).await;
        let id = ask["id"].as_str().expect("it has an id");
        let answer = json!({ "answer": "allow_once" });
        server.api().answer(id, &answer).await.expect(200);
        server.api().settled(id).await;
    }
    let ask = server.api().wait_for_ask_of(&session).await;
    let id = ask["id"].as_str().expect("it has an id");
    let denial = json!({ "answer": "deny" });
    server.api().answer(id, &denial).await.expect(200);
    let outcome = server.api().turn_outcome(&session).await;
    assert_eq!(outcome["outcome"], "completed");
    let made = std::fs::read_to_string(server.workspace().join("made.txt"));
    assert_eq!(made.expect("it was written"), "something\n");
    let path = format!("/api/v1/asks?session={session}");
    let asks = server.api().get(&path).await;
    assert_eq!(
        asks["asks"].as_array().map(Vec::len),
        Some(4),
        "each was asked once"
    );
    let items = server.api().items(&session).await;
    let of =
        |tool: &str| -> Vec<&Value> { items.iter().filter(|item| item["tool"] == tool).collect() };
    assert_eq!(of("fs/write_text_file").len(), 1, "{items:#?}");
    let commands = of("terminal/create");
    assert_eq!(commands.len(), 2, "{items:#?}");
    assert!(
        commands[0]["output"]
            .as_str()
            .is_some_and(|said| said.contains("1 made.txt"))
    );
    assert_eq!(commands[1]["status"], "failed");
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_offered_is_not_known() {
    let mut stage = Stage::with("{ files = 'read' }").await;
    let path = stage.path("notes.txt");
    let read = stage.read(1, json!({ "path": path })).await;
    assert_eq!(read["result"]["content"], "one\ntwo\nthree\n");
    stage.want_write(2, "notes.txt", "x").await;
    assert_eq!(code(&stage.puppet.response(2).await), -32601);
    stage.want_run(3, "ls").await;
    assert_eq!(code(&stage.puppet.response(3).await), -32601);
    for (id, method) in (4..).zip(["output", "wait_for_exit", "kill", "release"]) {
        assert_eq!(
            code(&stage.terminal(id, method, "terminal-1").await),
            -32601
        );
    }
    stage.no_ask().await;
    stage.end().await;
}
