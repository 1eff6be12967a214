//! What helps somebody to decide: what a rule would have matched, and what was said last. Reading it changes nothing.

use countersign_core::grant::Role;
use countersign_core::session::Item;
use serde_json::json;

use crate::stage::{Stage, now};

const PREVIEW: &str = "/api/v1/rules/preview";

#[tokio::test]
async fn a_preview_counts_what_the_rule_would_have_matched_and_makes_no_rule() {
    let stage = Stage::new().await;
    let (viewer, owner) = (
        stage.client(Role::Viewer).await,
        stage.client(Role::Owner).await,
    );
    let mut asked = Vec::new();
    for path in ["src/a.rs", "src/deep/b.rs", "src/a.rs", "build.rs"] {
        asked.push(stage.edit(path).await.id);
    }
    stage.ask("src/a.rs").await;
    stage.question().await;
    let no = json!({ "answer": "deny", "reason": "not there" });
    let denied = owner
        .post(&format!("/api/v1/asks/{}/answer", asked[1]), &no)
        .await;
    assert_eq!(denied.status, 200, "{denied:?}");

    let glob = json!({ "tool": "edit", "match": "glob", "pattern": "src/**" });
    let seen = viewer.post(PREVIEW, &glob).await;
    assert_eq!(seen.status, 200, "{seen:?}");
    let seen = seen.json();
    assert_eq!(
        (&seen["count"], &seen["denied"], &seen["sessions"]),
        (&json!(3), &json!(1), &json!(1)),
        "{seen}"
    );
    assert_eq!(
        (&seen["looked_at"], &seen["complete"]),
        (&json!(6), &json!(true))
    );
    // What a person denied comes first, then the newest; the same targets are told once.
    let targets: Vec<_> = seen["samples"].as_array().unwrap().iter().collect();
    assert_eq!(targets.len(), 2, "{seen}");
    assert_eq!(targets[0]["targets"], json!(["src/deep/b.rs"]));
    assert_eq!(targets[0]["denied"], json!(true));
    assert_eq!(
        (&targets[1]["targets"], &targets[1]["times"]),
        (&json!(["src/a.rs"]), &json!(2))
    );
    assert_eq!(owner.get("/api/v1/rules").await.json()["rules"], json!([]));

    let exact = json!({ "tool": "edit", "match": "exact", "targets": ["build.rs"] });
    let seen = viewer.post(PREVIEW, &exact).await.json();
    assert_eq!(seen["count"], json!(1));
    let nowhere = json!({ "tool": "edit", "match": "glob", "pattern": "docs/**" });
    let seen = viewer.post(PREVIEW, &nowhere).await.json();
    assert_eq!((&seen["count"], &seen["samples"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn a_preview_of_a_rule_that_cannot_be_made_says_why() {
    let stage = Stage::new().await;
    let viewer = stage.client(Role::Viewer).await;
    for (body, what) in [
        (
            json!({ "tool": "bash", "match": "glob", "pattern": "git *" }),
            "exact text only",
        ),
        (
            json!({ "tool": "edit", "match": "glob", "pattern": "src/[" }),
            "is not a pattern",
        ),
        (
            json!({ "tool": "edit", "match": "glob", "pattern": "a", "days": 0 }),
            "must be between 1 and 90",
        ),
    ] {
        let refused = viewer.post(PREVIEW, &body).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        let message = refused.json()["message"].to_string();
        assert!(message.contains(what), "{message}");
    }
}

#[tokio::test]
async fn the_newest_items_of_a_session_can_be_read_alone() {
    let stage = Stage::new().await;
    let viewer = stage.client(Role::Viewer).await;
    let items: Vec<(String, Item)> = (1..=5)
        .map(|number| {
            let text = format!("word {number}");
            (format!("prt_{number}"), Item::Text { text })
        })
        .collect();
    let put = stage
        .store
        .put_items(stage.workspace, stage.session, &items, now());
    put.await.unwrap();

    let path = format!("/api/v1/sessions/{}/items", stage.session);
    let words = async |query: &str| {
        let read = viewer.get(&format!("{path}{query}")).await.json();
        let items = read["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| item["seq"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(words("?last=2").await, [json!(4), json!(5)]);
    assert_eq!(words("?last=2&after=4").await, [json!(5)]);
    assert_eq!(words("?last=100").await.len(), 5);
    assert_eq!(words("").await.len(), 5);
    assert_eq!(viewer.get(&format!("{path}?last=0")).await.status, 422);
}
