//! The audit looked through, its chains followed, and figures about asks.

use countersign_core::grant::Role;
use countersign_core::id::WorkspaceId;
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::Stage;

async fn search(client: &Client, query: &str) -> Value {
    let found = client.get(&format!("/api/v1/audit/search?{query}")).await;
    assert_eq!(found.status, 200, "{query}: {found:?}");
    found.json()
}

fn subjects(page: &Value) -> Vec<String> {
    let entries = page["entries"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| entry["subject"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_audit_is_looked_through_by_who_what_when_and_any_text_newest_first() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let mut asks = Vec::new();
    for command in ["ls", "make", "make clean"] {
        asks.push(stage.ask(command).await.id.to_string());
    }
    let no = json!({ "answer": "deny", "reason": "Not on a Friday" });
    let answered = owner
        .post(&format!("/api/v1/asks/{}/answer", asks[2]), &no)
        .await;
    assert_eq!(answered.status, 200, "{answered:?}");

    let opened = search(&owner, "action=ask.open").await;
    let newest_first: Vec<String> = asks.iter().rev().cloned().collect();
    assert_eq!(subjects(&opened), newest_first);
    let about = search(&owner, "text=friday").await;
    assert_eq!(subjects(&about), [asks[2].clone()]);
    assert_eq!(about["entries"][0]["action"], "ask.answer");
    let by = search(&owner, "actor=person%20owner&action=ask").await;
    assert_eq!(subjects(&by), [asks[2].clone()]);
    assert_eq!(subjects(&search(&owner, "actor=nobody").await).len(), 0);

    // Page by page, each goes on where the one before ended.
    let first = search(&owner, "action=ask.open&limit=2").await;
    assert_eq!(subjects(&first), newest_first[..2]);
    let next = first["next"].as_i64().unwrap();
    let second = search(&owner, &format!("action=ask.open&limit=2&before={next}")).await;
    assert_eq!(subjects(&second), newest_first[2..]);
    assert!(second["next"].is_null(), "{second}");

    // By time: everything, and nothing.
    let made = opened["entries"][1]["at"].as_str().unwrap();
    let since = search(&owner, &format!("action=ask.open&since={made}")).await;
    assert_eq!(subjects(&since), newest_first[..2]);
    let until = search(&owner, &format!("action=ask.open&until={made}")).await;
    assert_eq!(subjects(&until), newest_first[2..]);
    let before_all = search(&owner, "until=1990-01-01T00:00:00Z").await;
    assert_eq!(subjects(&before_all).len(), 0);
    assert_eq!(before_all["looked_at"], 0);

    // The server's own chain has what is of no workspace.
    let server = format!("workspace={}&action=token.make", WorkspaceId::SERVER);
    assert_eq!(
        search(&owner, &server).await["entries"][0]["action"],
        "token.make"
    );
    for bad in ["limit=0", "limit=501", "before=0"] {
        let refused = owner.get(&format!("/api/v1/audit/search?{bad}")).await;
        assert_eq!(refused.status, 422, "{bad}");
    }
}

#[tokio::test]
async fn whoever_reads_sees_how_the_chains_were_found_and_only_an_owner_follows_them() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let viewer = stage.client(Role::Viewer).await;
    let chains = viewer.get("/api/v1/audit/chains").await.json();
    let chains = chains["chains"].as_array().unwrap();
    assert_eq!(chains.len(), 2, "{chains:?}");
    assert!(chains.iter().all(|chain| chain["verified"].is_null()));

    assert_eq!(viewer.get("/api/v1/audit/verify").await.status, 403);
    assert_eq!(owner.get("/api/v1/audit/verify").await.status, 200);
    let chains = viewer.get("/api/v1/audit/chains").await.json();
    for chain in chains["chains"].as_array().unwrap() {
        assert_eq!(chain["verified"]["whole"], true, "{chain}");
        assert_eq!(chain["verified"]["entries"], chain["entries"]);
    }
    stage.ask("ls").await;
    let chains = viewer.get("/api/v1/audit/chains").await.json();
    let grown = chains["chains"]
        .as_array()
        .unwrap()
        .iter()
        .any(|chain| chain["entries"].as_i64() > chain["verified"]["entries"].as_i64());
    assert!(grown, "{chains}");
}

#[tokio::test]
async fn figures_count_the_asks_of_today_and_tell_whether_people_were_in_time() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let viewer = stage.client(Role::Viewer).await;
    let rule =
        json!({ "tool": "bash", "verdict": "allow", "match": "exact", "targets": ["known"] });
    assert_eq!(owner.post("/api/v1/rules", &rule).await.status, 201);
    let edit = stage.edit("src/a.rs").await;
    stage.ask("known").await;
    let denied = stage.edit("build.rs").await;
    for (ask, answer) in [(&edit, "allow_once"), (&denied, "deny")] {
        let path = format!("/api/v1/asks/{}/answer", ask.id);
        let answered = owner.post(&path, &json!({ "answer": answer })).await;
        assert_eq!(answered.status, 200, "{answered:?}");
    }
    // It waits, and is not late yet.
    stage.question().await;

    let told = viewer
        .get("/api/v1/figures?days=7&utc_offset_min=-300")
        .await;
    assert_eq!(told.status, 200, "{told:?}");
    let told = told.json();
    assert_eq!(told["complete"], true);
    let days = told["days"].as_array().unwrap();
    assert_eq!(days.len(), 7);
    // At midnight a part of it is yesterday's.
    let sum = |field: &str| {
        days.iter()
            .map(|day| day[field].as_i64().unwrap())
            .sum::<i64>()
    };
    assert_eq!(sum("asks"), 4, "{told}");
    assert_eq!((sum("allowed"), sum("denied"), sum("open")), (1, 1, 1));
    assert_eq!(sum("allowed_by_rule"), 1);
    assert_eq!(told["waits"]["answers"], 2);
    assert!(told["waits"]["p90_s"].is_i64());
    let owner_figures = &told["people"][0];
    assert_eq!(owner_figures["actor"]["name"], "owner");
    assert_eq!(
        (&owner_figures["allowed"], &owner_figures["denied"]),
        (&json!(1), &json!(1))
    );
    let tools: Vec<_> = told["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["tool"])
        .collect();
    assert_eq!(tools, ["edit", "bash"]);
    assert_eq!(
        told["slo"],
        json!({ "target_s": 300, "counted": 2, "in_time": 2 })
    );
    for bad in ["days=0", "days=91", "target_s=0", "utc_offset_min=900"] {
        let refused = viewer.get(&format!("/api/v1/figures?{bad}")).await;
        assert_eq!(refused.status, 422, "{bad}");
    }
    let unknown = WorkspaceId::generate(crate::stage::now());
    let missing = viewer
        .get(&format!("/api/v1/figures?workspace={unknown}"))
        .await;
    assert_eq!(missing.status, 404, "{missing:?}");
}
