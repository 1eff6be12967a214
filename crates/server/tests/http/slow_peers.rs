//! Peers that say nothing, or say it slowly, are gone after their limits; everybody else is served.

use std::time::Duration;

use countersign_server::{Limits, ServerSettings};
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::PATIENCE;
use crate::own_time::{beats_in, count_beats};
use crate::stage::Stage;

const LIMIT: Duration = Duration::from_secs(2);

async fn slow_stage(connections: usize) -> Stage {
    let limits = Limits {
        quiet_time: LIMIT,
        body_time: LIMIT,
        connections,
        ..Limits::default()
    };
    Stage::with(ServerSettings {
        limits,
        ..ServerSettings::default()
    })
    .await
}

/// What a peer says at first, and whether it goes on saying a little.
const MANNERS: [(&[u8], bool); 4] = [
    (b"", false),
    (b"GET /healthz HTTP/1.1\r\nhost: ", true),
    (b"GET /healthz HTTP/1.1\r\n", false),
    (
        b"POST /api/v1/pair HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\n\
          content-length: 1000\r\n\r\n{",
        true,
    ),
];

/// Behaves until the server has had enough.
async fn linger(stage: &Stage, (opening, drips): (&[u8], bool)) {
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    let opening = String::from_utf8_lossy(opening).replace("HOST", &stage.address.to_string());
    stream.write_all(opening.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.split();
    let dripping = async {
        if !drips {
            return std::future::pending().await;
        }
        let mut drip = tokio::time::interval(Duration::from_millis(300));
        while writer.write_all(b" ").await.is_ok() {
            drip.tick().await;
        }
    };
    let mut said = Vec::new();
    let ended = async {
        tokio::select! {
            () = dripping => {}
            // The end, or a reset: either way the server is done with it.
            outcome = reader.read_to_end(&mut said) => drop(outcome),
        }
    };
    let gone = tokio::time::timeout(PATIENCE, ended).await;
    assert!(gone.is_ok(), "still there after `{opening}`");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_silent_connections_are_gone_after_their_limits_while_others_are_served() {
    const PEERS: usize = 800;
    let stage = slow_stage(2_000).await;
    let lingering = join_all((0..PEERS).map(|peer| linger(&stage, MANNERS[peer % MANNERS.len()])));
    let (mut slowest, mut answers) = (0, 0);
    let asking = async {
        loop {
            let (health, beats) = count_beats(stage.nobody().get("/healthz")).await;
            assert_eq!(health.status, 200);
            slowest = slowest.max(beats);
            answers += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (_, longest) = tokio::select! {
        lingered = count_beats(lingering) => lingered,
        () = asking => unreachable!("it asks for ever"),
    };
    println!(
        "{PEERS} peers, the last gone after {longest} beats, health {answers} times, after {slowest} at most"
    );
    assert!(
        longest < beats_in(LIMIT * 4),
        "one stayed for {longest} beats"
    );
    assert!(slowest < beats_in(LIMIT), "health took {slowest} beats");
    assert!(answers > 10, "health was asked for {answers} times only");
}

#[tokio::test]
async fn slow_idle_connections_make_room_again() {
    let stage = slow_stage(4).await;
    let held: Vec<TcpStream> =
        join_all((0..4).map(async |_| TcpStream::connect(stage.address).await.unwrap())).await;
    let health = async || {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        let request = format!("GET /healthz HTTP/1.0\r\nhost: {}\r\n\r\n", stage.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        drop(stream.read_to_end(&mut said).await);
        String::from_utf8_lossy(&said).into_owned()
    };
    let said = health().await;
    assert!(
        said.is_empty() || said.starts_with("HTTP/1.1 503"),
        "{said}"
    );
    let served = async {
        while !health().await.contains(" 200 ") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, served)
        .await
        .expect("there is room again");
    drop(held);
}
