//! Jobs over HTTP: handed in once, found by the beginning of their id, and ended with a reason.

use countersign_core::grant::Role;
use countersign_core::job::{JobId, JobKind};
use countersign_store::EngineStart;
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{Stage, now};

fn task() -> Value {
    json!({ "kind": "task", "prompt": "say hello", "engine": "demo" })
}

/// Hands `body` in and waits until the job has ended.
async fn ended(owner: &Client, body: &Value) -> Value {
    let made = owner.post("/api/v1/jobs", body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    owner.get(&format!("/api/v1/jobs/{id}/ended")).await.json()
}

#[tokio::test]
async fn a_job_whose_engine_cannot_be_started_fails_with_the_reason_and_what_to_do() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let job = ended(&owner, &task()).await;
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(job["failure"]["code"], "engine_unavailable", "{job}");
    assert!(job["failure"]["hint"].as_str().unwrap().contains("doctor"));
    let id = job["id"].as_str().unwrap();
    let log = owner.get(&format!("/api/v1/jobs/{id}/log")).await.json();
    let states: Vec<&str> = log["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["queued", "starting", "failed"], "{log}");
    let after = owner.get(&format!("/api/v1/jobs/{id}/log?after=2")).await;
    assert_eq!(after.json()["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_job_that_is_handed_in_twice_under_one_id_is_one_job() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let mut body = task();
    let id = JobId::generate(JobKind::Task, now());
    body["id"] = json!(id);
    let first = ended(&owner, &body).await;
    let second = owner.post("/api/v1/jobs", &body).await;
    assert_eq!(second.status, 201);
    assert_eq!(second.json()["created_at"], first["created_at"]);
    let listed = owner.get("/api/v1/jobs").await.json();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 1, "{listed}");
    // An id of another kind is no id for it.
    body["id"] = json!(JobId::generate(JobKind::Review, now()));
    assert_eq!(owner.post("/api/v1/jobs", &body).await.status, 422);
}

#[tokio::test]
async fn a_job_is_found_by_the_beginning_of_its_id_if_no_other_begins_like_that() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    for id in ["task-aaaaaa-aaaaaa", "task-aaaaaa-aaaabb"] {
        let mut body = task();
        body["id"] = json!(id);
        ended(&owner, &body).await;
    }
    let found = owner.get("/api/v1/jobs/task-aaaaaa-aaaab").await;
    assert_eq!(found.json()["id"], "task-aaaaaa-aaaabb");
    let ambiguous = owner.get("/api/v1/jobs/task-aaaaaa").await;
    assert_eq!(
        (ambiguous.status, ambiguous.code().as_str()),
        (409, "conflict")
    );
    let candidates = &ambiguous.json()["details"]["candidates"];
    assert_eq!(candidates.as_array().unwrap().len(), 2, "{candidates}");
    for unknown in ["task-zzzzzz", "TASK-aaaaaa", "%25", "..%2f..%2fetc"] {
        let reply = owner.get(&format!("/api/v1/jobs/{unknown}")).await;
        assert_eq!(reply.status, 404, "{unknown}");
    }
}

#[tokio::test]
async fn jobs_are_listed_in_pages_newest_first_and_by_what_they_were_handed_in_with() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let mut made = Vec::new();
    for number in 0..5 {
        let mut body = task();
        body["prompt"] = json!("x".repeat(5_000));
        body["group"] = json!(format!("caller-{}", number % 2));
        made.push(ended(&owner, &body).await["id"].clone());
    }
    made.reverse();
    let mut path = "/api/v1/jobs?limit=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = owner.get(&path).await.json();
        for job in page["jobs"].as_array().unwrap() {
            assert!(job["prompt"].as_str().unwrap().len() <= 500);
            seen.push(job["id"].clone());
        }
        let Some(next) = page["next"].as_str() else {
            break;
        };
        path = format!("/api/v1/jobs?limit=2&before={next}");
    }
    assert_eq!(seen, made);
    for (query, count) in [
        ("group=caller-0", 3),
        ("group=caller-1&state=failed", 2),
        ("state=completed", 0),
        ("group=nobody", 0),
        (&format!("workspace={}", stage.workspace), 5),
        ("directory=/nonexistent", 0),
        // All of them have ended: only the page is left.
        ("limit=2&unended=true", 2),
    ] {
        let listed = owner.get(&format!("/api/v1/jobs?{query}")).await.json();
        assert_eq!(listed["jobs"].as_array().unwrap().len(), count, "{query}");
    }
}

#[tokio::test]
async fn a_directory_that_no_workspace_holds_is_the_local_owners_to_add() {
    let stage = Stage::new().await;
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(elsewhere.path().join("repository/.git")).unwrap();
    std::fs::create_dir_all(elsewhere.path().join("repository/src")).unwrap();
    let mut body = task();
    body["directory"] = json!(elsewhere.path().join("repository/src"));
    let remote = stage.client(Role::Owner).await;
    assert_eq!(remote.post("/api/v1/jobs", &body).await.status, 422);
    let collaborator = stage.client(Role::Collaborator).await;
    assert_eq!(collaborator.post("/api/v1/jobs", &body).await.status, 403);

    let local = Client::local(&stage.socket);
    let job = ended(&local, &body).await;
    let root = elsewhere.path().canonicalize().unwrap().join("repository");
    assert_eq!(job["workspace_path"], json!(root), "{job}");
    assert_ne!(job["workspace"], json!(stage.workspace));
    // The next server serves it too, and starts no engine in it before somebody needs one.
    let kept = stage.store.kept_workspaces().await.unwrap();
    assert_eq!(kept[0].0.path, root.to_str().unwrap());
    assert_eq!(kept[0].1, EngineStart::WhenNeeded);
    let audit = format!(
        "/api/v1/audit?workspace={}",
        job["workspace"].as_str().unwrap()
    );
    let audit = local.get(&audit).await.json();
    let served = |entry: &Value| {
        entry["action"] == "workspace.serve"
            && entry["actor"].as_str().unwrap().starts_with("person ada")
    };
    assert!(
        audit["entries"].as_array().unwrap().iter().any(served),
        "{audit}"
    );
    // From now on everybody who may can hand one in there.
    assert_eq!(collaborator.post("/api/v1/jobs", &body).await.status, 201);
    body["directory"] = json!("src");
    assert_eq!(local.post("/api/v1/jobs", &body).await.status, 422);
}

#[tokio::test]
async fn a_session_is_begun_in_the_folder_that_is_named_or_nowhere() {
    let stage = Stage::new().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().canonicalize().unwrap();
    let body = json!({ "directory": folder, "engine": "demo" });
    let remote = stage.client(Role::Owner).await;
    let refused = remote.post("/api/v1/sessions", &body).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(folder.to_str().unwrap()), "{message}");
    assert!(stage.store.kept_workspaces().await.unwrap().is_empty());

    // There is no demo agent here, and the folder is served all the same.
    let local = Client::local(&stage.socket);
    local.post("/api/v1/sessions", &body).await;
    let kept = stage.store.kept_workspaces().await.unwrap();
    assert_eq!(kept[0].0.path, folder.to_str().unwrap());
    let own = json!({ "directory": stage.folder(), "engine": "demo" });
    local.post("/api/v1/sessions", &own).await;
    assert_eq!(stage.broker.workspaces().len(), 2);
}

#[tokio::test]
async fn what_cannot_be_is_refused_before_anything_is_written() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    for (field, value) in [
        ("prompt", json!("  ")),
        ("deadline_seconds", json!(0)),
        ("idle_limit_seconds", json!(u64::MAX)),
        ("priority", json!(101)),
        ("agent", json!("build")),
        ("title", json!("x".repeat(201))),
        ("on_ask", json!("perhaps")),
        ("unknown", json!(1)),
    ] {
        let mut body = task();
        body[field] = value;
        let reply = owner.post("/api/v1/jobs", &body).await;
        assert_eq!(reply.status, 422, "{field}: {reply:?}");
    }
    let mut body = task();
    body["engine"] = json!("nobody");
    assert_eq!(owner.post("/api/v1/jobs", &body).await.status, 404);
    let listed = owner.get("/api/v1/jobs").await.json();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 0);
    // What a job may answer by itself is no more than whoever hands it in may.
    let report = owner
        .post("/api/v1/jobs/heal", &json!({ "all": true }))
        .await;
    assert_eq!(report.json()["scanned"], 0, "{report:?}");
}

#[tokio::test]
async fn a_job_that_has_ended_is_handed_in_again_as_it_was_and_moved_no_more() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let mut body = task();
    body["title"] = json!("greet");
    body["deadline_seconds"] = json!(77);
    body["priority"] = json!(3);
    body["attachments"] = json!([{ "kind": "text", "name": "a.md", "text": "hello" }]);
    let first = ended(&owner, &body).await;
    let path = format!("/api/v1/jobs/{}", first["id"].as_str().unwrap());
    let id = JobId::generate(JobKind::Task, now());
    for _ in 0..2 {
        let again = owner
            .post(&format!("{path}/retry"), &json!({ "id": id }))
            .await;
        assert_eq!(again.status, 201, "{again:?}");
        assert_eq!(again.json()["id"], json!(id));
    }
    let again = owner.get(&format!("/api/v1/jobs/{id}/ended")).await.json();
    for field in [
        "title",
        "prompt",
        "priority",
        "engine",
        "workspace",
        "kind",
        "on_ask",
    ] {
        assert_eq!(again[field], first[field], "{field}");
    }
    assert_eq!(
        stage.store.job_attachments(&id).await.unwrap()[0]["text"],
        "hello"
    );
    let job = stage.store.job(&id).await.unwrap().unwrap();
    assert_eq!(job.limits.deadline_seconds, Some(77));

    let moved = owner
        .post(&format!("{path}/priority"), &json!({ "priority": 1 }))
        .await;
    assert_eq!((moved.status, moved.code().as_str()), (409, "conflict"));
    let moved = owner
        .post(&format!("{path}/priority"), &json!({ "priority": 101 }))
        .await;
    assert_eq!(moved.status, 422);
}
