//! A small HTTP/1.1 client on one kept connection: as little as can stand between a measurement and what is
//! measured.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::samples::Samples;

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
    /// What the last whole answer to [`Connection::repeat`] was like.
    last: Option<Likeness>,
}

/// What tells an answer from others without reading it.
#[derive(Debug, Clone, Copy)]
struct Likeness {
    beginning: [u8; STATUS_LINE],
    end: u8,
    length: usize,
}

impl Likeness {
    fn of(answer: &[u8]) -> Option<Self> {
        Some(Self {
            beginning: *answer.first_chunk()?,
            end: *answer.last()?,
            length: answer.len(),
        })
    }

    /// Whether `answer` is a whole one of its kind. One that is longer or shorter ends with something else there.
    fn is_of(&self, answer: &[u8]) -> bool {
        answer.len() == self.length
            && answer.starts_with(&self.beginning)
            && answer.last() == Some(&self.end)
    }
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
    let token = token.map(|token| format!("Bearer {token}"));
    let header = token.as_deref().map(|token| ("authorization", token));
    request_with(address, method, path, header, body)
}

/// Writes a request to `address` down that has one header of its own.
pub(crate) fn request_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    header: Option<(&str, &str)>,
    body: Option<&Value>,
) -> Vec<u8> {
    let header = header.map(|(name, value)| format!("{name}: {value}\r\n"));
    let body = body.map(Value::to_string);
    let about_body = body.as_ref().map(|body| {
        let length = body.len();
        format!("content-type: application/json\r\ncontent-length: {length}\r\n")
    });
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{}{}\r\n{}",
        header.unwrap_or_default(),
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
        self.send(request).await?;
        self.receive().await
    }

    /// Sends a request, whose answer has to be received before the next one.
    pub(crate) async fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.buffer.clear();
        self.stream
            .write_all(request)
            .await
            .context("the server takes no request")
    }

    /// Reads the whole answer to what was sent.
    pub(crate) async fn receive(&mut self) -> anyhow::Result<Response<'_>> {
        let head = tokio::time::timeout(PATIENCE, self.read_whole())
            .await
            .context("the server does not answer")??;
        Ok(Response {
            status: head.status,
            body: &self.buffer[head.length..head.length + head.body],
        })
    }

    async fn read_whole(&mut self) -> anyhow::Result<Head> {
        loop {
            if let Some(head) = Head::read(&self.buffer)?
                && self.buffer.len() >= head.length + head.body
            {
                return Ok(head);
            }
            self.read_more().await?;
        }
    }

    async fn read_more(&mut self) -> anyhow::Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the server ended the connection");
        Ok(())
    }

    /// Sends a request whose answers are mostly alike, and fails unless its status is 200.
    ///
    /// Only an answer of another kind than the one before is read with care: the load shares its processors with what it
    /// loads.
    async fn repeat(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.send(request).await?;
        if let Some(last) = self.last {
            while self.buffer.len() < last.length {
                // One that is shorter than the last would be waited for in vain.
                if self.buffer.last() == Some(&last.end) {
                    break;
                }
                self.read_more().await?;
            }
            if last.is_of(&self.buffer) {
                return Ok(());
            }
        }
        let head = self.read_whole().await?;
        let whole = head.length + head.body;
        ensure!(
            head.status == 200 && self.buffer.len() == whole,
            "the server answers: {}",
            String::from_utf8_lossy(&self.buffer)
        );
        self.last = Likeness::of(&self.buffer);
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

/// A connection that is waited for in place: nothing but the system stands between it and the server.
pub(crate) struct PlainConnection {
    stream: std::net::TcpStream,
    buffer: Vec<u8>,
}

impl PlainConnection {
    pub(crate) fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = std::net::TcpStream::connect(address)
            .with_context(|| format!("failed to connect to {address}"))?;
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(PATIENCE)))
            .context("failed to set up a connection")?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends a request that [`request`] wrote, and reads the whole answer.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Response<'_>> {
        self.send(request)?;
        self.receive()
    }

    /// Sends a request, whose answer has to be received before the next one.
    pub(crate) fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        let sent = std::io::Write::write_all(&mut self.stream, request);
        sent.context("the server takes no request")
    }

    /// Reads the whole answer to what was sent.
    pub(crate) fn receive(&mut self) -> anyhow::Result<Response<'_>> {
        let mut piece = [0; 16 << 10];
        self.buffer.clear();
        loop {
            let read = std::io::Read::read(&mut self.stream, &mut piece);
            let read = read.context("the server does not answer")?;
            ensure!(read > 0, "the server ended the connection");
            self.buffer.extend_from_slice(&piece[..read]);
            let Some(head) = Head::read(&self.buffer)? else {
                continue;
            };
            if self.buffer.len() >= head.length + head.body {
                return Ok(Response {
                    status: head.status,
                    body: &self.buffer[head.length..head.length + head.body],
                });
            }
        }
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
/// long that took.
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

/// Does the same, and returns how long each answer took.
pub(crate) async fn time_each(
    address: SocketAddr,
    connections: usize,
    request: Vec<u8>,
    times: usize,
) -> anyhow::Result<Samples> {
    let request: Arc<[u8]> = request.into();
    let all = Arc::new(Mutex::new(Samples::default()));
    together(address, connections, |_, mut connection| {
        let (request, all) = (Arc::clone(&request), Arc::clone(&all));
        async move {
            let mut own = Samples::default();
            let timed = async {
                for _ in 0..times / connections {
                    let began = Instant::now();
                    connection.repeat(&request).await?;
                    own.push_milliseconds(began.elapsed());
                }
                anyhow::Ok(())
            };
            tokio::time::timeout(PATIENCE, timed)
                .await
                .context("the server does not answer")??;
            all.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(&own);
            Ok(())
        }
    })
    .await?;
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *all))
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

    #[test]
    fn an_answer_of_another_length_is_another() {
        let ten = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"ms\":999}";
        let eleven = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"ms\":1000}";
        let likeness = Likeness::of(ten).unwrap();
        assert!(likeness.is_of(ten));
        assert!(!likeness.is_of(eleven));
        assert!(!likeness.is_of(&eleven[..ten.len()]));
        assert!(!likeness.is_of(b"HTTP/1.1 500 No\r\nContent-Length: 10\r\n\r\n{\"ms\":999}"));
    }
}
