//! The reason of a denial reaches the model though opencode drops it, and whenever the server is killed.

use countersign_testkit::eventually;
use countersign_testkit::scripted_opencode::Faults;
use countersign_testkit::test_server::PATIENCE;
use serde_json::json;

use crate::scene::Scene;

const REASON: &str = "The reason: the moon is full";

fn denial() -> serde_json::Value {
    json!({"answer": "deny", "reason": "the moon is full"})
}

/// Waits until the engine has the reason as a prompt, and returns how often.
async fn times_said(scene: &Scene) -> usize {
    let path = format!("/session/{}/message", scene.native);
    eventually(PATIENCE, "the engine hears the reason", async || {
        let messages = scene.server.engine().get(&path).await.to_string();
        let times = messages.matches(REASON).count();
        (times > 0).then_some(times)
    })
    .await
}

#[tokio::test]
async fn a_server_that_is_killed_when_the_denial_has_arrived_leaves_the_reason_to_the_next() {
    let mut scene = Scene::set().await;
    let (denied, _) = (scene.ask("make install").await, scene.ask("make").await);
    scene.server.stand_still_at("after delivery");
    let api = scene.server.api().clone();
    api.answer(&denied, &denial()).await.expect(200);
    scene.server.wait_until_still("after delivery").await;
    scene.server.kill();
    scene.server.forget_standstill();
    scene.server.restart().await;

    assert_eq!(times_said(&scene).await, 1);
    let outcome = scene.server.api().turn_outcome(&scene.session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
    scene.server.stop().await;
}

#[tokio::test]
async fn a_reason_is_said_though_what_fell_with_its_denial_was_not_known_when_it_was_given() {
    let mut scene = Scene::set().await;
    let denied = scene.ask("make install").await;
    let faults = Faults {
        withhold_asks: true,
        ..Faults::default()
    };
    scene.control.set_faults(&faults).await;
    let fallen = scene.ask_engine("make").await;
    let api = scene.server.api().clone();
    api.answer(&denied, &denial()).await.expect(200);

    assert_eq!(times_said(&scene).await, 1);
    let fallen = scene.ask_in_ledger(&fallen).await;
    let fallen = api.settled(fallen["id"].as_str().unwrap()).await;
    assert_eq!(fallen["state"], "withdrawn", "{fallen}");
    scene.server.stop().await;
}
