//! The door for programs that hand asks in by themselves, as a plugin calls it: asks come in, answers are fetched and
//! reported, and the token that does it can do nothing else.

use std::process::Stdio;

use countersign_testkit::TestServer;
use countersign_testkit::test_server::{Api, Engine, Setup};
use serde_json::{Value, json};
use tokio::process::Command;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// A plugin that has announced itself.
struct Plugin {
    api: Api,
    run: String,
}

impl Plugin {
    async fn announce(server: &TestServer) -> Self {
        Self::announce_as(server.api_as("agent").await, &life(server)).await
    }

    async fn announce_as(api: Api, life: &Value) -> Self {
        let begun = api.post("/api/v1/door/runs", life).await.expect(201);
        let run = begun["run"].as_str().expect("a life has an id").to_owned();
        Self { api, run }
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/door/runs/{}{rest}", self.run)
    }

    /// Hands in that `command` wants to run, and returns the ask's id.
    async fn asks_to_run(&self, request: &str, command: &str) -> String {
        let handed = self.hand_in(&permission(request, command)).await;
        ask_of(&handed.expect(201))
    }

    async fn hand_in(&self, ask: &Value) -> countersign_testkit::test_server::Reply {
        self.api.post(&self.path("/asks"), ask).await
    }

    async fn fetch(&self, ask: &str) -> Value {
        let path = format!("/asks/{ask}/answer?timeout_s=20");
        self.api.get(&self.path(&path)).await
    }

    /// Reports what became of an ask, and returns where it stands then.
    async fn reports(&self, ask: &str, report: &Value) -> Value {
        let path = self.path(&format!("/asks/{ask}/report"));
        self.api.post(&path, report).await.expect(200)["state"].clone()
    }
}

fn life(server: &TestServer) -> Value {
    json!({ "directory": server.workspace(), "program": "opencode", "version": "1.18.33" })
}

fn permission(request: &str, command: &str) -> Value {
    json!({
        "kind": "permission",
        "request": {
            "id": request, "sessionID": "ses_1", "permission": "bash", "patterns": [command],
            "metadata": { "command": command }, "always": [],
        },
        "session": { "id": "ses_1", "title": "Fix the build", "agent": "build" },
    })
}

fn question() -> Value {
    let options = json!([{ "label": "sqlite", "description": "" }]);
    let part = json!({ "question": "Which?", "header": "Store", "options": options });
    json!({
        "kind": "question",
        "request": { "id": "que_1", "sessionID": "ses_2", "questions": [part] },
        "session": { "id": "ses_2", "title": "Sub", "parent": { "id": "ses_1", "title": "Main" } },
    })
}

fn ask_of(handed: &Value) -> String {
    handed["ask"].as_str().expect("an ask has an id").to_owned()
}

async fn server() -> TestServer {
    Setup::new(BINARY, Engine::None).start().await
}

#[tokio::test]
async fn an_answer_is_fetched_and_counts_as_delivered_when_it_is_announced() {
    let server = server().await;
    let plugin = Plugin::announce(&server).await;
    let ask = plugin.asks_to_run("per_1", "make deploy").await;
    let again = plugin.hand_in(&permission("per_1", "make deploy")).await;
    assert_eq!(ask_of(&again.expect(200)), ask);

    let shown = server.api().ask(&ask).await;
    assert_eq!(shown["door"], "opencode_plugin");
    assert_eq!(shown["requester"], "build");
    assert_eq!(shown["subject"]["targets"], json!(["make deploy"]));

    let allow = json!({ "answer": "allow_once" });
    let (fetched, answered) = tokio::join!(plugin.fetch(&ask), server.api().answer(&ask, &allow));
    answered.expect(200);
    assert_eq!(
        fetched,
        json!({ "state": "answered", "reply": { "reply": "once" } })
    );
    let announced = json!({ "outcome": "announced", "reply": "once" });
    assert_eq!(plugin.reports(&ask, &announced).await, "delivered");
    let settled = server.api().settled(&ask).await;
    let evidence = json!({ "kind": "reported", "event": "permission.replied" });
    assert_eq!(settled["delivery"]["evidence"], evidence);
}

#[tokio::test]
async fn what_was_never_fetched_or_says_something_else_is_no_proof() {
    let server = server().await;
    let plugin = Plugin::announce(&server).await;
    let announced = json!({ "outcome": "announced", "reply": "once" });

    let unfetched = plugin.asks_to_run("per_1", "ls").await;
    let allow = json!({ "answer": "allow_once" });
    server.api().answer(&unfetched, &allow).await.expect(200);
    assert_eq!(
        plugin.reports(&unfetched, &announced).await,
        "undeliverable"
    );

    let denied = plugin.asks_to_run("per_2", "rm -r build").await;
    let deny = json!({ "answer": "deny", "reason": "not that one" });
    server.api().answer(&denied, &deny).await.expect(200);
    let reply = json!({ "reply": "reject", "message": "not that one" });
    assert_eq!(plugin.fetch(&denied).await["reply"], reply);
    assert_eq!(plugin.reports(&denied, &announced).await, "undeliverable");

    let unanswered = plugin.asks_to_run("per_3", "ls -l").await;
    assert_eq!(plugin.reports(&unanswered, &announced).await, "withdrawn");
    assert!(server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn an_answer_in_the_terminal_ends_the_ask_without_an_alarm() {
    let server = server().await;
    let plugin = Plugin::announce(&server).await;
    let ask = plugin.asks_to_run("per_1", "ls").await;
    let here = json!({ "outcome": "answered_here", "reply": "always" });
    assert_eq!(plugin.reports(&ask, &here).await, "withdrawn");
    let late = server
        .api()
        .answer(&ask, &json!({ "answer": "deny" }))
        .await;
    let why = late.expect(410)["details"]["ask"]["why"].to_string();
    assert!(why.contains("at the engine itself"), "{why}");
    assert!(server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn a_question_of_a_sub_agent_is_answered_with_choices() {
    let server = server().await;
    let plugin = Plugin::announce(&server).await;
    let ask = ask_of(&plugin.hand_in(&question()).await.expect(201));
    assert!(server.api().ask(&ask).await["parent_session"].is_string());
    let choices = json!({ "answer": "choices", "choices": [["sqlite"]] });
    server.api().answer(&ask, &choices).await.expect(200);
    let reply = json!({ "reply": "answers", "answers": [["sqlite"]] });
    assert_eq!(plugin.fetch(&ask).await["reply"], reply);
    let announced = json!({ "outcome": "announced", "reply": "replied" });
    assert_eq!(plugin.reports(&ask, &announced).await, "delivered");
}

#[tokio::test]
async fn the_token_of_an_agent_does_nothing_else() {
    let server = server().await;
    let plugin = Plugin::announce(&server).await;
    let ask = plugin.asks_to_run("per_1", "ls").await;
    let allow = json!({ "answer": "allow_once" });
    let refused = plugin.api.answer(&ask, &allow).await.expect(403);
    assert_eq!(refused["details"]["grant"], "answer");
    for path in ["/api/v1/asks", "/api/v1/workspaces", "/api/v1/tokens"] {
        let request = plugin.api.request(reqwest::Method::GET, path);
        Api::send(request).await.unwrap().expect(403);
    }
    // A person's token, whatever it grants, is none of a plugin's.
    let owner = server.api().post("/api/v1/door/runs", &life(&server)).await;
    assert_eq!(owner.expect(403)["details"]["grant"], "ask");
    assert_eq!(server.api().ask(&ask).await["state"], "open");
}

#[tokio::test]
async fn nobody_touches_what_another_agent_handed_in() {
    let server = server().await;
    let plugin = Plugin::announce(&server).await;
    let ask = plugin.asks_to_run("per_1", "ls").await;
    let made = server.cli(&[
        "token", "create", "--name", "other", "--role", "agent", "--json",
    ]);
    let secret = made.await.expect_success().json()["secret"].clone();
    let other = Api::new(server.url(), secret.as_str().map(str::to_owned));
    let gone = json!({ "outcome": "gone" });
    let path = plugin.path(&format!("/asks/{ask}/report"));
    other.post(&path, &gone).await.expect(404);
    other
        .post(&plugin.path("/end"), &json!({}))
        .await
        .expect(404);
    let own = Plugin::announce_as(other, &life(&server)).await;
    let foreign = own.path(&format!("/asks/{ask}/report"));
    own.api.post(&foreign, &gone).await.expect(404);
    assert_eq!(server.api().ask(&ask).await["state"], "open");
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_a_sentence() {
    let server = server().await;
    let api = server.api_as("agent").await;
    for directory in ["/", "/nonexistent", "relative", "/tmp/../etc"] {
        let life = json!({ "directory": directory, "program": "opencode", "version": "1.0.0" });
        let refused = api.post("/api/v1/door/runs", &life).await.expect(422);
        let message = refused["message"].as_str().unwrap();
        assert!(
            message.contains("countersign serve --workspace"),
            "{message}"
        );
    }
    let mut own = life(&server);
    own["process"] = json!(1);
    api.post("/api/v1/door/runs", &own).await.expect(422);

    let plugin = Plugin::announce_as(api, &life(&server)).await;
    let mut other_session = permission("per_1", "ls");
    other_session["session"]["id"] = json!("ses_9");
    let mut elsewhere = permission("per_1", "ls");
    elsewhere["session"]["directory"] = json!("/etc");
    let mut nothing = question();
    nothing["request"]["questions"] = json!([]);
    for unfit in [
        other_session,
        elsewhere,
        nothing,
        json!({ "kind": "permission" }),
    ] {
        plugin.hand_in(&unfit).await.expect(422);
    }
    assert!(server.api().open_asks().await.is_empty());
}

#[tokio::test]
async fn a_restart_of_the_server_loses_no_ask_and_no_answer() {
    let mut server = server().await;
    let plugin = Plugin::announce(&server).await;
    let ask = plugin.asks_to_run("per_1", "ls").await;
    server.kill();
    server.restart().await;
    assert_eq!(server.api().ask(&ask).await["state"], "open");
    let allow = json!({ "answer": "allow_once" });
    server.api().answer(&ask, &allow).await.expect(200);
    server.kill();
    server.restart().await;
    assert_eq!(
        plugin.fetch(&ask).await["reply"],
        json!({ "reply": "once" })
    );
    let announced = json!({ "outcome": "announced", "reply": "once" });
    assert_eq!(plugin.reports(&ask, &announced).await, "delivered");
}

#[tokio::test]
async fn what_the_program_starts_may_not_answer_and_its_end_ends_its_asks() {
    let server = server().await;
    // It waits for a line, then does as a tool would: it calls the command line.
    let script = r#"read -r ask; "$0" allow "$ask" 2>&1; echo "exit $?"; read -r end"#;
    let mut program = Command::new("sh")
        .args(["-c", script, BINARY])
        .env("COUNTERSIGN_DATA", server.data())
        .env_remove("COUNTERSIGN_URL")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut announced = life(&server);
    announced["process"] = json!(program.id());
    let plugin = Plugin::announce_as(server.api_as("agent").await, &announced).await;
    let ask = plugin.asks_to_run("per_1", "ls").await;

    let mut input = program.stdin.take().unwrap();
    let mut output = tokio::io::BufReader::new(program.stdout.take().unwrap());
    tokio::io::AsyncWriteExt::write_all(&mut input, format!("{ask}\n").as_bytes())
        .await
        .unwrap();
    let mut said = String::new();
    while !said.contains("exit ") {
        let read = tokio::io::AsyncBufReadExt::read_line(&mut output, &mut said);
        assert!(read.await.unwrap() > 0, "{said}");
    }
    assert!(said.contains("agents cannot answer asks"), "{said}");
    assert!(!said.contains("exit 0"), "{said}");
    assert_eq!(server.api().ask(&ask).await["state"], "open");

    program.kill().await.unwrap();
    let settled = server.api().settled(&ask).await;
    assert_eq!(settled["state"], "withdrawn");
    let late = plugin.api.post(&plugin.path("/alive"), &json!({})).await;
    late.expect(404);
}
