//! Streams: every event once and in order, however often a client comes back.

use std::time::Duration;

use countersign_core::grant::Role;
use rand::RngExt as _;
use serde_json::json;

use crate::client::Client;
use crate::stage::{Stage, now};

#[tokio::test]
async fn a_stream_begins_with_the_head_and_goes_on_from_there() {
    let stage = Stage::new().await;
    let viewer = stage.client(Role::Viewer).await;
    stage.ask("make").await;
    let head = *stage.broker.head().borrow();
    let mut events = viewer.events(None).await;
    let hello = events.next().await.unwrap();
    assert_eq!((hello.event.as_str(), hello.id), ("hello", None));
    assert_eq!(hello.data, json!({ "seq": head }));

    let ask = stage.ask("make test").await.id;
    let opened = events.next().await.unwrap();
    assert_eq!(
        (opened.event.as_str(), opened.id),
        ("ask.opened", Some(head + 1))
    );
    assert_eq!(opened.data["ask"], ask.to_string());
    assert_eq!(opened.data["seq"], head + 1);
    assert_eq!(opened.data["type"], "ask.opened");
}

#[tokio::test]
async fn slow_a_thousand_reconnects_miss_and_double_no_event() {
    const RECONNECTS: usize = 1_000;
    let seed: u64 = rand::rng().random();
    println!("seed {seed}");
    let mut random = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(seed);
    let stage = Stage::new().await;
    let viewer = stage.client(Role::Viewer).await;
    let first = *stage.broker.head().borrow();

    let writing = async {
        for number in 0..300 {
            stage.ask(&format!("echo {number}")).await;
        }
        *stage.broker.head().borrow()
    };
    let reading = async {
        let mut seen = Vec::new();
        let mut cursor = first;
        for _ in 0..RECONNECTS {
            let mut events = viewer.events(Some(cursor)).await;
            assert_eq!(events.next().await.unwrap().event, "hello");
            for _ in 0..random.random_range(0..3) {
                let Some(event) = events.next_within(Duration::from_millis(5)).await else {
                    break;
                };
                cursor = event.id.unwrap();
                seen.push(cursor);
            }
        }
        (seen, cursor)
    };
    let (last, (mut seen, cursor)) = tokio::join!(writing, reading);
    let mut events = viewer.events(Some(cursor)).await;
    events.next().await.unwrap();
    while seen.last().copied().unwrap_or(first) < last {
        seen.push(events.next().await.unwrap().id.unwrap());
    }
    let expected: Vec<i64> = (first + 1..=last).collect();
    assert_eq!(seen, expected, "seed {seed}");
}

#[tokio::test]
async fn a_reader_that_stalls_catches_up_from_the_ledger() {
    let stage = Stage::new().await;
    // The socket's buffer is small: the server soon finds that nobody reads.
    let owner = Client::local(&stage.socket);
    let first = *stage.broker.head().borrow();
    let mut events = owner.events(Some(first)).await;
    events.next().await.unwrap();
    // More than the feed keeps: an ask makes one event, its withdrawal another.
    for number in 0..600 {
        let ask = stage.ask(&format!("echo {number}")).await.id;
        let why = countersign_core::ask::Withdrawal::SessionEnded;
        stage.store.withdraw(ask, &why, now()).await.unwrap();
    }
    let last = *stage.broker.head().borrow();
    assert!(last - first >= 1_200);
    for seq in first + 1..=last {
        assert_eq!(events.next().await.unwrap().id, Some(seq));
    }
}

#[tokio::test]
async fn a_cursor_that_cannot_be_is_reset() {
    let stage = Stage::new().await;
    let viewer = stage.client(Role::Viewer).await;
    stage.ask("make").await;
    let head = *stage.broker.head().borrow();

    let mut ahead = viewer.events(Some(head + 1_000)).await;
    assert_eq!(ahead.next().await.unwrap().event, "hello");
    let reset = ahead.next().await.unwrap();
    assert_eq!(
        (reset.event.as_str(), &reset.data),
        ("reset", &json!({ "seq": head }))
    );
    stage.ask("make test").await;
    assert_eq!(ahead.next().await.unwrap().id, Some(head + 1));

    stage.store.forget_events(now()).await.unwrap();
    stage.ask("make install").await;
    let mut behind = viewer.events(Some(0)).await;
    assert_eq!(behind.next().await.unwrap().event, "hello");
    assert_eq!(behind.next().await.unwrap().event, "reset");
    stage.ask("make clean").await;
    assert_eq!(behind.next().await.unwrap().id, Some(head + 3));

    for odd in ["x", "-1", "1.5", "99999999999999999999"] {
        let reply = viewer
            .with("last-event-id", odd)
            .get("/api/v1/events")
            .await;
        assert!([400, 422].contains(&reply.status), "{odd}");
    }
}

#[tokio::test]
async fn a_token_for_another_workspace_sees_no_event() {
    let stage = Stage::new().await;
    let other = stage
        .store
        .ensure_workspace("/home/ada/other", "other", now())
        .await
        .unwrap();
    let token = countersign_store::NewToken {
        hash: countersign_core::digest::Digest::of_bytes(b"cs_other"),
        name: "other".to_owned(),
        kind: countersign_core::token::TokenKind::Bearer,
        actor_kind: countersign_core::actor::ActorKind::Person,
        grants: Role::Owner.grants(),
        workspace: Some(other.id),
        device: None,
        expires_at: None,
    };
    let ada = stage.broker.local_owner().actor().clone();
    stage.store.add_token(token, &ada, now()).await.unwrap();
    let client = stage.nobody().with("authorization", "Bearer cs_other");
    let first = *stage.broker.head().borrow();
    let mut events = client.events(Some(0)).await;
    assert_eq!(events.next().await.unwrap().event, "hello");
    let ask = stage.ask("make").await.id;
    assert!(*stage.broker.head().borrow() > first);
    assert_eq!(events.next_within(Duration::from_millis(300)).await, None);
    assert_eq!(client.get(&format!("/api/v1/asks/{ask}")).await.status, 404);
    assert_eq!(client.get("/api/v1/asks").await.json()["asks"], json!([]));
    assert_eq!(
        client.get("/api/v1/workspaces").await.json()["workspaces"],
        json!([])
    );
}

#[tokio::test]
async fn the_last_that_a_stream_tells_is_that_somebody_stops_the_server() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let mut events = owner.events(None).await;
    events.next().await.unwrap();
    stage.ask("ls").await;
    let told = events.next().await.unwrap();
    stage.shutdown.cancel();
    let last = events.next().await.unwrap();
    assert_eq!((last.event.as_str(), last.id), ("goodbye", None));
    assert_eq!(last.data, json!({ "seq": told.id, "reason": "stopped" }));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_stream_whose_token_is_taken_back_ends_without_a_goodbye() {
    let stage = Stage::new().await;
    let owner = Client::local(&stage.socket);
    let new = json!({ "name": "bob", "role": "viewer" });
    let made = owner.post("/api/v1/tokens", &new).await.json();
    let secret = made["secret"].as_str().unwrap();
    let bob = stage
        .nobody()
        .with("authorization", &format!("Bearer {secret}"));
    let mut events = bob.events(None).await;
    events.next().await.unwrap();
    let id = made["token"]["id"].as_str().unwrap();
    owner.delete(&format!("/api/v1/tokens/{id}")).await;
    assert_eq!(events.next().await, None);
}
