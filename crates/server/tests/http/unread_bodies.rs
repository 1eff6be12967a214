//! A refusal reaches whoever is still writing the body that it did not need.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::client::PATIENCE;
use crate::stage::Stage;

/// More than any system takes in before somebody reads.
const LONG: usize = 7 << 20;

/// Sends the head and the whole of the body apart, and returns the first line of what is said to that.
async fn first_line(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    head: &str,
    length: usize,
) -> String {
    let talk = async {
        let head = format!("{head}content-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        // The server has all that it needs for a refusal.
        tokio::task::yield_now().await;
        for _ in 0..length.div_ceil(1 << 10) {
            stream.write_all(&[b' '; 1 << 10]).await.unwrap();
        }
        let mut said = [0; 12];
        stream.read_exact(&mut said).await.unwrap();
        String::from_utf8_lossy(&said).into_owned()
    };
    tokio::time::timeout(PATIENCE, talk).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_read_by_whoever_wrote_a_body_for_nothing() {
    let stage = Stage::new().await;
    let host = stage.address;
    let cases = [
        (
            format!("POST /api/v1/asks/ask_1/answer HTTP/1.1\r\nhost: {host}\r\n"),
            "HTTP/1.1 401",
        ),
        (
            format!(
                "POST /api/v1/pair HTTP/1.1\r\nhost: {host}\r\norigin: http://elsewhere.example\r\n"
            ),
            "HTTP/1.1 403",
        ),
        (
            format!("POST /nowhere HTTP/1.1\r\nhost: {host}\r\n"),
            "HTTP/1.1 404",
        ),
        (
            format!(
                "POST /api/v1/pair HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
            ),
            "HTTP/1.1 413",
        ),
    ];
    for (head, expected) in cases {
        let stream = TcpStream::connect(stage.address).await.unwrap();
        assert_eq!(first_line(stream, &head, LONG).await, expected);
    }
    let head = "POST /nowhere HTTP/1.1\r\nhost: localhost\r\n";
    let stream = UnixStream::connect(&stage.socket).await.unwrap();
    assert_eq!(first_line(stream, head, LONG).await, "HTTP/1.1 404");
}
