//! Workspaces that go and come back, and engines that are begun anew, with everything that hangs on them.

use countersign_testkit::eventually;
use countersign_testkit::test_server::{Api, PATIENCE};
use reqwest::Method;
use serde_json::json;

use crate::scene::Scene;

async fn only_workspace(api: &Api) -> String {
    let list = api.get("/api/v1/workspaces").await;
    list["workspaces"][0]["id"]
        .as_str()
        .expect("one is served")
        .to_owned()
}

async fn remove(api: &Api, workspace: &str) -> u16 {
    let path = format!("/api/v1/workspaces/{workspace}");
    let reply = Api::send(api.request(Method::DELETE, &path)).await;
    reply.expect("the server answers").status.as_u16()
}

#[tokio::test]
async fn a_workspace_that_is_removed_leaves_nothing_running_and_comes_back_with_its_history() {
    let mut scene = Scene::set().await;
    let ask = scene.ask("echo roses").await;
    // An ACP agent of the workspace, too.
    let api = scene.server.api();
    let demo = api.start_session_with("demo").await;
    api.prompt(&demo, "ASK 1").await;
    let workspace = only_workspace(api).await;
    assert!(!scene.server.engines().is_empty());
    assert!(!scene.server.agents().is_empty());

    assert_eq!(remove(api, &workspace).await, 204);
    // When it says so, nothing is left: no keeper, no engine, no agent.
    assert!(scene.server.engines().is_empty());
    assert!(scene.server.agents().is_empty());
    let over = api.ask(&ask).await;
    assert_eq!(over["state"], "withdrawn", "{over}");
    assert!(api.open_asks().await.is_empty());
    let list = api.get("/api/v1/workspaces").await;
    assert_eq!(list["workspaces"], json!([]));
    let session = json!({ "engine": "demo", "workspace": workspace });
    api.post("/api/v1/sessions", &session).await.expect(404);
    assert_eq!(remove(api, &workspace).await, 404);

    // Its ledger is kept, and it can be added again.
    let path = scene.server.workspace().to_owned();
    let added = api
        .post("/api/v1/workspaces", &json!({ "path": path }))
        .await
        .expect(201);
    assert_eq!(added["id"], workspace.as_str());
    assert_eq!(api.ask(&ask).await["state"], "withdrawn");
    api.wait_for_engine().await;
    let again = api.start_session().await;
    assert_eq!(api.session(&again).await["workspace"], workspace.as_str());
    scene.server.stop().await;
    scene.server.wait_until_nothing_runs().await;
}

#[tokio::test]
async fn what_somebody_added_is_served_by_the_next_server_too() {
    let mut scene = Scene::set().await;
    let folder = tempfile::tempdir().expect("a folder");
    let added = json!({ "path": folder.path(), "name": "Orchard" });
    let api = scene.server.api();
    let added = api.post("/api/v1/workspaces", &added).await.expect(201);
    scene.server.kill();
    scene.server.restart().await;
    let list = scene.server.api().get("/api/v1/workspaces").await;
    let names: Vec<_> = list["workspaces"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["name"].clone())
        .collect();
    assert!(names.contains(&json!("Orchard")), "{names:?}");
    let id = added["id"].as_str().expect("an id");
    assert_eq!(remove(scene.server.api(), id).await, 204);
    scene.server.kill();
    scene.server.restart().await;
    let list = scene.server.api().get("/api/v1/workspaces").await;
    assert!(!list.to_string().contains("Orchard"), "{list}");
}

#[tokio::test]
async fn an_engine_that_is_restarted_ends_with_its_asks_and_begins_another_life() {
    let mut scene = Scene::set().await;
    let ask = scene.ask("echo roses").await;
    let workspace = only_workspace(scene.server.api()).await;
    let before = scene.server.engine();
    let path = format!("/api/v1/workspaces/{workspace}/engine/restart");
    scene.server.api().post(&path, &json!({})).await.expect(202);
    scene.meet_next_engine(&before.run).await;
    let over = scene.server.api().settled(&ask).await;
    assert_eq!(over["state"], "withdrawn", "{over}");
    eventually(PATIENCE, "the first life is over", async || {
        let engines = scene.server.engines();
        engines
            .iter()
            .all(|engine| engine.run != before.run)
            .then_some(())
    })
    .await;
    // The next life works as the first did.
    let session = scene.server.api().start_session().await;
    let native = scene.server.api().session(&session).await["native_id"].clone();
    scene.native = native.as_str().expect("it has one").to_owned();
    let ask = scene.ask("echo tulips").await;
    scene.allow(&ask).await;
    assert_eq!(scene.server.api().settled(&ask).await["state"], "delivered");
}
