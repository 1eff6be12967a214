//! What is set for sessions with ACP agents: shown, changed, refused, kept over the death of server and agent.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail where it stands, and shows what it saw"
)]

mod moody;

use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};

/// A server whose one workspace has no engine of its own.
async fn server() -> TestServer {
    Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        .start()
        .await
}

fn path(session: &str) -> String {
    format!("/api/v1/sessions/{session}/settings")
}

async fn settings(server: &TestServer, session: &str) -> Value {
    server.api().get(&path(session)).await
}

/// Sets something, and expects that the agent does so at once.
async fn set(server: &TestServer, session: &str, wish: Value) -> Value {
    let set = server.api().post(&path(session), &wish).await.expect(200);
    assert_eq!(set["applied"], true, "{set}");
    set
}

/// Says `text`, and returns how the turn ended.
async fn turn(server: &TestServer, session: &str, text: &str) -> Value {
    server.api().prompt(session, text).await;
    ended(server, session, text).await
}

async fn ended(server: &TestServer, session: &str, text: &str) -> Value {
    eventually(PATIENCE, "the turn ends", async || {
        let turn = server.api().session(session).await["turn"].clone();
        (turn["prompt"] == text && !turn["outcome"].is_null()).then(|| turn["outcome"].clone())
    })
    .await
}

async fn items_of(server: &TestServer, session: &str, kind: &str) -> Vec<Value> {
    let mut items = server.api().items(session).await;
    items.retain(|item| item["kind"] == kind);
    items
}

async fn notices(server: &TestServer, session: &str) -> Vec<String> {
    let notices = items_of(server, session, "notice").await;
    let texts = notices.iter().filter_map(|item| item["text"].as_str());
    texts.map(str::to_owned).collect()
}

fn ids(selection: &Value) -> Vec<&str> {
    let choices = selection["choices"].as_array().unwrap();
    choices.iter().filter_map(|it| it["id"].as_str()).collect()
}

fn option<'a>(settings: &'a Value, id: &str) -> &'a Value {
    let options = settings["options"].as_array().unwrap();
    options.iter().find(|option| option["id"] == id).unwrap()
}

/// Waits until no agent runs, as far as the ledger knows.
async fn agent_is_gone(server: &TestServer, session: &str) {
    eventually(PATIENCE, "the agent is known to be gone", async || {
        (server.api().session(session).await["activity"] == "gone").then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_can_be_set_is_listed_with_commands_and_usage() {
    let server = server().await;
    let session = server.api().start_session_with("demo").await;
    let listed = settings(&server, &session).await;
    assert_eq!(listed["mode"]["current"], "ask");
    assert_eq!(ids(&listed["mode"]), ["ask", "plan"]);
    assert_eq!(option(&listed, "pace")["current"], "steady");
    assert_eq!(option(&listed, "thoughts")["on"], true);
    assert_eq!(listed["chosen"], json!([]));
    assert_eq!(listed["may_set"], true);
    eventually(PATIENCE, "the commands are known", async || {
        let commands = &settings(&server, &session).await["commands"];
        (commands[0]["name"] == "help").then_some(())
    })
    .await;
    assert_eq!(
        turn(&server, &session, "SAY Hello.").await["outcome"],
        "completed"
    );
    let usage = settings(&server, &session).await["usage"].clone();
    assert_eq!(usage["size"], 32_000);
    assert!(usage["used"].as_u64().unwrap() > 0, "{usage}");
    // Lists stay light.
    let listed = server.api().get("/api/v1/sessions").await.to_string();
    assert!(!listed.contains("steady"), "{listed}");
}

#[tokio::test]
async fn a_mode_that_is_set_is_the_one_that_the_agent_works_in() {
    let server = server().await;
    let session = server.api().start_session_with("demo").await;
    let made = set(&server, &session, json!({ "mode": "plan" })).await;
    assert_eq!(made["mode"]["current"], "plan");
    assert_eq!(made["chosen"][0]["setting"], "mode");
    assert_eq!(made["chosen"][0]["value"], "plan");
    let made = set(
        &server,
        &session,
        json!({ "option": "thoughts", "value": false }),
    )
    .await;
    assert_eq!(option(&made, "thoughts")["on"], false);
    let made = set(
        &server,
        &session,
        json!({ "option": "pace", "value": "swift" }),
    )
    .await;
    assert_eq!(option(&made, "pace")["current"], "swift");

    let outcome = turn(&server, &session, "RUN touch never.txt").await;
    assert_eq!(outcome["outcome"], "completed");
    assert!(!server.workspace().join("never.txt").exists());
    assert_eq!(server.api().open_asks().await, Vec::<Value>::new());
    let notices = notices(&server, &session).await;
    assert!(
        notices
            .iter()
            .any(|it| it.ends_with("set the mode to `plan`.")),
        "{notices:?}"
    );
    assert!(
        !notices.iter().any(|it| it.contains("is in the mode")),
        "{notices:?}"
    );

    let audit = server.api().get("/api/v1/audit").await.to_string();
    assert_eq!(audit.matches("\"session.set\"").count(), 3, "{audit}");
}

#[tokio::test]
async fn what_is_not_offered_is_refused_with_what_is() {
    let server = server().await;
    let session = server.api().start_session_with("demo").await;
    for (wish, said) in [
        (json!({ "mode": "yolo" }), "`ask`, `plan`"),
        (json!({ "model": "big" }), "cannot be chosen for this agent"),
        (
            json!({ "option": "pace", "value": "fast" }),
            "`steady`, `swift`",
        ),
        (
            json!({ "option": "pace", "value": true }),
            "`steady`, `swift`",
        ),
        (
            json!({ "option": "thoughts", "value": "on" }),
            "is not on or off",
        ),
        (
            json!({ "option": "volume", "value": "11" }),
            "`pace`, `thoughts`",
        ),
    ] {
        let refused = server.api().post(&path(&session), &wish).await.expect(422);
        assert_eq!(refused["code"], "unprocessable");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(said), "{wish}: {message}");
    }
    let refused = server
        .api()
        .post(&path(&session), &json!({ "mode": "yolo" }))
        .await;
    assert_eq!(refused.body["details"]["offered"], json!(["ask", "plan"]));
    let left = settings(&server, &session).await;
    assert_eq!(left["mode"]["current"], "ask");
    assert_eq!(left["chosen"], json!([]));
}

#[tokio::test]
async fn a_viewer_sees_the_settings_and_is_told_what_is_missing_to_change_them() {
    let server = server().await;
    let session = server.api().start_session_with("demo").await;
    let viewer = server.api_as("viewer").await;
    let seen = viewer.get(&path(&session)).await;
    assert_eq!(seen["may_set"], false);
    assert_eq!(seen["mode"]["current"], "ask");
    for (role, missing) in [("viewer", "prompt"), ("approver", "prompt")] {
        let caller = server.api_as(role).await;
        let refused = caller
            .post(&path(&session), &json!({ "mode": "plan" }))
            .await;
        assert_eq!(refused.expect(403)["details"]["grant"], missing, "{role}");
    }
    assert_eq!(settings(&server, &session).await["mode"]["current"], "ask");
}

#[tokio::test]
async fn settings_outlive_a_server_that_is_killed() {
    let mut server = server().await;
    let session = server.api().start_session_with("demo").await;
    set(&server, &session, json!({ "mode": "plan" })).await;
    turn(&server, &session, "SAY Hello.").await;
    let before = settings(&server, &session).await;
    let agents = server.agents();
    server.kill();
    server.restart().await;
    assert_eq!(settings(&server, &session).await, before);
    // The agent is the same, and is not told again what it has set.
    assert_eq!(
        turn(&server, &session, "RUN touch never.txt").await["outcome"],
        "completed"
    );
    assert_eq!(server.agents(), agents);
    assert!(!server.workspace().join("never.txt").exists());
    set(&server, &session, json!({ "mode": "ask" })).await;
    assert_eq!(settings(&server, &session).await["mode"]["current"], "ask");
}

/// The demo agent keeps its settings on disk; this takes them back, as an agent does that keeps none.
fn forget_settings_of_the_agent(server: &TestServer) -> usize {
    let kept = walk(server.data().parent().unwrap());
    let kept = kept.iter().filter(|path| {
        let folder = path.parent().and_then(|it| it.file_name());
        folder.is_some_and(|it| it == "countersign-demo-agent")
    });
    let mut changed = 0;
    for path in kept {
        let text = std::fs::read_to_string(path).unwrap();
        let mut record: Value = serde_json::from_str(&text).unwrap();
        record["settings"] = json!({ "mode": "ask", "pace": "steady", "thoughts": true });
        std::fs::write(path, record.to_string()).unwrap();
        changed += 1;
    }
    changed
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(walk(&entry.path())),
            Ok(_) => found.push(entry.path()),
            Err(_) => {}
        }
    }
    found
}

#[tokio::test]
async fn what_was_chosen_is_set_again_in_the_next_life_before_it_is_prompted() {
    let mut server = server().await;
    let session = server.api().start_session_with("demo").await;
    set(&server, &session, json!({ "mode": "plan" })).await;
    set(
        &server,
        &session,
        json!({ "option": "pace", "value": "swift" }),
    )
    .await;
    server.agents().remove(0).kill();
    agent_is_gone(&server, &session).await;
    assert_eq!(forget_settings_of_the_agent(&server), 1);

    // Nothing runs: what is chosen now is kept, and goes with the rest.
    let wish = json!({ "option": "thoughts", "value": false });
    let kept = server.api().post(&path(&session), &wish).await.expect(200);
    assert_eq!(kept["applied"], false, "{kept}");
    assert_eq!(option(&kept, "thoughts")["on"], true);

    let outcome = turn(&server, &session, "RUN touch never.txt").await;
    assert_eq!(outcome["outcome"], "completed");
    assert!(!server.workspace().join("never.txt").exists());
    let again = settings(&server, &session).await;
    assert_eq!(again["mode"]["current"], "plan");
    assert_eq!(option(&again, "pace")["current"], "swift");
    assert_eq!(option(&again, "thoughts")["on"], false);
    server.stop().await;
}

#[tokio::test]
async fn a_prompt_can_bring_its_mode_along() {
    let server = server().await;
    let session = server.api().start_session_with("demo").await;
    let prompt = format!("/api/v1/sessions/{session}/prompt");
    for (field, value, said) in [
        ("mode", "yolo", "`ask`, `plan`"),
        ("model", "big", "cannot be chosen for this agent"),
        ("agent", "build", "cannot be chosen for this engine"),
    ] {
        let wish = json!({ "text": "SAY No.", field: value });
        let refused = server.api().post(&prompt, &wish).await.expect(422);
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
    }
    let text = "RUN touch never.txt";
    let wish = json!({ "text": text, "mode": "plan" });
    server.api().post(&prompt, &wish).await.expect(202);
    assert_eq!(ended(&server, &session, text).await["outcome"], "completed");
    assert!(!server.workspace().join("never.txt").exists());
    let listed = settings(&server, &session).await;
    assert_eq!(listed["mode"]["current"], "plan");
    assert_eq!(listed["chosen"][0]["value"], "plan");
    assert_eq!(items_of(&server, &session, "prompt").await.len(), 1);
}

#[tokio::test]
async fn a_prompt_that_waits_changes_the_mode_when_its_turn_comes() {
    let server = server().await;
    let session = server.api().start_session_with("demo").await;
    server.api().prompt(&session, "RUN echo 1 > made.txt").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let text = "RUN touch never.txt";
    let wish = json!({ "text": text, "mode": "plan" });
    let prompt = format!("/api/v1/sessions/{session}/prompt");
    server.api().post(&prompt, &wish).await.expect(202);
    assert_eq!(settings(&server, &session).await["mode"]["current"], "ask");
    let answer = json!({ "answer": "allow_once" });
    let id = ask["id"].as_str().unwrap();
    server.api().answer(id, &answer).await.expect(200);
    assert_eq!(ended(&server, &session, text).await["outcome"], "completed");
    assert!(server.workspace().join("made.txt").exists());
    assert!(!server.workspace().join("never.txt").exists());
}

#[tokio::test]
async fn a_plan_is_an_item_of_steps_that_get_done() {
    let server = server().await;
    let session = server.api().start_session_with("demo").await;
    set(&server, &session, json!({ "mode": "plan" })).await;
    assert_eq!(
        turn(&server, &session, "Show me.").await["outcome"],
        "completed"
    );
    let plans = items_of(&server, &session, "plan").await;
    let [plan] = &plans[..] else {
        panic!("{plans:#?}");
    };
    assert_eq!(plan["steps"].as_array().unwrap().len(), 4);
    assert_eq!(plan["steps"][0]["text"], "Look around");
    assert_eq!(plan["steps"][0]["status"], "pending");
}

#[tokio::test]
async fn the_command_line_lists_settings_and_sets_them() {
    let server = server().await;
    let session = server.api().start_session_with("demo").await;
    let listed = server.cli(&["settings", &session]).await;
    let listed = &listed.expect_success().stdout;
    for word in ["mode", "plan", "pace", "swift", "thoughts"] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    let made = server
        .cli(&["settings", &session, "mode=plan", "thoughts=off", "--json"])
        .await;
    let made = made.expect_success().json();
    assert_eq!(made["mode"]["current"], "plan");
    assert_eq!(option(&made, "thoughts")["on"], false);
    let refused = server.cli(&["settings", &session, "mode=yolo"]).await;
    assert!(refused.expect_code(1).stderr.contains("`ask`, `plan`"));
    server
        .cli(&["settings", &session, "thoughts=perhaps"])
        .await
        .expect_code(2);
    server
        .cli(&["settings", &session, "mode"])
        .await
        .expect_code(2);
    server.cli(&["settings", "zzzzzz"]).await.expect_code(5);
    let token = server.token("viewer").await;
    let as_viewer = [("COUNTERSIGN_TOKEN", token.as_str())];
    let url = server.url();
    let refused = server
        .cli_with(
            &as_viewer,
            &["settings", &session, "mode=ask", "--url", &url],
        )
        .await;
    assert!(refused.expect_code(4).stderr.contains("`prompt`"));
    let said = server
        .cli(&[
            "prompt",
            "--session",
            &session,
            "--mode",
            "ask",
            "SAY Good day.",
        ])
        .await;
    assert!(said.expect_success().stdout.contains("Good day."));
    assert_eq!(settings(&server, &session).await["mode"]["current"], "ask");
    let refused = server
        .cli(&["prompt", "--session", &session, "--model", "big", "SAY No."])
        .await;
    refused.expect_code(1);
}
