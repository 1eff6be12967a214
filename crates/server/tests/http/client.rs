//! A client that sends exactly what a test says, over TCP or the Unix socket.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;

/// Nothing that a test waits for takes longer.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
enum Way {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A client: where it calls, and the headers it always sends.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    way: Way,
    headers: HeaderMap,
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Client {
    pub(crate) fn remote(address: SocketAddr) -> Self {
        Self {
            way: Way::Tcp(address),
            headers: HeaderMap::new(),
        }
        .with("host", &address.to_string())
    }

    pub(crate) fn local(socket: &Path) -> Self {
        Self {
            way: Way::Unix(socket.to_owned()),
            headers: HeaderMap::new(),
        }
        .with("host", "localhost")
    }

    /// The same client, with one header set.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.without(name);
        client
            .headers
            .insert(header(name), HeaderValue::from_str(value).unwrap());
        client
    }

    /// The same client, with one more header of that name.
    pub(crate) fn with_another(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client
            .headers
            .append(header(name), HeaderValue::from_str(value).unwrap());
        client
    }

    pub(crate) fn without(&self, name: &str) -> Self {
        let mut client = self.clone();
        client.headers.remove(header(name));
        client
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, "").await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        let client = self.with("content-type", "application/json");
        client.send(Method::POST, path, body.to_string()).await
    }

    /// Sends a request and reads the whole response.
    pub(crate) async fn send(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Reply {
        let exchange = async {
            let (response, _connection) = self.begin(method, path, body.into()).await;
            let (head, body) = response.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            Reply {
                status: head.status.as_u16(),
                headers: head.headers,
                body,
            }
        };
        tokio::time::timeout(PATIENCE, exchange)
            .await
            .expect("the server answers in time")
    }

    /// Sends a request and returns once the response begins.
    pub(crate) async fn begin(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> (Response<Incoming>, JoinSet<()>) {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap();
        *request.headers_mut() = self.headers.clone();
        let mut tasks = JoinSet::new();
        let mut sender = match &self.way {
            Way::Tcp(address) => {
                let stream = TcpStream::connect(address).await.unwrap();
                let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
                tasks.spawn(async { drop(connection.await) });
                sender
            }
            Way::Unix(path) => {
                let stream = UnixStream::connect(path).await.unwrap();
                let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
                tasks.spawn(async { drop(connection.await) });
                sender
            }
        };
        (sender.send_request(request).await.unwrap(), tasks)
    }

    /// Follows the event stream, from `after` if it is said.
    pub(crate) async fn events(&self, after: Option<i64>) -> Events {
        let client = match after {
            Some(after) => self.with("last-event-id", &after.to_string()),
            None => self.clone(),
        };
        let (response, connection) = client
            .begin(Method::GET, "/api/v1/events", Bytes::new())
            .await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events {
            body: response.into_body(),
            _connection: connection,
            unread: String::new(),
        }
    }
}

fn header(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes()).unwrap()
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The code of an error, which has to be a whole one.
    pub(crate) fn code(&self) -> String {
        let body: countersign_api::ErrorBody = serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("no error body, {error}: {self:?}"));
        assert!(!body.message.is_empty());
        assert!(body.details.is_object(), "{body:?}");
        self.json()["code"].as_str().unwrap().to_owned()
    }
}

/// An event stream that is being read.
pub(crate) struct Events {
    body: Incoming,
    _connection: JoinSet<()>,
    unread: String,
}

/// A frame of an event stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<i64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl Events {
    /// The next frame that is no comment; nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let reading = self.read_frame();
        tokio::time::timeout(PATIENCE, reading)
            .await
            .expect("a frame comes in time")
    }

    /// The next frame if it comes within `limit`.
    pub(crate) async fn next_within(&mut self, limit: Duration) -> Option<Frame> {
        tokio::time::timeout(limit, self.read_frame())
            .await
            .ok()
            .flatten()
    }

    async fn read_frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.unread.find("\n\n") {
                let frame = parse(&self.unread[..end]);
                self.unread.drain(..end + 2);
                if let Some(frame) = frame {
                    return Some(frame);
                }
                continue;
            }
            let bytes = self.body.frame().await?.ok()?.into_data().ok()?;
            self.unread.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
}

fn parse(text: &str) -> Option<Frame> {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(Frame {
        id: field("id").map(|id| id.parse().unwrap()),
        event: field("event")?.to_owned(),
        data: serde_json::from_str(field("data")?).unwrap(),
    })
}
