//! Workspaces that come, get another name and go while the server runs, over HTTP.

use countersign_broker::{ChangeSettings, WorkspaceList};
use countersign_core::event::{EventBody, WorkspaceChange};
use countersign_core::grant::Role;
use countersign_core::id::WorkspaceId;
use http::Method;
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::Stage;

fn names(list: &Value) -> Vec<String> {
    let all = list["workspaces"].as_array().unwrap().iter();
    all.map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

async fn listed(client: &Client) -> Vec<String> {
    names(&client.get("/api/v1/workspaces").await.json())
}

async fn rename(client: &Client, id: &str, name: &str) -> crate::client::Reply {
    let body = json!({ "name": name }).to_string();
    let client = client.with("content-type", "application/json");
    client
        .send(Method::PATCH, &format!("/api/v1/workspaces/{id}"), body)
        .await
}

#[tokio::test]
async fn a_workspace_comes_gets_another_name_and_goes_and_everybody_hears_of_it() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("orchard");
    std::fs::create_dir(&path).unwrap();
    let path = path.to_str().unwrap();

    let added = owner
        .post("/api/v1/workspaces", &json!({ "path": path }))
        .await;
    assert_eq!(added.status, 201, "{added:?}");
    let view = added.json();
    assert_eq!(view["name"], "orchard");
    assert_eq!(view["path"], path);
    let id = view["id"].as_str().unwrap().to_owned();
    assert_eq!(listed(&owner).await, ["project", "orchard"]);
    let twice = owner
        .post("/api/v1/workspaces", &json!({ "path": path }))
        .await;
    assert_eq!(twice.status, 409, "{twice:?}");
    // The next server serves it too.
    let kept = stage.store.kept_workspaces().await.unwrap();
    assert_eq!(kept[0].0.id.to_string(), id);

    let renamed = rename(&owner, &id, "  Apple trees ").await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    assert_eq!(renamed.json()["name"], "Apple trees");
    assert_eq!(listed(&owner).await, ["project", "Apple trees"]);
    for name in ["", "   ", "two\nlines", &"x".repeat(81)] {
        assert_eq!(rename(&owner, &id, name).await.status, 422, "{name:?}");
    }
    assert_eq!(listed(&owner).await, ["project", "Apple trees"]);

    let removed = owner.delete(&format!("/api/v1/workspaces/{id}")).await;
    assert_eq!(removed.status, 204, "{removed:?}");
    assert_eq!(listed(&owner).await, ["project"]);
    assert!(stage.store.kept_workspaces().await.unwrap().is_empty());
    let again = owner.delete(&format!("/api/v1/workspaces/{id}")).await;
    assert_eq!(again.status, 404, "{again:?}");

    // Its ledger is kept: it comes back as what it was.
    let back = owner
        .post(
            "/api/v1/workspaces",
            &json!({ "path": path, "name": "Orchard" }),
        )
        .await;
    assert_eq!(back.status, 201, "{back:?}");
    assert_eq!(back.json()["id"], id.as_str());
    assert_eq!(listed(&owner).await, ["project", "Orchard"]);
    let told = stage.broker.events_after(0, 500).await.unwrap();
    let told: Vec<_> = told
        .iter()
        .filter(|event| event.workspace.to_string() == id)
        .filter_map(|event| {
            let EventBody::WorkspaceChanged { change } = &event.body else {
                return None;
            };
            Some(*change)
        })
        .collect();
    assert_eq!(
        told,
        [
            WorkspaceChange::Added,
            WorkspaceChange::Renamed,
            WorkspaceChange::Removed,
            WorkspaceChange::Renamed,
            WorkspaceChange::Added
        ]
    );
    let chain = owner.get("/api/v1/audit/verify").await;
    assert_eq!(chain.status, 200, "{chain:?}");
}

#[tokio::test]
async fn what_waits_in_a_workspace_that_is_removed_is_withdrawn_and_never_written() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let collaborator = stage.client(Role::Collaborator).await;
    let id = stage.workspace.to_string();
    let path = stage.broker.workspaces()[0].0.path.clone();
    let changes = format!("/api/v1/workspaces/{id}/changes");
    let change = json!({ "kind": "add_plugin", "spec": "notes" });
    let preview = collaborator
        .post(&format!("{changes}/preview"), &json!({ "change": change }))
        .await
        .json();
    let body = json!({ "change": change, "digest": preview["digest"] });
    let proposed = collaborator.post(&changes, &body).await;
    assert_eq!(proposed.status, 202, "{proposed:?}");
    let ask = proposed.json()["ask"]["id"].as_str().unwrap().to_owned();

    let removed = owner.delete(&format!("/api/v1/workspaces/{id}")).await;
    assert_eq!(removed.status, 204, "{removed:?}");
    let over = owner.get(&format!("/api/v1/asks/{ask}")).await.json();
    assert_eq!(over["state"], "withdrawn", "{over}");
    assert!(over["why"].as_str().unwrap().contains("removed"), "{over}");
    let allow = json!({ "answer": "allow_once" });
    let late = format!("/api/v1/asks/{ask}/answer");
    let late = owner.post(&late, &allow).await;
    assert_eq!(late.status, 410, "{late:?}");
    assert!(!std::path::Path::new(&path).join("opencode.jsonc").exists());
    let holdings = format!("/api/v1/workspaces/{id}/holdings");
    let holdings = owner.get(&holdings).await;
    assert_eq!(holdings.status, 404, "{holdings:?}");
    let again = collaborator.post(&changes, &body).await;
    assert_eq!(again.status, 404, "{again:?}");
}

#[tokio::test]
async fn what_can_be_no_workspace_is_refused_and_nothing_is_added() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let data = stage.socket.parent().unwrap().canonicalize().unwrap();
    let inside = data.join("kept");
    std::fs::create_dir(&inside).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let paths = [
        "relative/folder",
        "/nowhere/at/all",
        file.path().to_str().unwrap(),
        // The ledger is there: an agent could write to it.
        inside.to_str().unwrap(),
        data.to_str().unwrap(),
        data.parent().unwrap().to_str().unwrap(),
    ];
    for path in paths {
        let refused = owner
            .post("/api/v1/workspaces", &json!({ "path": path }))
            .await;
        assert_eq!(refused.status, 422, "{path}: {refused:?}");
        assert_eq!(refused.json()["details"]["field"], "path", "{refused:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let named = json!({ "path": folder.path(), "name": " " });
    assert_eq!(owner.post("/api/v1/workspaces", &named).await.status, 422);
    assert_eq!(listed(&owner).await, ["project"]);
    assert!(stage.store.kept_workspaces().await.unwrap().is_empty());
    let unknown = WorkspaceId::generate(crate::stage::now()).to_string();
    assert_eq!(rename(&owner, &unknown, "x").await.status, 404);
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_neither_restarted_nor_reloaded() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    for act in ["restart", "reload"] {
        let path = format!("/api/v1/workspaces/{}/engine/{act}", stage.workspace);
        let refused = owner.send(Method::POST, &path, "").await;
        assert_eq!(refused.status, 422, "{act}: {refused:?}");
        let message = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("no engine"), "{message}");
    }
}

#[tokio::test]
async fn where_another_surface_has_the_list_it_is_not_changed_here() {
    let stage = Stage::changing(ChangeSettings {
        workspaces: WorkspaceList::Elsewhere,
        ..ChangeSettings::default()
    })
    .await;
    let owner = stage.client(Role::Owner).await;
    let folder = tempfile::tempdir().unwrap();
    let add = json!({ "path": folder.path() });
    assert_eq!(owner.post("/api/v1/workspaces", &add).await.status, 409);
    let id = stage.workspace.to_string();
    assert_eq!(rename(&owner, &id, "x").await.status, 409);
    let removed = owner.delete(&format!("/api/v1/workspaces/{id}")).await;
    assert_eq!(removed.status, 409);
    assert_eq!(listed(&owner).await, ["project"]);
}
