//! Jobs whose agents stall, each in its own way, and jobs that are cancelled before there is an agent to tell.

use countersign_testkit::scripted_agent::{Deed, Manner};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::scene::{AGENT, Scene, ask, call, change_status};

/// What is in the log of a job once something was done about its stall.
const LOOKED: &str = "What the engine holds is read again";

fn job(steps: &[&str]) -> Value {
    // The rules are as impatient as the job is.
    json!({ "kind": "task", "engine": AGENT, "prompt": steps.join("\n"), "idle_limit_seconds": 1 })
}

#[tokio::test]
async fn a_shell_command_without_any_process_ends_the_job_with_that_as_its_reason() {
    let scene = Scene::set().await;
    let api = scene.server.api();
    let begun = call("c-1", "sleep 600");
    let runs = change_status("c-1", "in_progress");
    let id = api.hand_in(&job(&[&begun, &runs, "AWAIT CANCEL"])).await;
    let ended = api.job_ended(&id).await;
    assert_eq!(ended["state"], "failed", "{ended}");
    assert_eq!(ended["failure"]["code"], "tool_stuck", "{ended}");
    assert!(api.job_log_holds(&id, LOOKED).await);
    assert_eq!(api.open_asks().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_agent_that_waits_for_leave_which_it_took_back_ends_the_job_with_that_as_its_reason() {
    let scene = Scene::set().await;
    let api = scene.server.api();
    let taken_back = json!({
        "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": "a-1" },
    });
    let (asks, taken_back) = (ask("\"a-1\"", "c-1", "ls"), taken_back.to_string());
    let steps = [asks.as_str(), "AWAIT FILE go", &taken_back, "AWAIT CANCEL"];
    let id = api.hand_in(&job(&steps)).await;
    let waiting = api.job_in("waiting", &id).await;
    scene.go("go");
    let ended = api.job_ended(&id).await;
    assert_eq!(ended["state"], "failed", "{ended}");
    assert_eq!(ended["failure"]["code"], "ask_lost", "{ended}");
    assert!(api.job_log_holds(&id, LOOKED).await);
    // No remedy ever allows anything.
    let ask = waiting["open_asks"][0].as_str().expect("it waits for one");
    assert_eq!(api.ask(ask).await["state"], "withdrawn");
}

#[tokio::test]
async fn a_job_that_is_cancelled_while_its_agent_starts_does_not_wait_for_it() {
    // An agent that is never ready, and one that is not when it is started again.
    for (method, resumes) in [("session/new", false), ("session/resume", true)] {
        let manner = Manner {
            deeds: vec![(method.to_owned(), Deed::Silence)],
            cannot: vec!["load".to_owned()],
            ..Manner::default()
        };
        let scene = Scene::without_session(manner).await;
        let api = scene.server.api();
        let mut wish = job(&["END end_turn"]);
        if resumes {
            let first = api.hand_in(&wish).await;
            assert_eq!(api.job_ended(&first).await["state"], "completed");
            scene.no_agent_is_left().await;
            wish["resume"] = json!({ "job": first });
        }
        let id = api.hand_in(&wish).await;
        scene.an_agent_is_there().await;
        let since = Instant::now();
        api.cancel_job(&id).await;
        let ended = api.job_ended(&id).await;
        assert_eq!(ended["state"], "cancelled", "{ended}");
        scene.no_agent_is_left().await;
        // The agent would have had ten seconds to end a turn that it never heard of.
        assert!(since.elapsed().as_secs() < 8, "{:?}", since.elapsed());
    }
}
