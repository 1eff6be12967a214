//! The Unix socket: the person at this machine needs no token, and may still show one.

use countersign_core::grant::Role;

use crate::client::Client;
use crate::stage::Stage;

#[tokio::test]
async fn whoever_may_open_the_socket_is_the_owner() {
    let stage = Stage::new().await;
    let me = Client::local(&stage.socket).get("/api/v1/me").await;
    assert_eq!(me.status, 200);
    assert_eq!(me.json()["surface"], "cli");
    assert_eq!(me.json()["actor"]["name"], "ada");
    let mut events = Client::local(&stage.socket).events(None).await;
    assert_eq!(events.next().await.unwrap().event, "hello");
}

#[tokio::test]
async fn a_token_that_is_shown_on_the_socket_counts_for_what_it_is() {
    let stage = Stage::new().await;
    let token = stage.token(Role::Agent).await;
    let agent = Client::local(&stage.socket).with("authorization", &format!("Bearer {token}"));
    assert_eq!(
        agent.get("/api/v1/me").await.json()["actor"]["kind"],
        "agent"
    );
    assert_eq!(agent.get("/api/v1/asks").await.status, 403);
    let liar = Client::local(&stage.socket).with("authorization", "Bearer cs_wrong");
    assert_eq!(liar.get("/api/v1/me").await.status, 401);
}

#[tokio::test]
async fn a_program_at_the_socket_may_hand_asks_in_without_a_token_and_nowhere_else() {
    let stage = Stage::new().await;
    let run = serde_json::json!({ "directory": "/", "program": "acp_proxy", "version": "1" });
    let local = Client::local(&stage.socket);
    let unserved = local.post("/api/v1/door/runs", &run).await;
    assert_eq!(unserved.status, 422, "only the directory is wrong");
    let token = stage.token(Role::Owner).await;
    let owner = Client::local(&stage.socket).with("authorization", &format!("Bearer {token}"));
    assert_eq!(owner.post("/api/v1/door/runs", &run).await.status, 403);
    let liar = Client::local(&stage.socket).with("authorization", "Bearer cs_wrong");
    assert_eq!(liar.post("/api/v1/door/runs", &run).await.status, 401);
}

#[tokio::test]
async fn the_socket_is_no_way_for_a_cookie() {
    let stage = Stage::new().await;
    let (cookie, page_key) = stage.browser_secret(Role::Viewer).await;
    let show = |client: Client| {
        client
            .with("cookie", &cookie)
            .with("x-countersign-page", &page_key)
    };
    let in_browser = show(stage.nobody()).get("/api/v1/me").await.json();
    assert_eq!(in_browser["surface"], "web");
    assert_eq!(in_browser["grants"], serde_json::json!(["read"]));
    // Whoever opens the socket is the owner, whatever else he shows.
    let on_socket = show(Client::local(&stage.socket));
    let on_socket = on_socket.get("/api/v1/me").await.json();
    assert_eq!(on_socket["surface"], "cli");
    assert!(
        on_socket["grants"].as_array().unwrap().len() > 1,
        "{on_socket}"
    );
}
