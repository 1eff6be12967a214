//! The draft of version 2 of the protocol: a turn ends when the agent says that it does nothing any more.

use countersign_testkit::scripted_agent::Manner;
use serde_json::json;

use crate::scene::{Scene, ask, state};

async fn scene() -> Scene {
    let manner = Manner {
        is_two: true,
        ..Manner::default()
    };
    Scene::with(manner, "").await
}

#[tokio::test]
async fn a_turn_goes_on_until_the_agent_does_nothing_any_more() {
    let mut scene = scene().await;
    let running = state(&json!({ "state": "running" }));
    let asking = ask("7", "call-1", "echo two");
    scene.play(&[&running, &asking, "AWAIT REPLY 7"]).await;
    let asked = scene.asked("echo two").await;
    // The version is known to the next server.
    scene.next_server().await;
    scene.allow(&asked).await;
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(scene.picked(&json!(7)), ["yes"]);
    scene.server.stop().await;
}

#[tokio::test]
async fn what_is_said_again_of_the_turn_before_does_not_end_the_next() {
    let scene = scene().await;
    let again = state(&json!({ "state": "idle", "stopReason": "end_turn" }));
    scene
        .play(&["one", "END end_turn", "AWAIT FILE later", &again])
        .await;
    assert_eq!(scene.outcome_of("one").await["outcome"], "completed");
    let running = state(&json!({ "state": "running" }));
    let asking = ask("7", "call-1", "echo two");
    // The prompt is on its way when the agent repeats itself.
    scene
        .play(&["two", &running, &asking, "AWAIT REPLY 7", "END refusal"])
        .await;
    scene.go("later");
    let asked = scene.asked("echo two").await;
    scene.allow(&asked).await;
    let ended = scene.outcome_of("two").await;
    assert_eq!(ended["outcome"], "failed");
    assert_eq!(scene.picked(&json!(7)), ["yes"]);
}

#[tokio::test]
async fn an_agent_that_gives_no_reason_has_still_come_to_an_end() {
    let scene = scene().await;
    let running = state(&json!({ "state": "running" }));
    let idle = state(&json!({ "state": "idle" }));
    // Before it works that means nothing.
    scene.play(&[&idle, &running, &idle, "AWAIT CANCEL"]).await;
    assert_eq!(scene.outcome().await, "completed");
    assert!(scene.items("notice").await.is_empty());
    scene.play(&[&running, "AWAIT CANCEL", &idle]).await;
    scene.cancel().await;
    assert_eq!(scene.outcome().await, "cancelled");
}
