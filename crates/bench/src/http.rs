//! A small HTTP/1.1 client on one kept connection: as little as can stand between a measurement and what is
//! measured.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection that is kept between requests.
pub(crate) struct Connection {
    /// The server's.
    pub(crate) address: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What came back.
pub(crate) struct Response<'connection> {
    pub(crate) status: u16,
    pub(crate) body: &'connection [u8],
}

impl Response<'_> {
    /// The body, if the request succeeded.
    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        ensure!(
            (200..300).contains(&self.status),
            "the server answers {}: {}",
            self.status,
            String::from_utf8_lossy(self.body)
        );
        serde_json::from_slice(self.body).context("the server's answer is not JSON")
    }
}

/// Writes a request to `address` down.
pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> Vec<u8> {
    let token = token.map(|token| format!("authorization: Bearer {token}\r\n"));
    let body = body.map(Value::to_string);
    let about_body = body.as_ref().map(|body| {
        let length = body.len();
        format!("content-type: application/json\r\ncontent-length: {length}\r\n")
    });
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{}{}\r\n{}",
        token.unwrap_or_default(),
        about_body.unwrap_or_default(),
        body.unwrap_or_default()
    )
    .into_bytes()
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("failed to connect to {address}"))?;
        stream
            .set_nodelay(true)
            .context("failed to set up a connection")?;
        Ok(Self {
            address,
            stream,
            buffer: Vec::with_capacity(4 << 10),
        })
    }

    /// Sends a request that [`request`] wrote, and reads the whole answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Response<'_>> {
        self.buffer.clear();
        let exchanged = async {
            self.stream.write_all(request).await?;
            loop {
                let read = self.stream.read_buf(&mut self.buffer).await?;
                ensure!(read > 0, "the server ended the connection");
                if let Some(head) = Head::read(&self.buffer)?
                    && self.buffer.len() >= head.length + head.body
                {
                    return Ok(head);
                }
            }
        };
        let head = tokio::time::timeout(PATIENCE, exchanged)
            .await
            .context("the server does not answer")??;
        Ok(Response {
            status: head.status,
            body: &self.buffer[head.length..head.length + head.body],
        })
    }

    /// Returns what the server answers to a GET.
    pub(crate) async fn get(&mut self, path: &str, token: &str) -> anyhow::Result<Value> {
        let request = request(self.address, "GET", path, Some(token), None);
        self.exchange(&request).await?.json()
    }

    /// Returns what the server answers to a POST.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        token: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let request = request(self.address, "POST", path, Some(token), Some(body));
        self.exchange(&request).await?.json()
    }
}

/// The part of a response before its body.
#[derive(Debug, PartialEq)]
struct Head {
    status: u16,
    /// Its own length, with the empty line.
    length: usize,
    /// The length of the body.
    body: usize,
}

impl Head {
    /// Reads a head; nothing if it is not whole yet.
    fn read(bytes: &[u8]) -> anyhow::Result<Option<Self>> {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes[..end]).context("the head is not text")?;
        let mut lines = text.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1)?.parse().ok())
            .context("the server does not speak HTTP")?;
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().ok())?
        });
        Ok(Some(Self {
            status,
            length: end + 4,
            body: length.context("the server does not say how long its answer is")?,
        }))
    }
}

/// Sends `requests` over `connections` connections as fast as they are answered with 200, each connection
/// its own share, and returns how long that took.
pub(crate) async fn load(
    address: SocketAddr,
    connections: usize,
    requests: Vec<Vec<u8>>,
) -> anyhow::Result<Duration> {
    let mut shares: Vec<Vec<Vec<u8>>> = vec![Vec::new(); connections];
    for (index, request) in requests.into_iter().enumerate() {
        shares[index % connections].push(request);
    }
    let mut ready = Vec::with_capacity(connections);
    for share in shares {
        ready.push((Connection::open(address).await?, share));
    }
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for (mut connection, share) in ready {
        clients.spawn(async move {
            for request in share {
                let response = connection.exchange(&request).await?;
                ensure!(
                    response.status == 200,
                    "the server answers {}: {}",
                    response.status,
                    String::from_utf8_lossy(response.body)
                );
            }
            anyhow::Ok(())
        });
    }
    while let Some(client) = clients.join_next().await {
        client.context("a client failed")??;
    }
    Ok(began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let bytes = b"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(Head::read(&bytes[..30]).unwrap(), None);
        let head = Head::read(bytes).unwrap().unwrap();
        assert_eq!((head.status, head.body), (409, 2));
        assert_eq!(&bytes[head.length..], b"{}");
    }
}
