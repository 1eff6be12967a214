//! One caller with many connections: it does not shut out the others, and least of all the person at this machine.

use bytes::Bytes;
use countersign_core::grant::Role;
use countersign_server::{Limits, ServerSettings};
use futures_util::future::join_all;
use http::Method;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::client::{Client, PATIENCE};
use crate::stage::Stage;

async fn stage(limits: Limits) -> Stage {
    Stage::with(ServerSettings {
        limits,
        ..ServerSettings::default()
    })
    .await
}

#[tokio::test]
async fn a_token_has_so_many_streams_and_no_more() {
    const MOST: usize = 3;
    let stage = stage(Limits {
        streams_per_token: MOST,
        ..Limits::default()
    })
    .await;
    let ask = stage.ask("make").await.id;
    let viewer = stage.client(Role::Viewer).await;
    let mut streams = join_all((0..MOST).map(async |_| {
        let mut stream = viewer.events(None).await;
        assert_eq!(stream.next().await.unwrap().event, "hello");
        stream
    }))
    .await;

    for path in [
        "/api/v1/events".to_owned(),
        format!("/api/v1/asks/{ask}/settled?timeout_s=600"),
    ] {
        let refused = viewer.get(&path).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (429, "too_many"),
            "{path}"
        );
    }
    assert_eq!(viewer.get("/api/v1/me").await.status, 200, "nothing else");
    let other = stage.client(Role::Viewer).await;
    assert_eq!(
        other.events(None).await.next().await.unwrap().event,
        "hello",
        "another token has its own"
    );
    let mut local =
        join_all((0..=MOST).map(async |_| Client::local(&stage.socket).events(None).await)).await;
    for stream in &mut local {
        assert_eq!(stream.next().await.unwrap().event, "hello");
    }

    drop(streams.pop());
    let room_again = async {
        loop {
            let (response, _connection) = viewer
                .begin(Method::GET, "/api/v1/events", Bytes::new())
                .await;
            if response.status() == 200 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let opened = tokio::time::timeout(PATIENCE, room_again).await;
    assert!(opened.is_ok(), "a stream that was closed makes room");
}

#[tokio::test]
async fn the_person_at_this_machine_gets_in_when_others_have_taken_every_connection() {
    const MOST: usize = 4;
    let stage = stage(Limits {
        connections: MOST,
        quiet_time: PATIENCE,
        ..Limits::default()
    })
    .await;
    let held: Vec<TcpStream> =
        join_all((0..MOST).map(async |_| TcpStream::connect(stage.address).await.unwrap())).await;
    // Connections are accepted in their order: once this one is turned away, the others are in.
    let mut one_more = TcpStream::connect(stage.address).await.unwrap();
    let mut said = Vec::new();
    let turned_away = tokio::time::timeout(PATIENCE, one_more.read_to_end(&mut said)).await;
    assert!(turned_away.is_ok(), "there is no room for more over TCP");

    let me = Client::local(&stage.socket).get("/api/v1/me").await;
    assert_eq!(me.status, 200);
    drop(held);
}
