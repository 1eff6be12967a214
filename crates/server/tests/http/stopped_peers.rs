//! Peers that stop where they are: behind a request, and in the middle of what they are sent.

use std::time::{Duration, Instant};

use countersign_server::{Limits, ServerSettings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::client::PATIENCE;
use crate::stage::Stage;

/// So long that in these tests nothing ends by it.
const NEVER: Duration = Duration::from_mins(10);

async fn stage(limits: Limits) -> Stage {
    Stage::with(ServerSettings {
        limits,
        ..ServerSettings::default()
    })
    .await
}

fn request(stage: &Stage, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", stage.address)
}

#[tokio::test]
async fn slow_callers_lose_a_connection_that_they_leave_idle_after_a_request() {
    const QUIET: Duration = Duration::from_secs(1);
    let stage = stage(Limits {
        quiet_time: QUIET,
        body_time: NEVER,
        stall_time: NEVER,
        ..Limits::default()
    })
    .await;
    let mut peer = TcpStream::connect(stage.address).await.unwrap();
    let start = Instant::now();
    for _ in 0..2 {
        peer.write_all(request(&stage, "/healthz").as_bytes())
            .await
            .unwrap();
        let mut said = [0; 4_096];
        let read = peer.read(&mut said).await.unwrap();
        assert!(said[..read].starts_with(b"HTTP/1.1 200 "), "it is served");
    }
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, peer.read_to_end(&mut rest)).await;
    ended.expect("an idle connection ends").unwrap();
    assert!(rest.is_empty(), "it ends without another word");
    assert!(start.elapsed() >= QUIET, "after its limit, not before");
}

#[tokio::test]
async fn slow_readers_lose_a_connection_whose_responses_they_leave_unread() {
    const STALL: Duration = Duration::from_secs(1);
    // More than the system takes in for a peer that does not read.
    const REQUESTS: usize = 400;
    // Only a stalled connection that has ended leaves the one place to another.
    let stage = stage(Limits {
        connections: 1,
        quiet_time: NEVER,
        body_time: NEVER,
        stall_time: STALL,
        ..Limits::default()
    })
    .await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut peer = socket.connect(stage.address).await.unwrap();
    let requests = request(&stage, "/api/openapi.json").repeat(REQUESTS);
    let stalling = async {
        // The server stops reading when it cannot write.
        drop(peer.write_all(requests.as_bytes()).await);
        std::future::pending::<()>().await;
    };
    let start = Instant::now();
    let health = async || {
        let mut other = TcpStream::connect(stage.address).await.ok()?;
        let asked = request(&stage, "/healthz");
        other.write_all(asked.as_bytes()).await.ok()?;
        let mut said = [0; 4_096];
        let read = other.read(&mut said).await.ok()?;
        said[..read].starts_with(b"HTTP/1.1 200 ").then_some(())
    };
    let served = async {
        while health().await.is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let served = tokio::time::timeout(PATIENCE, async {
        tokio::select! {
            () = stalling => unreachable!("it stays for ever"),
            () = served => {}
        }
    });
    served.await.expect("the stalled connection makes room");
    assert!(start.elapsed() >= STALL, "after its limit, not before");
}
