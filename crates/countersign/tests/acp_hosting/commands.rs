//! Commands that agents have their host run: with leave, within limits, and ended with whoever wanted them.

use std::os::unix::fs::symlink;

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::stage::{DENIED, NOT_FOUND, Stage, code};

#[tokio::test]
async fn a_command_runs_once_it_is_allowed_and_is_looked_after() {
    let mut stage = Stage::set().await;
    let command = "echo hello; echo $EXTRA; pwd; env | grep -c COUNTERSIGN_TOKEN; exec cat fifo";
    let mut mkfifo = std::process::Command::new("mkfifo");
    let made = mkfifo.arg(stage.path("fifo")).status();
    assert!(made.expect("it can be started").success());
    std::fs::create_dir(stage.path("sub")).expect("it can be made");
    symlink("../fifo", stage.path("sub/fifo")).expect("a link can be made");
    let params = json!({
        "command": command, "cwd": stage.path("sub"),
        "env": [{ "name": "EXTRA", "value": "more" }],
    });
    stage.puppet.request(1, "terminal/create", &params).await;
    let ask = stage.asked().await;
    assert_eq!(ask["subject"]["tool"], "shell");
    let beginning = format!("{command} (in /");
    assert!(ask["summary"].as_str().unwrap().starts_with(&beginning));
    let shown = ask["subject"]["shown"].to_string();
    assert!(
        shown.contains("EXTRA=more") && shown.contains("/sub"),
        "{shown}"
    );
    stage.allow(&ask).await;
    let terminal = stage.puppet.response(1).await["result"]["terminalId"].clone();
    let terminal = terminal.as_str().expect("it has an id").to_owned();
    // Waiting does not keep output from being read.
    let wait = json!({ "terminalId": terminal });
    stage
        .puppet
        .request(2, "terminal/wait_for_exit", &wait)
        .await;
    let mut id = 10;
    let said = loop {
        id += 1;
        let output = stage.terminal(id, "output", &terminal).await;
        let said = output["result"]["output"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if said.ends_with("0\n") {
            assert!(
                output["result"]
                    .get("exitStatus")
                    .is_none_or(Value::is_null),
                "{output}"
            );
            assert_eq!(output["result"]["truncated"], false);
            break said;
        }
    };
    let sub = stage.path("sub").display().to_string();
    assert_eq!(said, format!("hello\nmore\n{sub}\n0\n"));
    assert!(!stage.puppet.has_heard(2));
    std::fs::write(stage.path("fifo"), "end\n").expect("it can be written");
    let ended = stage.puppet.response(2).await;
    assert_eq!(ended["result"]["exitCode"], 0, "{ended}");
    let output = stage.terminal(3, "output", &terminal).await;
    assert!(
        output["result"]["output"]
            .as_str()
            .is_some_and(|said| said.ends_with("end\n"))
    );
    assert_eq!(output["result"]["exitStatus"]["exitCode"], 0);
    assert!(
        stage
            .terminal(4, "release", &terminal)
            .await
            .get("error")
            .is_none()
    );
    for (id, method) in (5..).zip(["output", "wait_for_exit", "kill", "release"]) {
        let unknown = stage.terminal(id, method, &terminal).await;
        assert_eq!(code(&unknown), NOT_FOUND, "{method}");
    }
    let items = stage.items("terminal/create").await;
    assert_eq!((items.len(), &items[0]["status"]), (1, &json!("completed")));
    assert!(
        items[0]["output"]
            .as_str()
            .is_some_and(|said| said.ends_with("end\n"))
    );
    stage.end().await;
}

#[tokio::test]
async fn a_command_that_was_just_allowed_runs_without_a_second_ask_and_no_other() {
    let mut stage = Stage::set().await;
    let call = json!({
        "toolCallId": "c1", "kind": "execute", "status": "pending",
        "rawInput": { "command": "echo ran >> ran.txt" },
    });
    let ask = stage.ask_leave(100, &call).await;
    stage.allow(&ask).await;
    stage.puppet.response(100).await;
    stage.want_run(1, "echo ran >> ran.txt; echo more").await;
    let ask = stage.asked().await;
    let denial = json!({ "answer": "deny", "reason": "only what was said" });
    stage.answer(&ask, denial).await;
    let denied = stage.puppet.response(1).await;
    assert_eq!(code(&denied), DENIED);
    assert!(denied.to_string().contains("only what was said"));
    stage.want_run(2, "echo ran >> ran.txt").await;
    let terminal = stage.puppet.response(2).await["result"]["terminalId"].clone();
    let terminal = terminal.as_str().expect("it runs").to_owned();
    stage.terminal(3, "wait_for_exit", &terminal).await;
    assert_eq!(stage.content("ran.txt"), "ran\n");
    stage.want_run(4, "echo ran >> ran.txt").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(4).await), DENIED);
    assert_eq!(stage.content("ran.txt"), "ran\n");
    stage.end().await;
}

#[tokio::test]
async fn killing_is_not_releasing_and_a_limit_keeps_the_end_of_the_output() {
    let mut stage = Stage::set().await;
    let params = json!({
        "command": "printf '%s' 'aaaa€€€'; exec sleep 1000", "outputByteLimit": 7,
    });
    stage.puppet.request(1, "terminal/create", &params).await;
    let ask = stage.asked().await;
    stage.allow(&ask).await;
    let terminal = stage.puppet.response(1).await["result"]["terminalId"].clone();
    let terminal = terminal.as_str().expect("it runs").to_owned();
    let mut id = 10;
    loop {
        id += 1;
        let output = stage.terminal(id, "output", &terminal).await;
        if output["result"]["truncated"] == true {
            assert_eq!(output["result"]["output"], "€€");
            break;
        }
    }
    assert!(
        stage
            .terminal(2, "kill", &terminal)
            .await
            .get("error")
            .is_none()
    );
    let ended = stage.terminal(3, "wait_for_exit", &terminal).await;
    assert_eq!(ended["result"]["signal"], "SIGTERM", "{ended}");
    let output = stage.terminal(4, "output", &terminal).await;
    assert_eq!(output["result"]["output"], "€€");
    let other = stage.run(5, "exec sleep 1000").await;
    assert!(
        stage
            .terminal(6, "release", &other)
            .await
            .get("error")
            .is_none()
    );
    assert_eq!(code(&stage.terminal(7, "output", &other).await), NOT_FOUND);
    stage.end().await;
}

#[tokio::test]
async fn the_commands_of_a_cancelled_turn_end_and_those_who_wait_are_told() {
    let mut stage = Stage::set().await;
    let terminal = stage.run(1, "setsid sleep 1000 & exec sleep 1001").await;
    let wait = json!({ "terminalId": terminal });
    stage
        .puppet
        .request(2, "terminal/wait_for_exit", &wait)
        .await;
    stage.want_write(3, "notes.txt", "never").await;
    let ask = stage.asked().await;
    let path = format!("/api/v1/sessions/{}/cancel", stage.session);
    stage.server.api().post(&path, &json!({})).await.expect(200);
    let id = ask["id"].as_str().expect("it has an id");
    assert_eq!(stage.server.api().settled(id).await["state"], "withdrawn");
    assert_eq!(code(&stage.puppet.response(3).await), -32800);
    let ended = stage.puppet.response(2).await;
    assert!(ended["result"]["signal"].is_string(), "{ended}");
    let turn = stage.turn.clone();
    stage.puppet.end_turn(&turn, "cancelled").await;
    let outcome = stage.server.api().turn_outcome(&stage.session).await;
    assert_eq!(outcome["outcome"], "cancelled");
    let left = eventually(PATIENCE, "the commands are gone", async || {
        let table = std::process::Command::new("pgrep")
            .args(["-f", "sleep 100[01]"])
            .output();
        let pids = String::from_utf8(table.ok()?.stdout).ok()?;
        let own = stage.server.processes();
        let mine = pids.lines().filter_map(|pid| pid.parse().ok());
        let left = mine.filter(|pid: &u32| own.contains(pid)).count();
        (left == 0).then_some(left)
    });
    assert_eq!(left.await, 0);
    assert_eq!(stage.content("notes.txt"), "one\ntwo\nthree\n");
    stage.server.stop().await;
}

#[tokio::test]
async fn a_command_of_an_agent_cannot_answer_asks() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "notes.txt", "mine").await;
    let ask = stage.asked().await;
    let id = ask["id"].as_str().expect("it has an id").to_owned();
    let (program, data) = (env!("CARGO_BIN_EXE_countersign"), stage.server.data());
    let command = format!(
        "COUNTERSIGN_DATA='{}' '{program}' allow {id}; setsid sh -c \"COUNTERSIGN_DATA='{0}' '{program}' allow {id}\"; echo tried",
        data.display(),
    );
    stage.want_run(2, &command).await;
    let run = stage
        .server
        .api()
        .wait_for_ask("the command is asked for", |ask| {
            ask["subject"]["tool"] == "shell"
        })
        .await;
    stage.allow(&run).await;
    let created = stage.puppet.response(2).await;
    let terminal = created["result"]["terminalId"]
        .as_str()
        .expect("it runs")
        .to_owned();
    stage.terminal(3, "wait_for_exit", &terminal).await;
    let output = stage.terminal(4, "output", &terminal).await;
    let said = output["result"]["output"].as_str().unwrap_or_default();
    assert!(
        said.contains("agents cannot answer asks") && said.ends_with("tried\n"),
        "{said}"
    );
    assert_eq!(stage.server.api().ask(&id).await["state"], "open");
    assert_eq!(stage.content("notes.txt"), "one\ntwo\nthree\n");
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    stage.end().await;
}

#[tokio::test]
async fn when_an_agent_dies_its_commands_die_with_it() {
    let mut stage = Stage::set().await;
    stage
        .run(1, "echo up; setsid sleep 1000 & exec sleep 1001")
        .await;
    let agent = stage.server.agents().pop().expect("it runs");
    agent.kill();
    let outcome = stage.server.api().turn_outcome(&stage.session).await;
    assert_eq!(outcome["outcome"], "failed");
    let items = stage.items("terminal/create").await;
    assert_eq!(items[0]["status"], "failed", "{items:#?}");
    stage.server.stop().await;
}
