//! Jobs whose engine forgets what it asked for while its tool goes on waiting.

use countersign_testkit::scripted_opencode::Trace;
use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn a_job_whose_ask_the_engine_forgot_ends_with_that_as_its_reason() {
    let mut scene = Scene::set().await;
    let api = scene.server.api();
    let id = api
        .hand_in(&json!({ "kind": "task", "prompt": "ASK 1", "idle_limit_seconds": 2 }))
        .await;
    let waiting = api.job_in("waiting", &id).await;
    let ask = waiting["open_asks"][0].as_str().expect("it waits for one");
    let request = api.ask(ask).await["raw"]["id"].clone();
    let request = request.as_str().expect("the engine calls it something");
    assert!(scene.control.forget(request, Trace::None).await);
    let ended = api.job_ended(&id).await;
    assert_eq!(ended["state"], "failed", "{ended}");
    assert_eq!(ended["failure"]["code"], "ask_lost", "{ended}");
    assert_eq!(api.ask(ask).await["state"], "withdrawn");
    assert!(
        api.job_log_holds(&id, "What the engine holds is read again")
            .await
    );
    scene.server.stop().await;
}
