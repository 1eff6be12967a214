//! The demo agent as its clients meet it: a process, driven over pipes, whose every message is checked.

mod driver;

use std::path::Path;

use countersign_testkit::eventually;
use serde_json::{Value, json};

use driver::{Driver, Home, PATIENCE, Turn};

const NOTE: &str = "countersign-demo.md";

/// What a client that shows forms and options of both kinds says of itself.
fn with_forms() -> Value {
    json!({ "elicitation": { "form": {} }, "session": { "configOptions": { "boolean": {} } } })
}

/// Selects the first offered option of a kind.
fn select(params: &Value, kind: &str) -> Value {
    let options = params["options"].as_array().expect("options are offered");
    let chosen = options.iter().find(|option| option["kind"] == kind);
    let id = &chosen.expect("an option of that kind is offered")["optionId"];
    json!({ "outcome": { "outcome": "selected", "optionId": id } })
}

/// Answers every ask with the option of `kind`, and every form with "Ahoy".
fn answering(kind: &'static str) -> impl FnMut(&str, &Value) -> Option<Value> {
    move |method, params| {
        Some(match method {
            "session/request_permission" => select(params, kind),
            "elicitation/create" => json!({ "action": "accept", "content": { "answer": "Ahoy" } }),
            other => panic!("`{other}` was not offered"),
        })
    }
}

fn read(directory: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(directory.join(name)).ok()
}

fn is_alive(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // One that only waits to be reaped is dead.
    let state = status.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
    state.is_some_and(|state| state != b'Z')
}

#[test]
fn allowed_it_reads_asks_writes_and_runs_and_says_so() {
    let home = Home::new();
    std::fs::write(home.workspace().join("README.md"), "# Here\n").unwrap();
    let mut agent = Driver::start(&home, &with_forms());
    let session = agent.new_session();
    let turn = agent.prompt(&session, "hello", answering("allow_once"));

    assert_eq!(turn.stop_reason, "end_turn");
    assert_eq!(
        turn.asked,
        [
            "elicitation/create",
            "session/request_permission",
            "session/request_permission"
        ]
    );
    let note = read(home.workspace(), NOTE).unwrap();
    assert!(
        note.ends_with("- Ahoy! Somebody allowed this line.\n"),
        "{note}"
    );
    assert!(turn.thoughts().contains("greeting"));
    let said = turn.words();
    assert!(said.contains("Then it says \"Ahoy\"."), "{said}");
    assert!(said.contains("The note is written."), "{said}");
    assert!(said.contains("The command ran."), "{said}");

    let calls = turn.tool_calls();
    let kinds: Vec<_> = calls.iter().map(|call| &call["kind"]).collect();
    assert_eq!(kinds, ["read", "edit", "execute"]);
    assert!(
        calls.iter().all(|call| call["status"] == "completed"),
        "{calls:?}"
    );
    assert_eq!(calls[0]["rawOutput"]["bytes"], 7);
    assert_eq!(calls[1]["content"][0]["newText"], note.as_str());
    assert_eq!(calls[1]["content"][0].get("oldText"), None);
    assert_eq!(calls[2]["rawInput"]["command"], format!("wc -l {NOTE}"));
    assert_eq!(calls[2]["rawOutput"]["output"], format!("3 {NOTE}\n"));

    let plans = turn.of_kind("plan");
    assert!(plans.len() > 3);
    let last = plans.last().unwrap()["entries"].as_array().unwrap().clone();
    assert!(last.iter().all(|entry| entry["status"] == "completed"));
    assert_eq!(turn.of_kind("usage_update").len(), 1);

    // Once more: now there is a text before.
    let turn = agent.prompt(&session, "again", answering("allow_once"));
    assert_eq!(turn.tool_calls()[1]["content"][0]["oldText"], note.as_str());
}

#[test]
fn denied_it_does_neither_says_so_and_goes_on() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &with_forms());
    let session = agent.new_session();
    let turn = agent.prompt(&session, "hello", answering("reject_once"));

    assert_eq!(turn.stop_reason, "end_turn");
    assert_eq!(read(home.workspace(), NOTE), None);
    let said = turn.words();
    assert!(said.contains("You denied the edit"), "{said}");
    assert!(said.contains("You denied the command"), "{said}");
    let statuses: Vec<_> = turn
        .tool_calls()
        .iter()
        .map(|call| call["status"].clone())
        .collect();
    assert_eq!(statuses, ["completed", "failed", "failed"]);
}

#[test]
fn an_answer_that_makes_no_sense_means_no() {
    let nonsense = [
        json!({ "optionId": "allow-once" }),
        json!({ "outcome": null }),
        json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }),
        json!({ "outcome": { "outcome": "selected" } }),
        json!("allow-once"),
        json!({}),
    ];
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    for answer in nonsense {
        let turn = agent.prompt(&session, "RUN touch ran", |_, _| Some(answer.clone()));
        assert_eq!(turn.stop_reason, "end_turn");
        assert!(turn.words().contains("was denied"), "{answer}");
        assert_eq!(read(home.workspace(), "ran"), None, "{answer}");
    }
}

#[test]
fn a_cancelled_ask_ends_the_turn_as_cancelled() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    let turn = agent.prompt(&session, "EDIT a.txt one\nRUN touch ran", |_, _| {
        Some(json!({ "outcome": { "outcome": "cancelled" } }))
    });
    assert_eq!(turn.stop_reason, "cancelled");
    assert_eq!(turn.asked.len(), 1);
    assert_eq!(turn.tool_calls()[0]["status"], "failed");
    assert_eq!(read(home.workspace(), "a.txt"), None);
}

#[test]
fn a_cancelled_turn_ends_at_once_and_a_late_leave_does_nothing() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    let prompt = agent.begin(&session, "RUN touch ran");
    let ask = agent.until_request("session/request_permission");
    agent.notify("session/cancel", &json!({ "sessionId": session }));
    let turn = agent.finish(&prompt, |_, _| None);
    assert_eq!(turn.stop_reason, "cancelled");

    agent.answer(&ask["id"], &select(&ask["params"], "allow_once"));
    let turn = agent.prompt(&session, "SAY still here", |_, _| None);
    assert!(turn.words().contains("still here"));
    assert_eq!(read(home.workspace(), "ran"), None);
}

#[test]
fn leave_for_the_session_is_asked_once_for_each_kind_of_act() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    let script = "RUN echo 1\nRUN echo 2\nEDIT a.txt one\nEDIT a.txt two";
    let turn = agent.prompt(&session, script, answering("allow_always"));
    assert_eq!(turn.asked.len(), 2);
    assert_eq!(read(home.workspace(), "a.txt").as_deref(), Some("two\n"));

    let other = agent.new_session();
    let turn = agent.prompt(&other, "RUN echo 3", answering("reject_once"));
    assert_eq!(turn.asked.len(), 1, "another session has no leave");
}

#[test]
fn a_question_is_a_form_where_forms_are_shown_and_words_where_not() {
    let home = Home::new();
    let script = "ASK Which colour? | red | blue";
    let mut agent = Driver::start(&home, &with_forms());
    let session = agent.new_session();
    let mut forms = Vec::new();
    let turn = agent.prompt(&session, script, |_, params| {
        forms.push(params["requestedSchema"]["properties"]["answer"].clone());
        Some(json!({ "action": "accept", "content": { "answer": "blue" } }))
    });
    assert!(turn.words().contains("You answered: blue"));
    let offered: Vec<_> = forms[0]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["const"])
        .collect();
    assert_eq!(offered, ["red", "blue"]);

    let turn = agent.prompt(&session, script, |_, _| {
        Some(json!({ "action": "decline" }))
    });
    assert!(turn.words().contains("You declined"));
    let turn = agent.prompt(&session, script, |_, _| Some(json!({ "action": "cancel" })));
    assert_eq!(turn.stop_reason, "cancelled");

    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    let turn = agent.prompt(&session, script, |_, _| None);
    assert!(turn.asked.is_empty());
    assert!(turn.words().contains("- red\n- blue"), "{}", turn.words());
}

#[test]
fn a_session_is_loaded_and_resumed_after_the_agent_was_killed_while_it_asked() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    agent.prompt(&session, "SAY remember PURPLE", |_, _| None);
    let _prompt = agent.begin(&session, "RUN touch ran");
    agent.until_request("session/request_permission");
    agent.kill();

    let mut agent = Driver::start(&home, &json!({}));
    let place = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    let id = agent.request("session/load", &place);
    let (loaded, replayed) = agent.until_response(&id);
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "ask");
    let replay = Turn::of(replayed);
    assert!(replay.words().contains("remember PURPLE"));
    assert_eq!(replay.of_kind("user_message_chunk").len(), 2);
    assert_eq!(replay.tool_calls()[0]["status"], "failed", "it is dead");
    assert_eq!(read(home.workspace(), "ran"), None);

    let turn = agent.prompt(&session, "RUN touch ran", answering("allow_once"));
    assert_eq!(turn.stop_reason, "end_turn");
    assert!(read(home.workspace(), "ran").is_some());

    let listed = agent.call("session/list", &json!({ "cwd": home.workspace() }));
    let sessions = listed["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["title"], "SAY remember PURPLE");
    let elsewhere = agent.call("session/list", &json!({ "cwd": "/" }));
    assert_eq!(elsewhere["sessions"], json!([]));

    agent.call("session/close", &json!({ "sessionId": session }));
    agent.refused(
        "session/prompt",
        &json!({ "sessionId": session, "prompt": [] }),
        -32_002,
    );
    let id = agent.request("session/resume", &place);
    let (resumed, replayed) = agent.until_response(&id);
    assert!(resumed["result"]["configOptions"].is_array());
    assert!(
        Turn::of(replayed).words().is_empty(),
        "a resume replays nothing"
    );
    agent.call("session/delete", &json!({ "sessionId": session }));
    agent.refused("session/load", &place, -32_002);
}

#[test]
fn modes_and_options_are_what_was_set_and_plan_does_nothing() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &with_forms());
    let opened = agent.call(
        "session/new",
        &json!({ "cwd": home.workspace(), "mcpServers": [] }),
    );
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let options = opened["configOptions"].as_array().unwrap();
    let types: Vec<_> = options.iter().map(|option| &option["type"]).collect();
    assert_eq!(types, ["select", "boolean"]);

    let value =
        json!({ "sessionId": session, "configId": "thoughts", "type": "boolean", "value": false });
    let set = agent.call("session/set_config_option", &value);
    assert_eq!(set["configOptions"][1]["currentValue"], false);
    let value = json!({ "sessionId": session, "configId": "pace", "value": "swift" });
    let set = agent.call("session/set_config_option", &value);
    assert_eq!(set["configOptions"][0]["currentValue"], "swift");
    let value = json!({ "sessionId": session, "configId": "pace", "value": "breakneck" });
    agent.refused("session/set_config_option", &value, -32_602);
    let turn = agent.prompt(&session, "hello", answering("reject_once"));
    assert_eq!(turn.thoughts(), "");

    agent.call(
        "session/set_mode",
        &json!({ "sessionId": session, "modeId": "plan" }),
    );
    let mode = json!({ "sessionId": session, "modeId": "bypass" });
    agent.refused("session/set_mode", &mode, -32_602);
    for prompt in ["hello", "RUN touch ran\nEDIT a.txt one\nASK Why?"] {
        let turn = agent.prompt(&session, prompt, |_, _| panic!("nothing is asked"));
        assert!(turn.words().contains("would"), "{}", turn.words());
        assert!(turn.tool_calls().is_empty());
    }
    assert_eq!(read(home.workspace(), "ran"), None);

    let mut agent = Driver::start(&home, &json!({}));
    let opened = agent.call(
        "session/new",
        &json!({ "cwd": home.workspace(), "mcpServers": [] }),
    );
    assert_eq!(opened["configOptions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn it_edits_nothing_outside_and_nothing_that_changed_meanwhile() {
    let home = Home::new();
    let outside = home.workspace().parent().unwrap().join("outside.txt");
    std::os::unix::fs::symlink(&outside, home.workspace().join("link")).unwrap();
    std::fs::write(&outside, "theirs").unwrap();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    let script = "EDIT ../outside.txt mine\nEDIT link mine\nEDIT /etc/motd mine";
    let turn = agent.prompt(&session, script, |_, _| panic!("it does not even ask"));
    assert_eq!(turn.words().matches("I cannot edit").count(), 3);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "theirs");

    let turn = agent.prompt(&session, "EDIT a.txt one", |_, params| {
        std::fs::write(home.workspace().join("a.txt"), "somebody was faster").unwrap();
        Some(select(params, "allow_once"))
    });
    assert_eq!(turn.tool_calls()[0]["status"], "failed");
    let text = read(home.workspace(), "a.txt");
    assert_eq!(text.as_deref(), Some("somebody was faster"));
}

#[test]
fn what_it_does_not_know_or_cannot_do_is_refused_in_the_protocols_terms() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    agent.refused("session/fork", &json!({}), -32_601);
    agent.refused(
        "session/new",
        &json!({ "cwd": "relative", "mcpServers": [] }),
        -32_602,
    );
    agent.refused("session/new", &json!([]), -32_602);
    let nobody = json!({ "sessionId": "../../etc/passwd", "cwd": "/", "mcpServers": [] });
    agent.refused("session/load", &nobody, -32_002);
    agent.write(b"this is no JSON\n\n");
    assert_eq!(agent.next()["error"]["code"], -32_700);
    agent.write(b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"initialize\"}\n");
    assert_eq!(agent.next()["error"]["code"], -32_600);

    let session = agent.new_session();
    let waiting = agent.begin(&session, "WAIT");
    let params =
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "SAY me too" }] });
    agent.refused("session/prompt", &params, -32_600);
    agent.notify("session/cancel", &json!({ "sessionId": session }));
    assert_eq!(agent.finish(&waiting, |_, _| None).stop_reason, "cancelled");
}

#[test]
fn it_explains_itself_and_takes_note_of_a_reason() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    let turn = agent.prompt(&session, "help", |_, _| None);
    assert_eq!(
        turn.words().trim_end(),
        countersign_demo_agent::HELP.trim_end()
    );
    let reason = "`ls` was denied. The reason: not today";
    let turn = agent.prompt(&session, reason, |_, _| None);
    assert!(turn.words().contains("not today"));
    assert!(turn.tool_calls().is_empty());
}

#[test]
fn a_flood_arrives_whole_and_in_order() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    let turn = agent.prompt(&session, "FLOOD 5000", |_, _| None);
    let numbers: Vec<String> = (1..=5000).map(|number: u32| number.to_string()).collect();
    let numbers = numbers.join(" ") + " ";
    assert_eq!(
        turn.words().strip_suffix("These were 5000 pieces.\n\n"),
        Some(&*numbers)
    );
}

/// A command that leaves a child in the background, and says who it is.
const LONG: &str = "RUN sleep 300 & echo $! > pid.part; mv pid.part pid; wait";

async fn child_of_the_command(home: &Home) -> u32 {
    eventually(PATIENCE, "the command says who it is", async || {
        read(home.workspace(), "pid")?.trim().parse().ok()
    })
    .await
}

#[tokio::test]
async fn a_command_ends_with_the_turn_that_is_cancelled() {
    let home = Home::new();
    let mut agent = Driver::start(&home, &json!({}));
    let session = agent.new_session();
    let prompt = agent.begin(&session, LONG);
    let ask = agent.until_request("session/request_permission");
    agent.answer(&ask["id"], &select(&ask["params"], "allow_once"));
    let child = child_of_the_command(&home).await;
    agent.notify("session/cancel", &json!({ "sessionId": session }));
    let turn = agent.finish(&prompt, |_, _| None);
    assert_eq!(turn.stop_reason, "cancelled");
    eventually(PATIENCE, "the command is gone", async || {
        (!is_alive(child)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn when_its_input_ends_or_it_is_told_to_end_nothing_is_left() {
    for by_signal in [false, true] {
        let home = Home::new();
        let mut agent = Driver::start(&home, &json!({}));
        let session = agent.new_session();
        let _prompt = agent.begin(&session, LONG);
        let ask = agent.until_request("session/request_permission");
        agent.answer(&ask["id"], &select(&ask["params"], "allow_once"));
        let child = child_of_the_command(&home).await;
        let status = if by_signal {
            agent.terminate()
        } else {
            agent.hang_up()
        };
        assert!(status.success(), "{status}");
        eventually(PATIENCE, "the command is gone", async || {
            (!is_alive(child)).then_some(())
        })
        .await;
    }
}
