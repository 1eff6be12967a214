//! The proxy between an editor and its ACP agent: everything passes, and whoever answers first wins.

mod bytes;
mod editor;
mod ends;
mod trust;

use std::time::Duration;

use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};

use editor::{BINARY, Editor, Setting, is_made};

async fn server() -> TestServer {
    Setup::new(BINARY, Engine::None).start().await
}

async fn open(server: &TestServer) -> Editor {
    Setting::of(server).open().await
}

fn id(thing: &Value) -> &str {
    thing["id"].as_str().expect("it has an id")
}

async fn open_ask(server: &TestServer) -> Value {
    let api = server.api();
    api.wait_for_ask("the ask is handed in", |_| true).await
}

async fn allow(server: &TestServer, ask: &Value) -> Value {
    let allow = json!({ "answer": "allow_once" });
    server.api().answer(id(ask), &allow).await.expect(200);
    server.api().settled(id(ask)).await
}

#[tokio::test]
async fn an_answer_from_here_reaches_the_agent_and_closes_the_editors_dialog() {
    let mut server = server().await;
    let mut editor = open(&server).await;
    let prompt = editor.prompt("RUN echo done > made.txt").await;
    let request = editor.asked().await;
    let ask = open_ask(&server).await;
    assert_eq!(ask["door"], "acp_proxy");
    assert_eq!(ask["summary"], "echo done > made.txt");
    assert_eq!(ask["requester"], "Countersign demo agent");
    let offered = request["params"]["options"].as_array().unwrap();
    let names = |options: &Value, key: &str| -> Vec<Value> {
        let options = options.as_array().unwrap();
        options.iter().map(|option| option[key].clone()).collect()
    };
    assert_eq!(
        names(&ask["options"], "id"),
        names(&json!(offered), "optionId")
    );

    let settled = allow(&server, &ask).await;
    assert_eq!(settled["state"], "delivered", "{settled:#}");
    assert_eq!(settled["delivery"]["evidence"]["kind"], "reported_written");
    editor.dialog_is_closed(&request).await;
    // The editor answers all the same, as it has to; nobody hears it.
    editor.pick(&request, "reject").await;
    let ended = editor.response_to(prompt).await;
    assert_eq!(ended["result"]["stopReason"], "end_turn");
    assert!(is_made(server.workspace(), "made.txt"));

    let session = server.api().session(ask["session"].as_str().unwrap()).await;
    assert_eq!(session["title"], "RUN echo done > made.txt");
    assert_eq!(session["may_prompt"], false);
    let path = format!("/api/v1/sessions/{}/prompt", id(&session));
    let wish = json!({ "text": "SAY hello" });
    server.api().post(&path, &wish).await.expect(422);

    assert_eq!(editor.close().await, Some(0));
    let replies = editor.replies_to(&request["id"]);
    assert_eq!(replies.len(), 1, "{replies:#?}");
    assert_eq!(replies[0]["result"]["outcome"]["optionId"], "allow-once");
    editor.check_proxys_own(2);
    assert!(server.api().alarms().await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn a_denial_from_here_is_the_agents_refusal_and_nothing_runs() {
    let server = server().await;
    let mut editor = open(&server).await;
    let prompt = editor.prompt("RUN touch never.txt").await;
    let request = editor.asked().await;
    let ask = open_ask(&server).await;
    let denied = server.cli(&["deny", id(&ask), "--reason", "not now"]).await;
    let said = &denied.expect_success().stdout;
    assert!(
        said.contains("the agent does not get to read the reason"),
        "{said}"
    );
    editor.response_to(prompt).await;
    assert!(!is_made(server.workspace(), "never.txt"));
    editor.close().await;
    let replies = editor.replies_to(&request["id"]);
    assert_eq!(replies[0]["result"]["outcome"]["optionId"], "reject");
    assert!(!editor.tape("to_agent").contains("not now"));
}

#[tokio::test]
async fn an_answer_in_the_editor_ends_the_ask_here_and_says_so() {
    let server = server().await;
    let mut editor = open(&server).await;
    let prompt = editor.prompt("RUN echo done > made.txt").await;
    let request = editor.asked().await;
    let ask = open_ask(&server).await;
    editor.pick(&request, "allow-once").await;
    let settled = server.api().settled(id(&ask)).await;
    assert_eq!(settled["state"], "withdrawn");
    assert_eq!(
        settled["why"],
        "it was answered in the editor, with `Allow`"
    );
    editor.response_to(prompt).await;
    assert!(is_made(server.workspace(), "made.txt"));
    let late = json!({ "answer": "deny" });
    server.api().answer(id(&ask), &late).await.expect(410);
    assert!(server.api().alarms().await.is_empty());
    editor.close().await;
    editor.check_proxys_own(0);
}

#[tokio::test]
async fn a_question_is_answered_from_here_with_a_choice() {
    let server = server().await;
    let mut editor = open(&server).await;
    let prompt = editor.prompt("ASK Which colour? | red | blue").await;
    let request = editor.asked().await;
    let ask = open_ask(&server).await;
    assert_eq!(ask["subject"]["kind"], "question");
    let answer = json!({ "answer": "choices", "choices": [["blue"]] });
    server.api().answer(id(&ask), &answer).await.expect(200);
    assert_eq!(server.api().settled(id(&ask)).await["state"], "delivered");
    editor.dialog_is_closed(&request).await;
    editor.response_to(prompt).await;
    editor.close().await;
    assert!(editor.tape("from_agent").contains("blue"));
    editor.check_proxys_own(2);
}

#[tokio::test]
async fn a_rule_answers_before_the_editor_can() {
    let server = server().await;
    let mut editor = open(&server).await;
    let first = editor.prompt("RUN echo again >> made.txt").await;
    editor.asked().await;
    let ask = open_ask(&server).await;
    let always = json!({ "answer": "allow_always", "scope": "workspace" });
    server.api().answer(id(&ask), &always).await.expect(200);
    editor.response_to(first).await;
    let second = editor.prompt("RUN echo again >> made.txt").await;
    let request = editor.asked().await;
    editor.dialog_is_closed(&request).await;
    editor.response_to(second).await;
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "again\nagain\n");
}

#[tokio::test]
async fn of_two_who_answer_at_once_one_wins_and_the_agent_hears_one() {
    let server = server().await;
    let mut editor = open(&server).await;
    let (mut here, mut there) = (0, 0);
    // How long the editor hesitates: it is moved to where both are equally fast.
    let mut hesitation = Duration::from_millis(1);
    for round in 0..60 {
        let prompt = editor.prompt(&format!("RUN touch round-{round}.txt")).await;
        let request = editor.asked().await;
        let ask = open_ask(&server).await;
        let deny = json!({ "answer": "deny" });
        let theirs = async {
            tokio::time::sleep(hesitation).await;
            editor.pick(&request, "allow-once").await;
        };
        let (answered, ()) = tokio::join!(server.api().answer(id(&ask), &deny), theirs);
        editor.response_to(prompt).await;
        let settled = server.api().settled(id(&ask)).await;
        let replies = editor.replies_to(&request["id"]);
        assert_eq!(replies.len(), 1, "round {round}: {replies:#?}");
        let was_allowed = replies[0]["result"]["outcome"]["optionId"] == "allow-once";
        let is_made = is_made(server.workspace(), &format!("round-{round}.txt"));
        assert_eq!(is_made, was_allowed, "round {round}");
        if was_allowed {
            there += 1;
            hesitation *= 2;
            let over = ["withdrawn", "undeliverable"].map(Value::from);
            assert!(over.contains(&settled["state"]), "{settled:#}");
            assert!(settled["why"].as_str().unwrap().contains("in the editor"));
        } else {
            here += 1;
            hesitation /= 2;
            assert_eq!(settled["state"], "delivered", "{settled:#}");
            answered.expect(200);
        }
    }
    assert!(here > 0 && there > 0, "{here} here, {there} in the editor");
}

#[tokio::test]
async fn a_turn_that_is_cancelled_in_the_editor_withdraws_the_ask() {
    let server = server().await;
    let mut editor = open(&server).await;
    let prompt = editor.prompt("RUN touch never.txt").await;
    let request = editor.asked().await;
    let ask = open_ask(&server).await;
    editor.cancel().await;
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    editor.reply(&request, cancelled).await;
    let settled = server.api().settled(id(&ask)).await;
    assert_eq!(settled["state"], "withdrawn");
    assert_eq!(settled["why"], "the turn was cancelled");
    let ended = editor.response_to(prompt).await;
    assert_eq!(ended["result"]["stopReason"], "cancelled");
    assert!(!is_made(server.workspace(), "never.txt"));
    editor.close().await;
    assert_eq!(editor.replies_to(&request["id"]).len(), 1);
    editor.check_proxys_own(0);
}

#[tokio::test]
async fn an_ask_outlives_a_server_that_is_killed_and_is_answered_by_the_next_one() {
    let mut server = server().await;
    let mut editor = open(&server).await;
    let prompt = editor.prompt("RUN echo once >> made.txt").await;
    let request = editor.asked().await;
    let ask = open_ask(&server).await;
    server.kill();
    server.restart().await;
    assert_eq!(id(&open_ask(&server).await), id(&ask));
    let settled = allow(&server, &ask).await;
    assert_eq!(settled["state"], "delivered");
    editor.dialog_is_closed(&request).await;
    editor.response_to(prompt).await;
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "once\n");
    assert_eq!(editor.replies_to(&request["id"]).len(), 1);
}

#[tokio::test]
async fn an_answer_that_a_killed_server_had_accepted_is_brought_by_the_next_one() {
    let mut server = server().await;
    let mut editor = open(&server).await;
    let prompt = editor.prompt("RUN echo once >> made.txt").await;
    let request = editor.asked().await;
    let ask = open_ask(&server).await;
    let allow = json!({ "answer": "allow_once" });
    server.api().answer(id(&ask), &allow).await.expect(200);
    server.kill();
    server.restart().await;
    editor.response_to(prompt).await;
    assert_eq!(server.api().settled(id(&ask)).await["state"], "delivered");
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "once\n");
    assert_eq!(editor.replies_to(&request["id"]).len(), 1);
}

#[tokio::test]
async fn without_a_server_the_editor_answers_and_what_is_open_is_handed_in_when_there_is_one() {
    let mut server = server().await;
    server.kill();
    let mut editor = open(&server).await;
    let prompt = editor.prompt("RUN touch first.txt").await;
    let request = editor.asked().await;
    editor.pick(&request, "allow-once").await;
    editor.response_to(prompt).await;
    assert!(is_made(server.workspace(), "first.txt"));
    let log = editor.log();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("answered in the editor alone"), "{log}");

    let prompt = editor.prompt("RUN touch second.txt").await;
    editor.asked().await;
    server.restart().await;
    let ask = open_ask(&server).await;
    assert_eq!(ask["summary"], "touch second.txt");
    allow(&server, &ask).await;
    editor.response_to(prompt).await;
    assert!(is_made(server.workspace(), "second.txt"));
    eventually(PATIENCE, "it says that the server is there", async || {
        editor.log().contains("the server is there").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_folder_in_no_workspace_is_the_editors_alone() {
    let server = server().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let setting = Setting {
        directory: elsewhere.path().to_owned(),
        ..Setting::of(&server)
    };
    let mut editor = setting.open().await;
    let prompt = editor.prompt("RUN touch made.txt").await;
    let request = editor.asked().await;
    eventually(PATIENCE, "it says why", async || {
        editor.log().contains("in no workspace").then_some(())
    })
    .await;
    editor.pick(&request, "allow-once").await;
    editor.response_to(prompt).await;
    assert!(is_made(elsewhere.path(), "made.txt"));
    assert!(server.api().open_asks().await.is_empty());
}

#[tokio::test]
async fn an_agent_that_changes_what_it_asks_for_asks_anew() {
    let server = server().await;
    let update = |command: &str| {
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "call", "kind": "execute",
            "rawInput": { "command": command } });
        let params = json!({ "sessionId": "s", "update": call });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
    };
    let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    let params =
        json!({ "sessionId": "s", "toolCall": { "toolCallId": "call" }, "options": options });
    let request = json!({ "jsonrpc": "2.0", "id": "r", "method": "session/request_permission",
        "params": params });
    // It says the second part once it has heard a line.
    let agent = format!(
        "echo '{}'; echo '{request}'; read -r go; echo '{}'; cat",
        update("ls"),
        update("rm -r .")
    );
    let (_tapes, mut editor) = Setting::of(&server).start(&agent);
    let first = open_ask(&server).await;
    assert_eq!(first["summary"], "ls");
    editor.send(&json!("go")).await;
    let over = server.api().settled(id(&first)).await;
    assert_eq!(
        over["why"],
        "the agent changed what it asks for, and asks anew"
    );
    let second = open_ask(&server).await;
    assert_eq!(second["summary"], "rm -r .");
    allow(&server, &second).await;
    let told = editor
        .next_that(|message| message.get("result").is_some())
        .await;
    assert_eq!(told["id"], "r");
    assert_eq!(told["result"]["outcome"]["optionId"], "yes");
    editor.close().await;
}
