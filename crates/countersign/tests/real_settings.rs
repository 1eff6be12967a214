//! What can be set for a session of a real opencode: its agents, its models and its commands; and what it used up.

use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{StubModel, TestServer, eventually};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// A server with a real opencode whose model has a price, a second model, and commands.
async fn server(model: &StubModel) -> TestServer {
    let config = json!({
        "provider": { "stub": { "models": {
            "stub": { "cost": { "input": 1_000, "output": 5_000 } },
            "other": { "name": "Other", "limit": { "context": 5_000, "output": 100 } },
        } } },
        "command": {
            "tidy": { "description": "Tidies up", "template": "SAY tidying $1\nFINAL tidied $ARGUMENTS", "agent": "plan" },
            "dated": { "template": "FINAL it is !`date > ran.txt`" },
        },
    });
    let engine = Engine::Real {
        model: model.base_url(),
    };
    let setup = Setup {
        files: vec![("opencode.json".to_owned(), config.to_string())],
        ..Setup::new(BINARY, engine)
    };
    let server = setup.start().await;
    server.api().wait_for_engine().await;
    server
}

async fn settings(server: &TestServer, session: &str) -> Value {
    let path = format!("/api/v1/sessions/{session}/settings");
    server.api().get(&path).await
}

/// Waits until a session has used up and paid as much as `wanted` says.
async fn used(server: &TestServer, session: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    eventually(PATIENCE, "what was used up is told", async || {
        let usage = settings(server, session).await["usage"].clone();
        wanted(&usage).then_some(usage)
    })
    .await
}

/// Says a command, and tries one that would run something before anybody is asked.
async fn command(server: &TestServer) {
    let api = server.api();
    let session = api.start_session().await;
    let offered = settings(server, &session).await["commands"].clone();
    let offered = offered.as_array().expect("a list");
    let tidy = offered.iter().find(|it| it["name"] == "tidy");
    assert_eq!(tidy.expect("it is offered")["description"], "Tidies up");
    assert!(!offered.iter().any(|it| it["name"] == "dated"));

    let prompt = format!("/api/v1/sessions/{session}/prompt");
    let refused = api.post(&prompt, &json!({ "text": "/dated" })).await;
    let refused = refused.expect(422).to_string();
    assert!(refused.contains("without asking"), "{refused}");

    api.prompt(&session, "/tidy the shed").await;
    let outcome = api.turn_outcome(&session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
    let items = api.items(&session).await;
    let said = |kind: &str, text: &str| {
        let mut items = items.iter();
        items.any(|item| item["kind"] == kind && item["text"] == text)
    };
    assert!(
        said("prompt", "SAY tidying the shed\nFINAL tidied the shed"),
        "{items:?}"
    );
    let spoken = |item: &Value| {
        let text = item["text"].as_str().unwrap_or_default();
        item["kind"] == "text" && text.contains("tidied the shed")
    };
    assert!(items.iter().any(spoken), "{items:?}");
    assert_eq!(api.session(&session).await["agent"], "plan");
    assert!(!server.workspace().join("ran.txt").exists());
}

/// Kills the engine over a turn behind which a prompt waits: the next life of the engine is told that prompt, once.
async fn what_waits_outlives_the_engine(server: &TestServer, model: &StubModel, session: &str) {
    let api = server.api();
    api.prompt(session, "TOOL bash: touch never.txt").await;
    api.wait_for_ask_of(session).await;
    api.prompt(session, "FINAL said in another life").await;
    server.engine().kill();
    let spoken = |item: &Value| item["kind"] == "text" && item["text"] == "said in another life";
    eventually(PATIENCE, "what waited is said", async || {
        api.items(session).await.iter().any(spoken).then_some(())
    })
    .await;
    assert!(!server.workspace().join("never.txt").exists());
    let prompts = |request: &Value| {
        let said = request["messages"].to_string();
        said.matches("FINAL said in another life").count()
    };
    let most = model.requests().iter().map(prompts).max();
    assert_eq!(most, Some(1), "it is said once");
}

#[tokio::test]
async fn a_session_tells_how_full_its_memory_is_and_what_was_paid() {
    let model = StubModel::start().await;
    let mut server = server(&model).await;
    let session = server.api().start_and_prompt("SAY one\nFINAL two").await;
    let outcome = server.api().turn_outcome(&session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
    // The stub counts 100 tokens read and 20 written: 0.1 and 0.1 dollars.
    let usage = used(&server, &session, |it| it["cost"]["amount"] == 0.2).await;
    assert_eq!(usage["used"], 120, "{usage}");
    assert_eq!(usage["size"], 100_000, "{usage}");
    assert_eq!(usage["cost"]["currency"], "USD", "{usage}");

    // It is in the ledger, and the next turn adds to it.
    server.kill();
    server.restart().await;
    server.api().wait_for_engine().await;
    assert_eq!(settings(&server, &session).await["usage"], usage);
    server.api().prompt(&session, "FINAL three").await;
    let more = used(&server, &session, |it| it["cost"]["amount"] == 0.4).await;
    assert_eq!(more["used"], 120, "{more}");
    what_waits_outlives_the_engine(&server, &model, &session).await;
    server.stop().await;
}

#[tokio::test]
async fn a_model_and_an_agent_are_chosen_and_a_command_is_said() {
    let model = StubModel::start().await;
    let mut server = server(&model).await;
    let api = server.api();
    let session = api.start_session().await;
    let path = format!("/api/v1/sessions/{session}/settings");
    let offered = settings(&server, &session).await;
    assert_eq!(offered["mode"]["current"], "build", "{offered}");
    assert_eq!(offered["model"]["current"], "stub/stub", "{offered}");
    let ids = |of: &str| -> Vec<String> {
        let choices = offered[of]["choices"].as_array().expect("a list").iter();
        choices
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(
        ids("mode").contains(&"plan".to_owned()),
        "{:?}",
        ids("mode")
    );
    assert!(
        !ids("mode").contains(&"general".to_owned()),
        "nobody talks to those"
    );
    assert!(
        ids("model").contains(&"stub/other".to_owned()),
        "{:?}",
        ids("model")
    );

    let refused = api.post(&path, &json!({ "mode": "general" })).await;
    refused.expect(422);
    for wish in [json!({ "mode": "plan" }), json!({ "model": "stub/other" })] {
        let set = api.post(&path, &wish).await.expect(200);
        assert_eq!(set["applied"], true, "{set}");
    }
    api.prompt(&session, "FINAL done").await;
    let outcome = api.turn_outcome(&session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
    let asked = model.requests();
    let spoken = asked.iter().filter(|it| it["model"] == "other").count();
    assert!(spoken > 0, "the model that was chosen has spoken");
    assert_eq!(api.session(&session).await["agent"], "plan");
    let usage = used(&server, &session, |it| it["size"] == 5_000).await;
    assert_eq!(usage["used"], 120, "{usage}");
    let items = server.api().items(&session).await;
    let told = |text: &str| items.iter().any(|item| item["text"] == text);
    assert!(told("owner set the mode to `plan`."), "{items:?}");

    command(&server).await;

    // A choice is kept: it is the same for the server's next life.
    server.kill();
    server.restart().await;
    server.api().wait_for_engine().await;
    let kept = settings(&server, &session).await;
    assert_eq!(kept["mode"]["current"], "plan", "{kept}");
    assert_eq!(kept["model"]["current"], "stub/other", "{kept}");
    server.stop().await;
}
