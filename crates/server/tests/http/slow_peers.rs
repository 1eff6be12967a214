//! Peers that say nothing, or say it slowly, are gone after their limits; everybody else is served.

use std::time::{Duration, Instant};

use countersign_server::{Limits, ServerSettings};
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::PATIENCE;
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

/// Behaves until the server has had enough, and returns how long that took.
async fn linger(stage: &Stage, (opening, drips): (&[u8], bool)) -> Duration {
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    let start = Instant::now();
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
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_silent_connections_are_gone_after_their_limits_while_others_are_served() {
    const PEERS: usize = 800;
    let stage = slow_stage(2_000).await;
    let lingering = join_all((0..PEERS).map(|peer| linger(&stage, MANNERS[peer % MANNERS.len()])));
    let mut slowest = Duration::ZERO;
    let asking = async {
        loop {
            let start = Instant::now();
            assert_eq!(stage.nobody().get("/healthz").await.status, 200);
            slowest = slowest.max(start.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let lingered = tokio::select! {
        lingered = lingering => lingered,
        () = asking => unreachable!("it asks for ever"),
    };
    let longest = lingered.into_iter().max().unwrap();
    println!("{PEERS} peers, the last gone after {longest:?}, health in {slowest:?} at most");
    assert!(longest < LIMIT * 4, "one stayed for {longest:?}");
    assert!(slowest < Duration::from_secs(2), "health took {slowest:?}");
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
