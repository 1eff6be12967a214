//! What a killed server owed the agent is given by the next one, and what an agent leaves behind is closed.

use std::time::Duration;

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::scene::{DAM, Scene, ask, call, request};

#[tokio::test]
async fn requests_that_are_in_no_outbox_are_answered_by_the_next_server() {
    let mut scene = Scene::set().await;
    let unknown = request("100", "craft/drain_queue", &json!({}));
    let foreign = ask("101", "call-9", "echo foreign").replace("$SESSION", "somebody-elses");
    let (announced, asking) = (call("call-1", "echo on"), ask("7", "call-1", "echo on"));
    let steps = [
        DAM,
        &unknown,
        &foreign,
        &announced,
        &asking,
        "AWAIT FILE read",
        "AWAIT REPLY 100",
        "AWAIT REPLY 101",
        "AWAIT REPLY 7",
    ];
    scene.play(&steps).await;
    // What came before it was taken in, and nothing of that has reached the agent: it does not read.
    let asked = scene.asked("echo on").await;
    scene.next_server().await;
    scene.go("read");
    scene.allow(&asked).await;
    assert_eq!(scene.outcome().await, "completed");
    for (id, code) in [(100, -32_601), (101, -32_602)] {
        let replies = scene.replies(&json!(id));
        assert_eq!(replies.len(), 1, "{replies:#?}");
        assert_eq!(replies[0]["error"]["code"], code);
    }
    assert_eq!(scene.picked(&json!(7)), ["yes"]);
    scene.server.stop().await;
}

#[tokio::test]
async fn an_ask_that_the_agent_takes_back_is_withdrawn_however_its_id_is_written() {
    let scene = Scene::set().await;
    let asking = ask(r#""\u0061-1""#, "call-1", "echo gone");
    let back = json!({
        "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": "a-1" },
    });
    let back = back.to_string();
    let steps = [
        asking.as_str(),
        "AWAIT FILE go",
        &back,
        r#"AWAIT REPLY "a-1""#,
    ];
    scene.play(&steps).await;
    let asked = scene.asked("echo gone").await;
    scene.go("go");
    assert_eq!(scene.settled(&asked).await["state"], "withdrawn");
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(scene.picked(&json!("a-1")), ["cancelled"]);
}

fn statuses(tools: &[Value]) -> Vec<&str> {
    let statuses = tools.iter().map(|tool| tool["status"].as_str());
    statuses
        .map(|status| status.expect("it is a word"))
        .collect()
}

#[tokio::test]
async fn tools_that_the_agent_leaves_running_are_closed_with_the_turn() {
    let scene = Scene::set().await;
    let running = call("call-1", "sleep 1000").replace("pending", "in_progress");
    scene.play(&[&running, &call("call-2", "echo later")]).await;
    assert_eq!(scene.outcome().await, "completed");
    assert_eq!(statuses(&scene.items("tool").await), ["failed", "failed"]);
}

#[tokio::test]
async fn tools_of_an_agent_that_ended_with_its_keeper_are_closed_by_the_next_server() {
    let mut scene = Scene::set().await;
    let running = call("call-1", "sleep 1000").replace("pending", "in_progress");
    let asking = ask("7", "call-2", "echo on");
    scene.play(&[&running, &asking, "AWAIT REPLY 7"]).await;
    let asked = scene.asked("echo on").await;
    eventually(PATIENCE, "the tool is shown", async || {
        let tools = scene.items("tool").await;
        statuses(&tools).contains(&"running").then_some(())
    })
    .await;
    let agent = scene.server.agents().remove(0);
    scene.server.kill();
    agent.kill_keeper();
    scene.server.restart().await;
    assert_eq!(scene.outcome().await, "failed");
    assert_eq!(scene.settled(&asked).await["state"], "withdrawn");
    let tools = scene.items("tool").await;
    assert!(
        statuses(&tools).iter().all(|status| *status == "failed"),
        "{tools:#?}"
    );
    scene.play(&["and on"]).await;
    assert_eq!(scene.outcome_of("and on").await["outcome"], "completed");
    scene.server.stop().await;
}

#[tokio::test]
async fn a_prompt_that_comes_while_the_agent_leaves_is_for_the_next_one() {
    let mut scene = Scene::set().await;
    for round in 0..12 {
        let name = format!("round {round}");
        scene.play(&[&name, "END end_turn", "EXIT 0"]).await;
        assert_eq!(scene.outcome_of(&name).await["outcome"], "completed");
        // It reads nothing any more; whether the server knows that when the next prompt comes is left open.
        let agents = scene.server.agents();
        eventually(PATIENCE, "the agent has ended", async || {
            let all = agents.iter().all(|agent| has_ended(agent.process));
            all.then_some(())
        })
        .await;
    }
    assert_eq!(scene.prompts().len(), 12);
    scene.server.stop().await;
}

#[tokio::test]
async fn a_prompt_that_crosses_the_end_of_the_agent_is_said_once_or_fails_with_it() {
    let mut scene = Scene::set().await;
    for round in 0..12 {
        let name = format!("round {round} of them");
        scene.play(&[&name, "END end_turn", "EXIT 0"]).await;
        let outcome = scene.outcome_of(&name).await;
        let prompts = scene.prompts();
        let said = prompts.iter().filter(|prompt| prompt.contains(&name));
        match outcome["outcome"].as_str() {
            Some("completed") => assert_eq!(said.count(), 1),
            // It was in the input of an agent that read it no more.
            Some("failed") => {
                let reason = outcome["reason"].as_str().unwrap_or_default();
                assert!(reason.starts_with("the agent ended"), "{reason}");
                assert_eq!(said.count(), 0);
            }
            _ => panic!("{outcome}"),
        }
    }
    scene.server.stop().await;
}

#[tokio::test]
async fn a_turn_that_is_written_is_said_though_its_client_hung_up() {
    let mut scene = Scene::set().await;
    scene.play(&["the first"]).await;
    assert_eq!(scene.outcome().await, "completed");
    for round in 0..40 {
        // Whether it is written when nobody waits for it any more is left open, and so is whether it was begun.
        let patience = Duration::from_micros(250 * round);
        drop(tokio::time::timeout(patience, scene.play(&["and on"])).await);
        assert_eq!(scene.outcome().await, "completed");
    }
    scene.server.stop().await;
}

/// Whether a process runs no more; what is left of it may not have been collected.
fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, state)| state);
    state.is_none_or(|state| state.starts_with(['Z', 'X']))
}
