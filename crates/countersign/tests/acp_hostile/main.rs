//! ACP agents that do things wrong: every session comes to an end that says what happened, and nothing is approved.

use countersign_testkit::TestServer;
use countersign_testkit::hostile_agent::APPROVED;
use countersign_testkit::peers;
use countersign_testkit::test_server::{Engine, Setup};
use serde_json::{Value, json};

/// A server with the hostile agent in one of its modes.
async fn server(mode: &str) -> TestServer {
    let program = peers::hostile_agent();
    let setup = Setup {
        engine_settings: format!(
            "[[agents]]\nname = 'hostile'\ncommand = '{}'\nargs = ['{mode}']\n",
            program.display()
        ),
        ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
    };
    setup.start().await
}

async fn begin(server: &TestServer) -> Result<String, String> {
    let wish = json!({ "engine": "hostile" });
    let reply = server.api().post("/api/v1/sessions", &wish).await;
    if reply.status == 201 {
        Ok(reply.body["id"].as_str().unwrap().to_owned())
    } else {
        Err(reply.body["message"].as_str().unwrap().to_owned())
    }
}

/// Nothing was approved, and nothing is left.
async fn comes_to_nothing(mut server: TestServer) {
    let approved = server.workspace().join(APPROVED);
    assert!(!approved.exists(), "something was approved");
    server.stop().await;
}

/// Begins a session and says something in it.
async fn prompted(server: &TestServer) -> String {
    let session = begin(server).await.unwrap();
    server.api().prompt(&session, "go").await;
    session
}

async fn deny(server: &TestServer, session: &str) -> Value {
    let ask = server.api().wait_for_ask_of(session).await;
    let id = ask["id"].as_str().unwrap();
    let answer = json!({ "answer": "deny" });
    server.api().answer(id, &answer).await.expect(200);
    server.api().settled(id).await
}

#[tokio::test]
async fn noise_is_counted_and_the_turn_goes_on() {
    for mode in [
        "banner-before",
        "noise-between",
        "glued-lines",
        "byte-order-mark",
        "carriage-returns",
    ] {
        let server = server(mode).await;
        let session = prompted(&server).await;
        assert_eq!(
            deny(&server, &session).await["state"],
            "delivered",
            "{mode}"
        );
        let ended = server.api().turn_outcome(&session).await;
        assert_eq!(ended["outcome"], "completed", "{mode}: {ended}");
        if mode == "noise-between" {
            let items = server.api().items(&session).await;
            let noted = items.iter().any(|item| {
                item["kind"] == "notice" && item["text"].as_str().unwrap().contains("no message")
            });
            assert!(noted, "{items:#?}");
        }
        comes_to_nothing(server).await;
    }
}

#[tokio::test]
async fn an_agent_that_dies_before_there_is_a_session_says_why() {
    for mode in [
        "death-before-initialize",
        "death-after-initialize",
        "death-during-new",
    ] {
        let server = server(mode).await;
        let why = begin(&server).await.unwrap_err();
        assert!(why.contains("ended before it was ready"), "{mode}: {why}");
        comes_to_nothing(server).await;
    }
}

#[tokio::test]
async fn an_agent_that_dies_in_a_turn_fails_it_and_its_ask_is_withdrawn() {
    for mode in [
        "death-during-prompt",
        "killed-during-prompt",
        "death-while-asking",
    ] {
        let server = server(mode).await;
        let session = prompted(&server).await;
        let ended = server.api().turn_outcome(&session).await;
        assert_eq!(ended["outcome"], "failed", "{mode}: {ended}");
        assert_eq!(server.api().open_asks().await, Vec::<Value>::new());
        comes_to_nothing(server).await;
    }
}

#[tokio::test]
async fn a_turn_that_was_finished_is_kept_when_the_agent_then_fails() {
    let server = server("death-after-the-turn").await;
    let session = prompted(&server).await;
    deny(&server, &session).await;
    let ended = server.api().turn_outcome(&session).await;
    assert_eq!(ended["outcome"], "completed", "{ended}");
    comes_to_nothing(server).await;
}

#[tokio::test]
async fn an_agent_that_ignores_a_cancelled_turn_is_ended() {
    let server = server("cancel-ignored").await;
    let session = prompted(&server).await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let path = format!("/api/v1/sessions/{session}/cancel");
    server.api().post(&path, &json!({})).await.expect(200);
    let ask = server.api().settled(ask["id"].as_str().unwrap()).await;
    assert_eq!(ask["state"], "withdrawn");
    let ended = server.api().turn_outcome(&session).await;
    assert_eq!(ended["outcome"], "cancelled", "{ended}");
    comes_to_nothing(server).await;
}

#[tokio::test]
async fn asks_of_another_session_and_unreadable_ones_are_refused() {
    for mode in ["foreign-ask", "malformed-ask"] {
        let server = server(mode).await;
        let session = prompted(&server).await;
        let items = countersign_testkit::eventually(
            countersign_testkit::test_server::PATIENCE,
            "it is noted",
            async || {
                let items = server.api().items(&session).await;
                let noted = items.iter().any(|item| item["kind"] == "notice");
                noted.then_some(items)
            },
        )
        .await;
        assert!(!items.is_empty());
        comes_to_nothing(server).await;
    }
}
