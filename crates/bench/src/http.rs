//! A small HTTP/1.1 client on one kept connection: as little as can stand between a measurement and what is
//! measured.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// The length of `HTTP/1.1 200`.
const STATUS_LINE: usize = 12;

/// A connection that is kept between requests.
pub(crate) struct Connection {
    /// The server's.
    pub(crate) address: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The beginning and the length of the last whole answer to [`Connection::repeat`].
    last: Option<([u8; STATUS_LINE], usize)>,
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
            last: None,
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

    /// Sends a request whose answers are all alike, and fails unless its status is 200.
    ///
    /// Only the first answer is read with care: the load shares its processors with what it loads.
    async fn repeat(&mut self, request: &[u8]) -> anyhow::Result<()> {
        let Some((status_line, length)) = self.last else {
            let response = self.exchange(request).await?;
            ensure!(
                response.status == 200,
                "the server answers {}: {}",
                response.status,
                String::from_utf8_lossy(response.body)
            );
            let beginning = self.buffer.first_chunk().copied();
            self.last = beginning.map(|beginning| (beginning, self.buffer.len()));
            return Ok(());
        };
        self.buffer.clear();
        self.stream.write_all(request).await?;
        while self.buffer.len() < length {
            let read = self.stream.read_buf(&mut self.buffer).await?;
            ensure!(read > 0, "the server ended the connection");
        }
        ensure!(
            self.buffer.len() == length && self.buffer.starts_with(&status_line),
            "the server answers: {}",
            String::from_utf8_lossy(&self.buffer)
        );
        Ok(())
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

/// Runs `client` on each of `connections` connections at once, and returns how long the slowest took.
/// Connections are opened before the clock starts.
async fn together<C>(
    address: SocketAddr,
    connections: usize,
    client: impl Fn(usize, Connection) -> C,
) -> anyhow::Result<Duration>
where
    C: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let mut ready = Vec::with_capacity(connections);
    for _ in 0..connections {
        ready.push(Connection::open(address).await?);
    }
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for (index, connection) in ready.into_iter().enumerate() {
        clients.spawn(client(index, connection));
    }
    while let Some(ended) = clients.join_next().await {
        ended.context("a client failed")??;
    }
    Ok(began.elapsed())
}

/// Sends each of `requests` once, over `connections` connections that share them, as fast as they are answered
/// with 200, and returns how long that took.
pub(crate) async fn send_all(
    address: SocketAddr,
    connections: usize,
    requests: Vec<Vec<u8>>,
) -> anyhow::Result<Duration> {
    let requests: Arc<[Vec<u8>]> = requests.into();
    together(address, connections, |index, mut connection| {
        let requests = Arc::clone(&requests);
        async move {
            for request in requests.iter().skip(index).step_by(connections) {
                connection.exchange(request).await?.json()?;
            }
            Ok(())
        }
    })
    .await
}

/// Sends `request` so many times over `connections` connections, as fast as it is answered with 200, and returns how
/// long that took. All answers have to be of one length.
pub(crate) async fn repeat(
    address: SocketAddr,
    connections: usize,
    request: Vec<u8>,
    times: usize,
) -> anyhow::Result<Duration> {
    let request: Arc<[u8]> = request.into();
    together(address, connections, |_, mut connection| {
        let request = Arc::clone(&request);
        async move {
            let repeated = async {
                for _ in 0..times / connections {
                    connection.repeat(&request).await?;
                }
                Ok(())
            };
            tokio::time::timeout(PATIENCE, repeated)
                .await
                .context("the server does not answer")?
        }
    })
    .await
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
