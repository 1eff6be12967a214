//! What agents have their host do, through the whole program: files are read and written, commands run, each only with
//! leave, and nothing of it is left behind.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use countersign_testkit::hostile_agent::{Puppet, Strings};
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};

const DENIED: i64 = -32001;
const NOT_FOUND: i64 = -32002;
const INVALID: i64 = -32602;

/// A session with an agent that says what the test says, in a turn.
struct Stage {
    server: TestServer,
    puppet: Puppet,
    session: String,
    turn: Value,
}

impl Stage {
    async fn set() -> Self {
        Self::with("{ files = 'read_write', terminal = true }").await
    }

    async fn with(capabilities: &str) -> Self {
        let strings = Strings::new();
        let (program, arguments) = strings.command();
        let setup = Setup {
            engine_settings: format!(
                "[[agents]]\nname = 'puppet'\ncommand = {:?}\nargs = {arguments:?}\ncapabilities = {capabilities}\n",
                program.display().to_string(),
            ),
            files: vec![("notes.txt".to_owned(), "one\ntwo\nthree\n".to_owned())],
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        };
        let server = setup.start().await;
        let session = server.api().start_session_with("puppet").await;
        let mut puppet = strings.take().await;
        server.api().prompt(&session, "Go.").await;
        let turn = puppet.prompted().await;
        Self {
            server,
            puppet,
            session,
            turn,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.server.workspace().join(name)
    }

    fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    async fn read(&mut self, id: i64, params: Value) -> Value {
        self.puppet.request(id, "fs/read_text_file", &params).await;
        self.puppet.response(id).await
    }

    async fn want_write(&mut self, id: i64, name: &str, content: &str) {
        let params = json!({ "path": self.path(name), "content": content });
        self.puppet.request(id, "fs/write_text_file", &params).await;
    }

    async fn want_run(&mut self, id: i64, command: &str) {
        let params = json!({ "command": command });
        self.puppet.request(id, "terminal/create", &params).await;
    }

    /// Begins a tool call, asks for leave for it, and returns the ask.
    async fn ask_leave(&mut self, id: i64, call: &Value) -> Value {
        let mut begun = call.clone();
        begun["sessionUpdate"] = json!("tool_call");
        begun["title"] = json!("Something");
        self.puppet.update(&begun).await;
        let options = json!([
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let params =
            json!({ "toolCall": { "toolCallId": call["toolCallId"] }, "options": options });
        self.puppet
            .request(id, "session/request_permission", &params)
            .await;
        self.asked().await
    }

    /// A tool call that changes a file from `old` to `new`.
    fn edit(&self, call: &str, name: &str, old: &str, new: &str) -> Value {
        let path = self.path(name);
        json!({
            "toolCallId": call, "kind": "edit", "status": "pending",
            "rawInput": { "path": path },
            "content": [{ "type": "diff", "path": path, "oldText": old, "newText": new }],
        })
    }

    async fn asked(&self) -> Value {
        self.server.api().wait_for_ask_of(&self.session).await
    }

    async fn answer(&self, ask: &Value, answer: Value) -> Value {
        let id = ask["id"].as_str().expect("it has an id");
        self.server.api().answer(id, &answer).await.expect(200);
        self.server.api().settled(id).await
    }

    async fn allow(&self, ask: &Value) -> Value {
        let settled = self.answer(ask, json!({ "answer": "allow_once" })).await;
        assert_eq!(settled["state"], "delivered", "{settled}");
        settled
    }

    /// Has leave for an edit, and the tool call at work.
    async fn allowed_edit(&mut self, id: i64, name: &str, old: &str, new: &str) {
        let edit = self.edit(&format!("call-{id}"), name, old, new);
        let ask = self.ask_leave(id, &edit).await;
        self.allow(&ask).await;
        self.puppet.response(id).await;
    }

    async fn no_ask(&self) {
        assert_eq!(self.server.api().open_asks().await, Vec::<Value>::new());
    }

    async fn items(&self, tool: &str) -> Vec<Value> {
        let mut items = self.server.api().items(&self.session).await;
        items.retain(|item| item["tool"] == tool);
        items
    }

    /// Runs a command that is allowed, and returns what its terminal is called.
    async fn run(&mut self, id: i64, command: &str) -> String {
        self.want_run(id, command).await;
        let is_it = |ask: &Value| ask["subject"]["tool"] == "shell" && ask["summary"] == command;
        let api = self.server.api();
        let ask = api.wait_for_ask("the command is asked for", is_it).await;
        self.allow(&ask).await;
        let created = self.puppet.response(id).await;
        let terminal = created["result"]["terminalId"].as_str();
        terminal.unwrap_or_else(|| panic!("{created}")).to_owned()
    }

    async fn terminal(&mut self, id: i64, method: &str, terminal: &str) -> Value {
        let params = json!({ "terminalId": terminal });
        let method = format!("terminal/{method}");
        self.puppet.request(id, &method, &params).await;
        self.puppet.response(id).await
    }

    async fn end(mut self) {
        let turn = self.turn.clone();
        self.puppet.end_turn(&turn, "end_turn").await;
        let outcome = self.server.api().turn_outcome(&self.session).await;
        assert_eq!(outcome["outcome"], "completed");
        self.server.stop().await;
    }
}

fn code(response: &Value) -> i64 {
    response["error"]["code"].as_i64().unwrap_or_default()
}

#[tokio::test]
async fn a_file_is_read_whole_and_in_parts_and_the_transcript_says_so() {
    let mut stage = Stage::set().await;
    let path = stage.path("notes.txt");
    let whole = stage.read(1, json!({ "path": path })).await;
    assert_eq!(whole["result"]["content"], "one\ntwo\nthree\n");
    let part = stage
        .read(2, json!({ "path": path, "line": 2, "limit": 1 }))
        .await;
    assert_eq!(part["result"]["content"], "two\n");
    let missing = stage
        .read(3, json!({ "path": stage.path("none.txt") }))
        .await;
    assert_eq!(code(&missing), NOT_FOUND);
    symlink("/etc", stage.path("out")).expect("a link can be made");
    for (id, wrong) in [
        (4, json!({ "path": "notes.txt" })),
        (5, json!({ "path": "/etc/passwd" })),
        (6, json!({ "path": stage.path("out/passwd") })),
        (7, json!({ "path": stage.path("../config.toml") })),
        (8, json!({ "path": stage.path(".") })),
        (9, json!({ "path": 7 })),
        (10, json!({})),
    ] {
        let refused = stage.read(id, wrong.clone()).await;
        assert_eq!(code(&refused), INVALID, "{wrong}: {refused}");
    }
    stage.no_ask().await;
    let items = stage.items("fs/read_text_file").await;
    assert_eq!(items.len(), 8, "{items:#?}");
    assert_eq!(items[0]["status"], "completed");
    assert_eq!(items[2]["status"], "failed");
    stage.end().await;
}

#[tokio::test]
async fn a_write_that_nobody_was_asked_about_is_an_ask_with_the_whole_change() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "notes.txt", "one\n2\nthree\n").await;
    let ask = stage.asked().await;
    assert_eq!(ask["subject"]["tool"], "edit", "{ask}");
    assert_eq!(ask["subject"]["targets"], json!(["notes.txt"]));
    let patch = ask["subject"]["shown"][0]["patch"]
        .as_str()
        .unwrap_or_default();
    assert!(patch.contains("-two\n+2\n"), "{patch}");
    // Whatever waits, other things go on.
    let read = stage
        .read(2, json!({ "path": stage.path("notes.txt") }))
        .await;
    assert_eq!(read["result"]["content"], "one\ntwo\nthree\n");
    let settled = stage.allow(&ask).await;
    assert_eq!(settled["delivery"]["evidence"]["kind"], "written");
    let response = stage.puppet.response(1).await;
    assert!(
        response["result"].is_object() || response["result"].is_null(),
        "{response}"
    );
    assert!(response.get("error").is_none());
    assert_eq!(stage.content("notes.txt"), "one\n2\nthree\n");
    // What is there already needs no leave.
    stage.want_write(3, "notes.txt", "one\n2\nthree\n").await;
    assert!(stage.puppet.response(3).await.get("error").is_none());
    stage.no_ask().await;
    let items = stage.items("fs/write_text_file").await;
    assert_eq!(items.len(), 2, "{items:#?}");
    stage.end().await;
}

#[tokio::test]
async fn a_denied_write_gets_an_error_with_the_reason_and_nothing_is_written() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "new/file.txt", "mine").await;
    let ask = stage.asked().await;
    let answer = json!({ "answer": "deny", "reason": "not in this folder" });
    stage.answer(&ask, answer).await;
    let denied = stage.puppet.response(1).await;
    assert_eq!(code(&denied), DENIED);
    let message = denied["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("not in this folder"), "{message}");
    assert!(!stage.path("new").exists());
    // The reason was told; it does not follow as a prompt.
    let turn = stage.turn.clone();
    stage.puppet.end_turn(&turn, "end_turn").await;
    stage.server.api().turn_outcome(&stage.session).await;
    let items = stage.server.api().items(&stage.session).await;
    let prompts = items.iter().filter(|item| item["kind"] == "prompt").count();
    assert_eq!(prompts, 1, "{items:#?}");
    stage.server.stop().await;
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_asked_for_is_not_written() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "notes.txt", "mine").await;
    let ask = stage.asked().await;
    std::fs::write(stage.path("notes.txt"), "somebody else's").expect("it can be written");
    stage.allow(&ask).await;
    let failed = stage.puppet.response(1).await;
    let message = failed["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("has changed"), "{failed}");
    assert_eq!(stage.content("notes.txt"), "somebody else's");
    // Nor one that becomes a link while it is asked for.
    stage.want_write(2, "notes.txt", "mine").await;
    let ask = stage.asked().await;
    let outside = stage.path("../outside.txt");
    std::fs::write(&outside, "somebody else's").expect("it can be written");
    std::fs::remove_file(stage.path("notes.txt")).expect("it can be removed");
    symlink(&outside, stage.path("notes.txt")).expect("a link can be made");
    stage.allow(&ask).await;
    assert_ne!(code(&stage.puppet.response(2).await), 0);
    assert_eq!(
        std::fs::read_to_string(&outside).expect("it can be read"),
        "somebody else's"
    );
    stage.end().await;
}

#[tokio::test]
async fn what_was_just_allowed_is_written_without_a_second_ask_and_once() {
    let mut stage = Stage::set().await;
    stage.allowed_edit(100, "notes.txt", "two", "2").await;
    stage.want_write(1, "notes.txt", "one\n2\nthree\n").await;
    assert!(stage.puppet.response(1).await.get("error").is_none());
    assert_eq!(stage.content("notes.txt"), "one\n2\nthree\n");
    stage.no_ask().await;
    // A second write of the same file.
    stage.want_write(2, "notes.txt", "one\ntwo\nthree\n").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(2).await), DENIED);
    assert_eq!(stage.content("notes.txt"), "one\n2\nthree\n");
    stage.end().await;
}

#[tokio::test]
async fn what_is_only_nearly_what_was_allowed_is_asked() {
    let mut stage = Stage::set().await;
    std::fs::write(stage.path("other.txt"), "one\ntwo\nthree\n").expect("it can be written");
    stage.allowed_edit(100, "notes.txt", "two", "2").await;
    let near = [
        ("other.txt", "one\n2\nthree\n"),
        ("notes.txt", "one\n2\nthree\nand more\n"),
        ("notes.txt", "2"),
    ];
    for (id, (name, content)) in (1..).zip(near) {
        stage.want_write(id, name, content).await;
        let ask = stage.asked().await;
        stage.answer(&ask, json!({ "answer": "deny" })).await;
        assert_eq!(code(&stage.puppet.response(id).await), DENIED);
    }
    // The file is swapped for a link to another one.
    std::fs::rename(stage.path("notes.txt"), stage.path("moved.txt")).expect("it can be moved");
    symlink("other.txt", stage.path("notes.txt")).expect("a link can be made");
    stage.want_write(10, "notes.txt", "one\n2\nthree\n").await;
    let ask = stage.asked().await;
    assert_eq!(ask["subject"]["targets"], json!(["other.txt"]), "{ask}");
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(10).await), DENIED);
    std::fs::remove_file(stage.path("notes.txt")).expect("it can be removed");
    std::fs::rename(stage.path("moved.txt"), stage.path("notes.txt")).expect("it can be moved");
    // The tool call ends, and begins again.
    for (id, status) in [(11, "completed"), (12, "in_progress")] {
        let told = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call-100", "status": status,
        });
        stage.puppet.update(&told).await;
        stage.want_write(id, "notes.txt", "one\n2\nthree\n").await;
        let ask = stage.asked().await;
        stage.answer(&ask, json!({ "answer": "deny" })).await;
        assert_eq!(code(&stage.puppet.response(id).await), DENIED);
    }
    assert_eq!(stage.content("notes.txt"), "one\ntwo\nthree\n");
    assert_eq!(stage.content("other.txt"), "one\ntwo\nthree\n");
    stage.end().await;
}

#[tokio::test]
async fn what_was_denied_or_allowed_in_another_turn_is_asked_again() {
    let mut stage = Stage::set().await;
    let edit = stage.edit("c1", "notes.txt", "two", "2");
    let ask = stage.ask_leave(100, &edit).await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    stage.puppet.response(100).await;
    stage.want_write(1, "notes.txt", "one\n2\nthree\n").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(1).await), DENIED);
    stage.allowed_edit(101, "notes.txt", "two", "2").await;
    let turn = stage.turn.clone();
    stage.puppet.end_turn(&turn, "end_turn").await;
    stage.server.api().turn_outcome(&stage.session).await;
    stage.server.api().prompt(&stage.session, "Again.").await;
    stage.turn = stage.puppet.prompted().await;
    stage.want_write(2, "notes.txt", "one\n2\nthree\n").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(2).await), DENIED);
    assert_eq!(stage.content("notes.txt"), "one\ntwo\nthree\n");
    stage.end().await;
}

#[tokio::test]
async fn a_rule_for_edits_answers_a_write_as_any_edit() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "notes.txt", "first").await;
    let ask = stage.asked().await;
    let always = json!({ "answer": "allow_always", "scope": "session" });
    stage.answer(&ask, always).await;
    stage.puppet.response(1).await;
    stage.want_write(2, "notes.txt", "second").await;
    assert!(stage.puppet.response(2).await.get("error").is_none());
    assert_eq!(stage.content("notes.txt"), "second");
    stage.want_write(3, "other.txt", "third").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    stage.puppet.response(3).await;
    stage.end().await;
}

#[tokio::test]
async fn a_command_runs_once_it_is_allowed_and_is_looked_after() {
    let mut stage = Stage::set().await;
    let command = "echo hello; echo $EXTRA; pwd; env | grep -c COUNTERSIGN_TOKEN; exec cat fifo";
    let made = std::process::Command::new("mkfifo")
        .arg(stage.path("fifo"))
        .status();
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
    assert_eq!(ask["summary"], command);
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
