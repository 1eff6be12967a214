//! Who is signed in where, and links that lead a phone here.

use countersign_core::grant::Role;
use countersign_server::ServerSettings;
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::Stage;

const PHONE: &str = "Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0";

async fn tokens(owner: &Client) -> Vec<Value> {
    let listed = owner.get("/api/v1/tokens").await.json();
    listed["tokens"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_browser_is_listed_with_what_it_is_and_when_it_was_there() {
    let stage = Stage::new().await;
    let owner = stage.browser(Role::Owner).await;
    let me = owner.get("/api/v1/me").await.json();
    let paired = stage
        .nobody()
        .with("origin", &format!("http://{}", stage.address))
        .with("user-agent", PHONE)
        .post(
            "/api/v1/pair",
            &json!({ "code": stage.code(Role::Viewer).await }),
        )
        .await;
    assert_eq!(paired.status, 200, "{paired:?}");
    let phone = paired.json()["token"].clone();

    let listed = tokens(&owner).await;
    let of = |id: &Value| listed.iter().find(|token| token["id"] == *id).unwrap();
    assert_eq!(of(&phone)["device"], "Firefox on Android");
    assert_eq!(of(&phone)["kind"], "browser");
    assert!(of(&phone)["seen_at"].is_null(), "it has not come back yet");
    let own = of(&me["token"]);
    assert!(
        own["seen_at"].is_string() && own["device"].is_null(),
        "{own}"
    );

    // It is written down when the server ends, at the latest.
    let stored = stage.store.tokens().await.unwrap();
    assert!(stored.iter().all(|token| token.seen_at.is_none()));
    let out = owner
        .with("origin", &format!("http://{}", stage.address))
        .delete(&format!("/api/v1/tokens/{}", phone.as_str().unwrap()))
        .await;
    assert_eq!(out.status, 204, "{out:?}");
    let listed = tokens(&owner).await;
    let gone = listed.iter().find(|token| token["id"] == phone).unwrap();
    assert!(gone["revoked_at"].is_string());
}

#[tokio::test]
async fn a_link_for_a_phone_is_there_if_the_server_knows_where_it_is_reached() {
    let wish = json!({ "name": "ada", "role": "approver" });
    let stage = Stage::new().await;
    let made = Client::local(&stage.socket)
        .post("/api/v1/pairings", &wish)
        .await
        .json();
    assert!(made["remote_link"].is_null(), "{made}");

    let settings = ServerSettings {
        public_url: Some("https://Desk.example/agents/".parse().unwrap()),
        ..ServerSettings::default()
    };
    let stage = Stage::with(settings).await;
    let made = Client::local(&stage.socket)
        .post("/api/v1/pairings", &wish)
        .await
        .json();
    let code = made["code"].as_str().unwrap();
    assert_eq!(
        made["remote_link"],
        format!("https://Desk.example/agents/app/#pair={code}")
    );
    // The name of that address is ours.
    let named = stage.nobody().with("host", "desk.example");
    let paired = named
        .with("origin", "https://desk.example")
        .post("/api/v1/pair", &json!({ "code": code }))
        .await;
    assert_eq!(paired.status, 200, "{paired:?}");
}

#[tokio::test]
async fn the_end_of_a_rule_is_brought_forward_by_whoever_may_take_it_back() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let wish = json!({ "tool": "edit", "verdict": "deny", "match": "glob", "pattern": "*.lock" });
    let rule = owner.post("/api/v1/rules", &wish).await.json();
    let path = format!("/api/v1/rules/{}/expire", rule["id"].as_str().unwrap());
    let end = json!({ "expires_in_s": 3600 });
    let others = stage.client(Role::Collaborator).await;
    assert_eq!(others.post(&path, &end).await.status, 403);

    let ended = owner.post(&path, &end).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    assert!(ended.json()["expires_at"].is_string());
    let later = owner.post(&path, &json!({ "expires_in_s": 7200 })).await;
    assert_eq!(later.status, 422, "{later:?}");
    for never in [
        json!({ "expires_in_s": 0 }),
        json!({}),
        json!({ "expires_in_s": -1 }),
    ] {
        assert_eq!(owner.post(&path, &never).await.status, 422, "{never}");
    }
}
