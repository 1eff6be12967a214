use std::io::ErrorKind;

use super::*;
use crate::eventually;

const SOON: Duration = Duration::from_secs(5);
const A_WHILE: Duration = Duration::from_millis(150);

/// Sends back what it gets.
fn echo() -> (SocketAddr, JoinSet<()>) {
    let listener = crate::ports::listen();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.spawn(async move {
                let (mut reader, mut writer) = stream.split();
                let _ended = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    (address, tasks)
}

async fn exchange(stream: &mut TcpStream, text: &str) -> std::io::Result<String> {
    stream.write_all(text.as_bytes()).await?;
    let mut answer = vec![0; text.len()];
    stream.read_exact(&mut answer).await?;
    Ok(String::from_utf8(answer).unwrap())
}

#[tokio::test]
async fn without_a_fault_everything_passes_until_one_side_ends() {
    let (target, _echo) = echo();
    let proxy = FaultProxy::start(target);
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(exchange(&mut stream, "hello").await.unwrap(), "hello");

    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(SOON, stream.read_to_end(&mut rest))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn latency_holds_what_passes() {
    let (target, _echo) = echo();
    let proxy = FaultProxy::start(target);
    proxy.set(Fault::Latency(A_WHILE)).await;
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let start = tokio::time::Instant::now();
    exchange(&mut stream, "hello").await.unwrap();
    assert!(start.elapsed() >= 2 * A_WHILE);
}

#[tokio::test]
async fn a_blackhole_swallows_and_lets_the_connection_live() {
    let (target, _echo) = echo();
    let proxy = FaultProxy::start(target);
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    exchange(&mut stream, "before").await.unwrap();

    proxy.set(Fault::Blackhole).await;
    let swallowed = tokio::time::timeout(A_WHILE, exchange(&mut stream, "lost")).await;
    assert!(swallowed.is_err());

    proxy.set(Fault::None).await;
    assert_eq!(exchange(&mut stream, "after").await.unwrap(), "after");
}

#[tokio::test]
async fn a_reset_hits_open_connections_and_new_ones() {
    let (target, _echo) = echo();
    let proxy = FaultProxy::start(target);
    let mut open = TcpStream::connect(proxy.address()).await.unwrap();
    exchange(&mut open, "before").await.unwrap();

    proxy.set(Fault::Reset).await;

    let mut byte = [0];
    let error = tokio::time::timeout(SOON, open.read(&mut byte))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let mut new = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(exchange(&mut new, "hello").await.is_err());
}

#[tokio::test]
async fn a_cut_ends_the_connection_after_its_bytes() {
    let (target, _echo) = echo();
    let proxy = FaultProxy::start(target);
    proxy.set(Fault::CutAfter(3)).await;
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut passed = Vec::new();
    tokio::time::timeout(SOON, stream.read_to_end(&mut passed))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(passed, b"hel");
}

#[tokio::test]
async fn refusing_spares_open_connections_and_can_be_taken_back() {
    let (target, _echo) = echo();
    let proxy = FaultProxy::start(target);
    let mut open = TcpStream::connect(proxy.address()).await.unwrap();
    exchange(&mut open, "before").await.unwrap();

    proxy.set(Fault::Refuse).await;
    let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(exchange(&mut open, "still").await.unwrap(), "still");

    proxy.set(Fault::None).await;
    eventually(SOON, "it listens again", async || {
        TcpStream::connect(proxy.address()).await.ok()
    })
    .await;
}
