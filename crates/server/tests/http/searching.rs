//! Words are looked for over HTTP: in what was said, a page at a time, and only where the caller may look.

use countersign_core::grant::Role;
use countersign_core::id::{SessionId, TurnId};
use countersign_core::session::{Item, Session};
use serde_json::json;

use crate::client::Client;
use crate::stage::{Stage, now};

async fn say(stage: &Stage, native_id: &str, words: &str) {
    let item = Item::Text {
        text: words.to_owned(),
    };
    let put = stage
        .store
        .put_item(stage.workspace, stage.session, native_id, &item, now());
    put.await.unwrap();
}

#[tokio::test]
async fn what_was_said_is_found_with_what_stands_around_it_a_page_at_a_time() {
    let stage = Stage::new().await;
    for number in 0..5 {
        say(
            &stage,
            &format!("prt_{number}"),
            &format!("Pond {number} is <b>deep</b>"),
        )
        .await;
    }
    say(&stage, "prt_9", "a text of another kind").await;
    let reader = stage.client(Role::Viewer).await;
    let mut path = "/api/v1/search?q=DEEP%20pond&limit=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = reader.get(&path).await;
        assert_eq!(page.status, 200, "{page:?}");
        let page = page.json();
        for hit in page["hits"].as_array().unwrap() {
            assert_eq!(hit["matched"], "deep");
            assert_eq!(hit["after"], "</b>");
            assert_eq!(hit["session"], json!(stage.session));
            seen.push(hit["before"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next"].as_str() else {
            assert_eq!(page["complete"], true);
            break;
        };
        path = format!("/api/v1/search?q=DEEP%20pond&limit=2&before={next}");
    }
    let expected: Vec<String> = (0..5).rev().map(|it| format!("Pond {it} is <b>")).collect();
    assert_eq!(seen, expected);
    // The ledger's own words around what was said are no words that were said.
    let found = reader.get("/api/v1/search?q=kind").await.json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    for query in [
        "q=",
        "q=%20",
        "q=x&before=1",
        "q=x&limit=101",
        "q=a%20b%20c%20d%20e%20f%20g%20h%20i",
    ] {
        let refused = reader.get(&format!("/api/v1/search?{query}")).await;
        assert_eq!(refused.status, 422, "{query}: {refused:?}");
    }
    assert_eq!(reader.get("/api/v1/search").await.status, 400);
}

#[tokio::test]
async fn whoever_may_see_one_workspace_finds_nothing_of_another() {
    let stage = Stage::new().await;
    let store = &stage.store;
    let other = store.ensure_workspace("/nonexistent", "other", now()).await;
    let here = store.session(stage.session).await.unwrap().unwrap();
    let there = Session {
        id: SessionId::generate(now()),
        workspace: other.unwrap().id,
        ..here
    };
    let there = store.put_session(&there).await.unwrap();
    let item = Item::Text {
        text: "a secret".to_owned(),
    };
    let put = store.put_item(there.workspace, there.id, "prt_1", &item, now());
    put.await.unwrap();
    let body = json!({ "name": "carol", "role": "viewer", "workspace": stage.workspace });
    let made = Client::local(&stage.socket)
        .post("/api/v1/tokens", &body)
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    let carol = stage
        .nobody()
        .with("authorization", &format!("Bearer {secret}"));
    let owner = stage.client(Role::Owner).await;
    let count = async |client: &Client, path: &str| {
        let found = client.get(path).await.json();
        found["hits"].as_array().unwrap().len()
    };
    let path = "/api/v1/search?q=secret";
    assert_eq!(
        (count(&owner, path).await, count(&carol, path).await),
        (1, 0)
    );
    let path = format!("{path}&workspace={}", there.workspace);
    assert_eq!(
        (count(&owner, &path).await, count(&carol, &path).await),
        (1, 0)
    );
}

#[tokio::test]
async fn a_prompt_that_is_with_the_engine_cannot_be_taken_back() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let path = format!("/api/v1/sessions/{}/take-back", stage.session);
    let unknown = json!({ "turn": TurnId::generate(now()) });
    assert_eq!(owner.post(&path, &unknown).await.status, 404);
}
