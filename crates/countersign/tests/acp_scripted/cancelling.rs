//! Turns that are cancelled: whatever is on its way at that moment, nothing is allowed any more.

use countersign_testkit::eventually;
use countersign_testkit::scripted_agent::{Deed, Manner};
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::scene::{DAM, Scene, ask, call, id};

/// An agent that asks when it has not read yet that its turn is cancelled.
async fn asks_across_a_cancel(scene: &Scene, command: &str) -> Value {
    let asking = ask("7", "call-1", command);
    let steps = ["AWAIT FILE go", &asking, "AWAIT REPLY 7", "AWAIT CANCEL"];
    scene.play(&steps).await;
    eventually(PATIENCE, "the agent has the prompt", async || {
        (!scene.prompts().is_empty()).then_some(())
    })
    .await;
    scene.cancel().await;
    scene.go("go");
    assert_eq!(scene.outcome().await, "cancelled");
    assert_eq!(scene.picked(&json!(7)), ["cancelled"]);
    let path = format!("/api/v1/asks?session={}", scene.session);
    let asks = scene.server.api().get(&path).await;
    let asks = asks["asks"].as_array().expect("it is a list");
    assert_eq!(asks.len(), 1, "{asks:#?}");
    asks[0].clone()
}

#[tokio::test]
async fn an_ask_that_crosses_the_cancel_is_withdrawn_at_once() {
    let scene = Scene::set().await;
    let asked = asks_across_a_cancel(&scene, "echo late").await;
    assert_eq!(asked["state"], "withdrawn");
    assert_eq!(asked["why"], "the turn was cancelled");
    let late = json!({ "answer": "allow_once" });
    let api = scene.server.api();
    api.answer(id(&asked), &late).await.expect(410);
    assert_eq!(scene.picked(&json!(7)), ["cancelled"]);
}

#[tokio::test]
async fn no_rule_allows_what_crosses_the_cancel() {
    let scene = Scene::set().await;
    scene.rule("echo late", "allow").await;
    let asked = asks_across_a_cancel(&scene, "echo late").await;
    assert_eq!(asked["answer"]["by"]["kind"], "rule", "{asked}");
    assert_eq!(asked["state"], "undeliverable");
}

/// Has the agent ask, and read nothing until it is let.
async fn asks_behind_a_dam(scene: &Scene) -> Value {
    let asking = ask("7", "call-1", "echo dammed");
    let steps = [
        DAM,
        &asking,
        "AWAIT FILE read",
        "AWAIT CANCEL",
        "AWAIT REPLY 7",
    ];
    scene.play(&steps).await;
    scene.asked("echo dammed").await
}

#[tokio::test]
async fn an_answer_that_has_not_left_is_taken_back_by_the_cancel() {
    let scene = Scene::set().await;
    let asked = asks_behind_a_dam(&scene).await;
    scene.allow(&asked).await;
    scene.cancel().await;
    scene.go("read");
    assert_eq!(scene.outcome().await, "cancelled");
    assert_eq!(scene.settled(&asked).await["state"], "undeliverable");
    assert_eq!(scene.picked(&json!(7)), ["cancelled"]);
}

#[tokio::test]
async fn a_cancel_that_the_agent_has_not_read_is_told_by_the_next_server() {
    let mut scene = Scene::set().await;
    let asked = asks_behind_a_dam(&scene).await;
    scene.cancel().await;
    assert_eq!(scene.settled(&asked).await["state"], "withdrawn");
    assert_eq!(scene.count("session/cancel"), 0);
    scene.next_server().await;
    scene.go("read");
    assert_eq!(scene.outcome().await, "cancelled");
    assert_eq!(scene.picked(&json!(7)), ["cancelled"]);
    assert_eq!(scene.count("session/cancel"), 1);
    scene.server.stop().await;
}

#[tokio::test]
async fn a_turn_that_is_cancelled_while_its_agent_starts_is_never_begun() {
    for dies in [false, true] {
        let gate = tempfile::tempdir().expect("a directory can be made");
        let gate = gate.path().join("open");
        std::fs::create_dir_all(gate.parent().expect("it has one")).expect("it can be made");
        std::fs::write(&gate, "").expect("it can be written");
        let manner = Manner {
            deeds: vec![("initialize".to_owned(), Deed::Await(gate.clone()))],
            ..Manner::default()
        };
        let mut scene = Scene::with(manner, "").await;
        scene.play(&["EXIT 0"]).await;
        assert_eq!(scene.outcome().await, "failed");
        std::fs::remove_file(&gate).expect("it is there");
        scene.play(&["END never"]).await;
        eventually(PATIENCE, "the next life is greeted", async || {
            (scene.count("initialize") == 2).then_some(())
        })
        .await;
        scene.cancel().await;
        if dies {
            scene.server.kill();
            std::fs::write(&gate, "").expect("it can be written");
            scene.server.restart().await;
        } else {
            std::fs::write(&gate, "").expect("it can be written");
        }
        assert_eq!(scene.outcome().await, "cancelled");
        assert_eq!(scene.prompts(), ["EXIT 0"]);
        scene.server.stop().await;
    }
}

#[tokio::test]
async fn a_denial_that_is_cancelled_meanwhile_is_not_explained() {
    let scene = Scene::set().await;
    for round in 0..12_u32 {
        let request = (100 + round).to_string();
        let (called, command) = (format!("call-{round}"), format!("echo {round}"));
        let (announced, asking) = (call(&called, &command), ask(&request, &called, &command));
        let reply = format!("AWAIT REPLY {request}");
        scene
            .play(&[&announced, &asking, &reply, "AWAIT CANCEL"])
            .await;
        let asked = scene.asked(&command).await;
        let denial = json!({ "answer": "deny", "reason": "not now" });
        let cancelled = async {
            tokio::time::sleep(std::time::Duration::from_millis(u64::from(round % 4))).await;
            scene.cancel().await;
        };
        tokio::join!(scene.server.api().answer(id(&asked), &denial), cancelled);
        scene.settled(&asked).await;
        assert_eq!(scene.outcome().await, "cancelled", "round {round}");
    }
    scene.play(&["END end_turn"]).await;
    assert_eq!(scene.outcome_of("END").await["outcome"], "completed");
    assert_eq!(scene.prompts().len(), 13, "{:#?}", scene.prompts());
}
