//! Prompts that are written while opencode is at work: they wait here, one after the other, and can be taken back.

use std::collections::BTreeSet;

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::scene::Scene;

impl Scene {
    /// What waits, in its order.
    async fn queued(&self) -> Vec<String> {
        let session = self.server.api().session(&self.session).await;
        let queued = session["queued"].as_array().cloned().unwrap_or_default();
        let text = |turn: &Value| turn["text"].as_str().expect("it has words").to_owned();
        queued.iter().map(text).collect()
    }

    async fn turn_that_says(&self, text: &str) -> Value {
        let session = self.server.api().session(&self.session).await;
        let mut queued = session["queued"].as_array().expect("some wait").iter();
        let found = queued.find(|turn| turn["text"] == text);
        found.expect("it waits")["turn"].clone()
    }

    /// Has the engine work until an ask is answered, and returns the ask.
    async fn is_at_work(&self) -> String {
        let api = self.server.api();
        api.prompt(&self.session, "ASK 1").await;
        let ask = api.wait_for_ask_of(&self.session).await;
        ask["id"].as_str().expect("it has an id").to_owned()
    }

    /// What the engine was told by people, in its order.
    async fn told(&self) -> Vec<String> {
        let path = format!("/session/{}/message", self.native);
        let messages = self.server.engine().get(&path).await;
        let messages = messages.as_array().expect("a list").iter();
        let said = messages.filter(|message| message["info"]["role"] == "user");
        said.map(|message| {
            message["parts"][0]["text"]
                .as_str()
                .expect("it has words")
                .to_owned()
        })
        .collect()
    }

    async fn has_heard(&self, expected: &[&str]) {
        eventually(PATIENCE, "the engine has heard it all", async || {
            (self.told().await == expected).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn what_is_said_while_the_engine_works_waits_and_can_be_taken_back() {
    let scene = Scene::set().await;
    let api = scene.server.api();
    let ask = scene.is_at_work().await;
    for text in ["once more\nASK 1", "the third", "the fourth"] {
        api.prompt(&scene.session, text).await;
    }
    assert_eq!(
        scene.queued().await,
        ["once more\nASK 1", "the third", "the fourth"]
    );
    assert_eq!(scene.told().await, ["ASK 1"], "the others wait here");

    let path = format!("/api/v1/sessions/{}/take-back", scene.session);
    let third = json!({ "turn": scene.turn_that_says("the third").await });
    let left = api.post(&path, &third).await.expect(200);
    assert_eq!(left["queued"].as_array().unwrap().len(), 2, "{left}");
    api.post(&path, &third).await.expect(409);

    // Each is said when the one before it has come to its end, and no sooner.
    scene.allow(&ask).await;
    let second = api
        .wait_for_ask("the second turn asks", |it| {
            it["id"] != ask.as_str() && it["session"] == scene.session.as_str()
        })
        .await;
    assert_eq!(scene.told().await, ["ASK 1", "once more\nASK 1"]);
    assert_eq!(scene.queued().await, ["the fourth"]);
    scene.allow(second["id"].as_str().unwrap()).await;
    scene
        .has_heard(&["ASK 1", "once more\nASK 1", "the fourth"])
        .await;
    let outcome = api.turn_outcome(&scene.session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
    assert_eq!(scene.queued().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_waits_outlives_the_server_and_is_said_once() {
    let mut scene = Scene::set().await;
    let ask = scene.is_at_work().await;
    scene.server.api().prompt(&scene.session, "later").await;
    scene.server.kill();
    scene.server.restart().await;
    scene.server.api().wait_for_engine().await;
    assert_eq!(scene.queued().await, ["later"]);
    assert_eq!(scene.told().await, ["ASK 1"]);
    scene.allow(&ask).await;
    scene.has_heard(&["ASK 1", "later"]).await;
    let outcome = scene.server.api().turn_outcome(&scene.session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
}

#[tokio::test]
async fn who_stops_the_engine_takes_back_what_waits_for_it() {
    let scene = Scene::set().await;
    let api = scene.server.api();
    scene.is_at_work().await;
    api.prompt(&scene.session, "never").await;
    let path = format!("/api/v1/sessions/{}/cancel", scene.session);
    api.post(&path, &json!({})).await.expect(200);
    assert_eq!(scene.queued().await, Vec::<String>::new());
    scene.is_stopped().await;
    api.prompt(&scene.session, "instead").await;
    scene.has_heard(&["ASK 1", "instead"]).await;
    let outcome = api.turn_outcome(&scene.session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
}

#[tokio::test]
async fn prompts_that_come_at_once_are_all_said() {
    let scene = Scene::set().await;
    let api = scene.server.api();
    let prompt = |text| api.prompt(&scene.session, text);
    tokio::join!(
        prompt("one"),
        prompt("two"),
        prompt("three"),
        prompt("four")
    );
    let expected: BTreeSet<String> = ["one", "two", "three", "four"].map(str::to_owned).into();
    eventually(PATIENCE, "the engine has heard them all", async || {
        let told: BTreeSet<String> = scene.told().await.into_iter().collect();
        (told == expected).then_some(())
    })
    .await;
    assert_eq!(scene.told().await.len(), expected.len(), "each once");
}
