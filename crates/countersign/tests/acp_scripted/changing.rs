//! Agents that change what they ask for while somebody is asked: that is another ask, and the answer to the one before
//! never reaches the agent.

use serde_json::{Value, json};

use crate::scene::{DAM, Scene, ask, call, change, id};

/// An agent that asks for one command and, when it is let, for another in the same request.
async fn asks_and_changes(scene: &Scene, before: &[&str]) -> Value {
    let (announced, asking) = (call("call-1", "echo one"), ask("7", "call-1", "echo one"));
    let changed = change("call-1", "echo two");
    let mut steps = before.to_vec();
    steps.extend([
        announced.as_str(),
        asking.as_str(),
        "AWAIT FILE change",
        &changed,
    ]);
    steps.extend(["AWAIT FILE read", "AWAIT REPLY 7"]);
    scene.play(&steps).await;
    scene.asked("echo one").await
}

#[tokio::test]
async fn what_is_changed_is_asked_anew_and_only_the_new_answer_counts() {
    let scene = Scene::set().await;
    let one = asks_and_changes(&scene, &[]).await;
    scene.go("change");
    let two = scene.asked("echo two").await;
    assert_ne!(id(&one), id(&two));
    assert_eq!(two["subject"]["shown"][0]["text"], "echo two", "{two}");
    let one = scene.settled(&one).await;
    assert_eq!(one["state"], "withdrawn");
    assert_eq!(
        one["why"], "the agent changed what it asks for, and asks anew",
        "{one}"
    );
    let yes = json!({ "answer": "allow_once" });
    let api = scene.server.api();
    api.answer(id(&one), &yes).await.expect(410);
    scene.go("read");
    assert_eq!(scene.picked(&json!(7)), [""; 0]);
    scene.allow(&two).await;
    assert_eq!(scene.settled(&two).await["state"], "delivered");
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(scene.picked(&json!(7)), ["yes"]);
}

#[tokio::test]
async fn an_answer_that_has_not_left_is_not_sent_for_what_is_changed() {
    let scene = Scene::set().await;
    let one = asks_and_changes(&scene, &[DAM]).await;
    scene.allow(&one).await;
    scene.go("change");
    let two = scene.asked("echo two").await;
    let one = scene.settled(&one).await;
    assert_eq!(one["state"], "undeliverable", "{one}");
    scene.deny(&two).await;
    scene.go("read");
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(scene.settled(&two).await["state"], "delivered");
    assert_eq!(scene.picked(&json!(7)), ["no"]);
}

#[tokio::test]
async fn what_is_changed_while_no_server_is_there_is_asked_anew_by_the_next() {
    let mut scene = Scene::set().await;
    let one = asks_and_changes(&scene, &[DAM]).await;
    // Not even an answer that was accepted: the agent has not got it, and now it would be for something else.
    scene.allow(&one).await;
    scene.server.kill();
    scene.go("change");
    scene.server.restart().await;
    let two = scene.asked("echo two").await;
    assert_eq!(scene.settled(&one).await["state"], "undeliverable");
    // Nor does the one after that know it any better.
    scene.next_server().await;
    assert_eq!(id(&scene.asked("echo two").await), id(&two));
    scene.deny(&two).await;
    scene.go("read");
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(scene.picked(&json!(7)), ["no"]);
    scene.server.stop().await;
}

#[tokio::test]
async fn a_rule_for_what_was_asked_first_does_not_answer_what_came_of_it() {
    let scene = Scene::set().await;
    scene.rule("echo one", "allow").await;
    let (announced, asking) = (call("call-1", "echo two"), ask("7", "call-1", "echo two"));
    let (to_one, to_three) = (change("call-1", "echo one"), change("call-1", "echo three"));
    // It is what the rule allows for a moment, behind a dam that keeps the rule's answer from leaving.
    let steps = [
        DAM,
        &announced,
        &asking,
        &to_one,
        &to_three,
        "AWAIT FILE read",
        "AWAIT REPLY 7",
    ];
    scene.play(&steps).await;
    let three = scene.asked("echo three").await;
    scene.deny(&three).await;
    scene.go("read");
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(scene.picked(&json!(7)), ["no"]);
}

#[tokio::test]
async fn an_agent_that_keeps_changing_its_mind_is_refused() {
    let scene = Scene::set().await;
    let (announced, asking) = (call("call-1", "echo 0"), ask("7", "call-1", "echo 0"));
    let changes: Vec<String> = (1..40)
        .map(|number| change("call-1", &format!("echo {number}")))
        .collect();
    let mut steps = vec![announced.as_str(), &asking];
    steps.extend(changes.iter().map(String::as_str));
    steps.push("AWAIT REPLY 7");
    scene.play(&steps).await;
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(scene.picked(&json!(7)), ["cancelled"]);
    assert!(scene.server.api().open_asks().await.is_empty());
    let notices = scene.items("notice").await;
    assert!(
        notices
            .iter()
            .any(|notice| notice["text"].to_string().contains("kept changing"))
    );
}
