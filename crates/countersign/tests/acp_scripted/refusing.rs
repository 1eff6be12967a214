//! Refusals: how the turn ends, and what the agent is told after it.

use countersign_testkit::TestServer;
use countersign_testkit::scripted_agent::Manner;
use countersign_testkit::test_server::{Engine, Setup};
use serde_json::{Value, json};

use crate::scene::{Scene, ask, id};

#[tokio::test]
async fn a_turn_that_ends_with_the_refusal_was_denied() {
    let mut scene = Scene::set().await;
    for round in 0..8_u32 {
        let (request, command) = (round.to_string(), format!("echo {round}"));
        let asking = ask(&request, &format!("call-{round}"), &command);
        let reply = format!("AWAIT REPLY {request}");
        // Some agents end the turn with a refusal, and say it as if somebody had cancelled it.
        scene.play(&[&asking, &reply, "END cancelled"]).await;
        let asked = scene.asked(&command).await;
        scene.deny(&asked).await;
        assert_eq!(scene.outcome().await, "denied", "round {round}");
        assert_eq!(scene.settled(&asked).await["state"], "delivered");
    }
    scene.server.stop().await;
}

#[tokio::test]
async fn that_a_turn_was_denied_is_known_to_the_next_server() {
    let mut scene = Scene::set().await;
    let asking = ask("7", "call-1", "echo no");
    let steps = [
        asking.as_str(),
        "AWAIT REPLY 7",
        "AWAIT FILE go",
        "END cancelled",
    ];
    scene.play(&steps).await;
    let asked = scene.asked("echo no").await;
    scene.deny(&asked).await;
    assert_eq!(scene.settled(&asked).await["state"], "delivered");
    scene.server.kill();
    scene.go("go");
    scene.server.restart().await;
    assert_eq!(scene.outcome().await, "denied");
}

#[tokio::test]
async fn the_reason_goes_before_what_was_said_meanwhile() {
    let scene = Scene::set().await;
    let asking = ask("7", "call-1", "echo no");
    scene.play(&[&asking, "AWAIT REPLY 7"]).await;
    let asked = scene.asked("echo no").await;
    scene.play(&["the next thing"]).await;
    let denial = json!({ "answer": "deny", "reason": "use the other folder" });
    scene.answer(&asked, &denial).await;
    assert_eq!(scene.outcome_of("the next").await["outcome"], "completed");
    let prompts = scene.prompts();
    assert_eq!(prompts.len(), 3, "{prompts:#?}");
    assert_eq!(
        prompts[1],
        "`echo no` was denied. The reason: use the other folder"
    );
    let told = scene.items("prompt").await;
    assert_eq!(told[1]["follows"], asked["id"], "{told:#?}");
}

#[tokio::test]
async fn what_a_rule_denies_is_not_explained() {
    let scene = Scene::set().await;
    scene.rule("echo no", "deny").await;
    let asking = ask("7", "call-1", "echo no");
    scene.play(&[&asking, "AWAIT REPLY 7"]).await;
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(scene.picked(&json!(7)), ["no"]);
    scene.play(&["and then"]).await;
    assert_eq!(scene.outcome_of("and then").await["outcome"], "completed");
    assert_eq!(scene.prompts().len(), 2, "{:#?}", scene.prompts());
}

#[tokio::test]
async fn what_nobody_answers_is_refused_and_the_agent_is_told_that_nobody_did() {
    let settings = "[asks]\nexpire_after_s = 1\n";
    let scene = Scene::with(Manner::default(), settings).await;
    let (one, two) = (
        ask("7", "call-1", "echo one"),
        ask("8", "call-2", "echo two"),
    );
    let steps = [one.as_str(), &two, "AWAIT REPLY 7", "AWAIT REPLY 8"];
    scene.play(&steps).await;
    let asked = scene.asked("echo one").await;
    assert_eq!(scene.settled(&asked).await["state"], "expired");
    let ended = scene.outcome_of("Nobody answered in time").await;
    assert_eq!(ended["outcome"], "completed");
    assert_eq!(scene.picked(&json!(7)), ["no"]);
    assert_eq!(scene.picked(&json!(8)), ["no"]);
    // Once, however many there were.
    let prompts = scene.prompts();
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert!(
        prompts[1].contains("No person has looked at it"),
        "{prompts:#?}"
    );
    let told = scene.items("prompt").await;
    assert!(told[1]["follows"].is_string(), "{told:#?}");
}

/// Waits until nothing goes on in a session, and returns its prompts.
async fn prompts_in_the_end(server: &TestServer, session: &str, words: &str) -> Vec<Value> {
    countersign_testkit::eventually(
        countersign_testkit::test_server::PATIENCE,
        "the session comes to rest",
        async || {
            let turn = server.api().session(session).await["turn"].clone();
            let is_it = turn["prompt"].as_str()?.contains(words);
            (is_it && !turn["outcome"].is_null()).then_some(())
        },
    )
    .await;
    let items = server.api().items(session).await.into_iter();
    items.filter(|item| item["kind"] == "prompt").collect()
}

#[tokio::test]
async fn where_nobody_answers_there_is_an_end_to_it() {
    let setup = Setup {
        engine_settings: "[asks]\nexpire_after_s = 1\n".to_owned(),
        ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
    };
    let mut server = setup.start().await;
    let api = server.api();
    let session = api.start_session_with("demo").await;
    api.prompt(&session, "RUN touch never.txt").await;
    let first = api.wait_for_ask_of(&session).await;
    // The demo agent takes what it is told for a wish, and asks for more, which nobody answers either.
    let prompts = prompts_in_the_end(&server, &session, "Nobody answered").await;
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert_eq!(prompts[1]["follows"], id(&first));
    let asks = server
        .api()
        .get(&format!("/api/v1/asks?session={session}"))
        .await;
    let asks = asks["asks"].as_array().expect("it is a list");
    assert!(asks.len() > 1, "{asks:#?}");
    assert!(
        asks.iter().all(|ask| ask["state"] == "expired"),
        "{asks:#?}"
    );
    assert!(!server.workspace().join("never.txt").exists());
    server.stop().await;
}
