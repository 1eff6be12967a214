//! The draft of version 2 of the protocol, with the agents that speak it.

use countersign_testkit::RealAgent;
use serde_json::json;

use crate::scene::{Scene, engine, id};

/// The draft of version 2, for the agents that speak it: the same promises.
async fn the_draft_is_spoken(agent: RealAgent) {
    let settings = format!("[[agents]]\nname = '{}'\nprotocol = 'two'\n", engine(agent));
    let mut scene = Scene::with(agent, &settings).await;
    let ask = scene.ask("touch allowed.txt").await;
    assert!(!scene.has("allowed.txt"));
    assert!(
        ask["raw"]["request"]["subject"].is_object(),
        "it speaks version 1: {ask}"
    );
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("allowed.txt"));

    let ask = scene.ask("touch denied.txt").await;
    let denial = json!({ "answer": "deny" });
    assert_eq!(scene.answer(&ask, &denial).await["state"], "delivered");
    let ended = scene.comes_to_rest().await;
    let expected = match agent {
        RealAgent::Codex => "denied",
        RealAgent::Opencode | RealAgent::Claude | RealAgent::Gemini => "completed",
    };
    assert_eq!(ended, expected);
    assert!(!scene.has("denied.txt"));

    let ask = scene.ask("touch cancelled.txt").await;
    scene.cancel().await.expect(200);
    assert_eq!(
        scene.server.api().settled(id(&ask)).await["state"],
        "withdrawn"
    );
    assert_eq!(scene.comes_to_rest().await, "cancelled");

    scene.ask_outlives_the_server().await;

    let lost = scene.ask("touch lost.txt").await;
    let life = scene.life();
    scene.server.agents().remove(0).kill();
    let lost = scene.server.api().settled(id(&lost)).await;
    assert_eq!(lost["why"], "the engine is gone");
    let ask = scene.ask("touch found.txt").await;
    assert_ne!(scene.life(), life);
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("found.txt"));
    for file in ["denied.txt", "cancelled.txt", "lost.txt"] {
        assert!(!scene.has(file), "{file}");
    }
    let notices = scene.server.api().items(&scene.session).await.into_iter();
    let mut notices = notices.filter(|item| item["kind"] == "notice");
    let unknown = notices.find(|item| item["text"].to_string().contains("not known here"));
    assert_eq!(unknown, None);
    scene.comes_to_an_end().await;
}

#[tokio::test]
async fn claude_speaks_the_draft() {
    the_draft_is_spoken(RealAgent::Claude).await;
}

#[tokio::test]
async fn codex_speaks_the_draft() {
    the_draft_is_spoken(RealAgent::Codex).await;
}
