//! Ends: a token's, a browser's, the server's. Streams end with them.

use std::time::Duration;

use countersign_core::grant::Role;
use countersign_core::time::Clock;
use countersign_server::ServerSettings;
use serde_json::json;

use crate::client::{Client, PATIENCE};
use crate::own_time::{beats_in, count_beats};
use crate::stage::{Stage, now};

#[tokio::test]
async fn a_token_that_is_taken_back_ends_its_streams_within_a_second() {
    let stage = Stage::new().await;
    let owner = Client::local(&stage.socket);
    let new = json!({ "name": "bob", "role": "viewer" });
    let made = owner.post("/api/v1/tokens", &new).await.json();
    let bearer = format!("Bearer {}", made["secret"].as_str().unwrap());
    let bob = stage.nobody().with("authorization", &bearer);
    let other = stage.client(Role::Viewer).await;
    let mut streams = [bob.events(None).await, bob.events(Some(0)).await];
    let mut spared = other.events(None).await;
    for stream in &mut streams {
        assert_eq!(stream.next().await.unwrap().event, "hello");
    }
    spared.next().await.unwrap();

    let path = format!("/api/v1/tokens/{}", made["token"]["id"].as_str().unwrap());
    assert_eq!(owner.delete(&path).await.status, 204);
    let ending = async {
        for stream in &mut streams {
            while stream.next().await.is_some() {}
        }
    };
    let ((), beats) = count_beats(ending).await;
    assert!(beats < beats_in(Duration::from_secs(1)), "{beats} beats");
    assert_eq!(bob.get("/api/v1/me").await.status, 401);
    stage.ask("make").await;
    assert_eq!(spared.next().await.unwrap().event, "ask.opened");
}

#[tokio::test]
async fn a_token_that_runs_out_ends_its_streams_and_waits() {
    let clock = Clock::manual(now());
    let stage = Stage::at(clock.clone(), ServerSettings::default()).await;
    let viewer = stage.client(Role::Viewer).await;
    let ask = stage.ask("make").await.id;
    let new = json!({ "name": "bob", "role": "viewer", "expires_in_s": 60 });
    let made = Client::local(&stage.socket)
        .post("/api/v1/tokens", &new)
        .await
        .json();
    let bearer = format!("Bearer {}", made["secret"].as_str().unwrap());
    let bob = stage.nobody().with("authorization", &bearer);
    let mut stream = bob.events(None).await;
    assert_eq!(stream.next().await.unwrap().event, "hello");
    let settled = format!("/api/v1/asks/{ask}/settled?timeout_s=600");
    let waiting = bob.get(&settled);
    let ending = async {
        wait_until_under_way(&viewer, 2).await;
        clock.advance(Duration::from_secs(59));
        assert_eq!(
            bob.get("/api/v1/me").await.status,
            200,
            "it is not over yet"
        );
        clock.advance(Duration::from_secs(2));
        while stream.next().await.is_some() {}
    };
    let (waited, ()) = tokio::join!(waiting, ending);
    assert_eq!(
        (waited.status, waited.code().as_str()),
        (401, "unauthorized")
    );
}

/// Waits until so many requests are under way, the one that asks for it among them.
async fn wait_until_under_way(client: &Client, requests: usize) {
    let line = format!("\ncountersign_requests_under_way {requests}\n");
    let under_way = async {
        loop {
            let figures = client.get("/metrics").await.body;
            if String::from_utf8_lossy(&figures).contains(&line) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, under_way)
        .await
        .expect("the wait begins");
}

#[tokio::test]
async fn the_server_ends_its_streams_and_waits_at_once() {
    let stage = Stage::new().await;
    let viewer = stage.client(Role::Viewer).await;
    let ask = stage.ask("make").await.id;
    let mut by_token = viewer.events(None).await;
    let mut by_socket = Client::local(&stage.socket).events(None).await;
    by_token.next().await.unwrap();
    by_socket.next().await.unwrap();
    let settled = format!("/api/v1/asks/{ask}/settled?timeout_s=600");
    let waiting = viewer.get(&settled);
    let ending = async {
        wait_until_under_way(&viewer, 2).await;
        stage.shutdown.cancel();
        let all = async {
            while by_token.next().await.is_some() {}
            while by_socket.next().await.is_some() {}
            stage.tasks.close();
            tokio::time::timeout(PATIENCE, stage.tasks.wait())
                .await
                .unwrap();
        };
        let ((), beats) = count_beats(all).await;
        assert!(beats < beats_in(Duration::from_secs(3)), "{beats} beats");
    };
    let (waited, ()) = tokio::join!(waiting, ending);
    assert_eq!(
        (waited.status, waited.json()["state"].as_str()),
        (200, Some("open"))
    );
    assert!(
        tokio::net::TcpStream::connect(stage.address).await.is_err(),
        "nobody listens any more"
    );
}
