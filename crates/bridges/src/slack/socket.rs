//! One connection of Socket Mode: what comes over it, what is acknowledged, and whether it is still alive.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Url;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::adapter::Failure;
use crate::http::CONNECT_LIMIT;

/// How often the other side is asked whether it is there.
const PING: Duration = Duration::from_secs(5);
/// After so long without a word the connection counts as dead.
const SILENCE: Duration = Duration::from_secs(15);
/// The biggest message that is read.
const BIGGEST: usize = 4 << 20;

/// A connection over which Slack tells what happens.
pub(super) struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// When anything came last.
    heard: Instant,
    next_ping: Instant,
}

/// What comes over a connection.
#[derive(Debug)]
pub(super) enum Heard {
    /// Something happened, and is to be acknowledged.
    Envelope(Envelope),
    /// The connection ends soon: another one is to be opened before.
    EndsSoon,
}

/// Something that happened.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) id: String,
    /// `events_api`, `interactive` or `slash_commands`.
    pub(super) kind: String,
    pub(super) payload: Value,
}

impl Socket {
    /// Connects, and waits until Slack says hello; with this one `ours` are open.
    pub(super) async fn connect(url: &Url, ours: u64) -> Result<Self, Failure> {
        let connected = async {
            let config = WebSocketConfig::default()
                .max_message_size(Some(BIGGEST))
                .max_frame_size(Some(BIGGEST));
            let (stream, _) = connect_async_with_config(url.as_str(), Some(config), true)
                .await
                .map_err(|error| broken(&error))?;
            let now = Instant::now();
            let mut socket = Self {
                stream,
                heard: now,
                next_ping: now + PING,
            };
            socket.wait_for_hello(ours).await?;
            Ok(socket)
        };
        let limit = CONNECT_LIMIT + SILENCE;
        let connected = tokio::time::timeout(limit, connected).await;
        connected.unwrap_or_else(|_| Err(Failure::Unreached("Slack says no hello".to_owned())))
    }

    async fn wait_for_hello(&mut self, ours: u64) -> Result<(), Failure> {
        let hello = loop {
            let said = self.read().await?;
            if said["type"] == "hello" {
                break said;
            }
        };
        if hello["num_connections"].as_u64() > Some(ours) {
            // Slack deals out what happens to all connections of an app: another server would get our presses.
            tracing::warn!(
                bridge = "slack",
                "the app has another connection; one that was just cut goes away by itself"
            );
        }
        Ok(())
    }

    /// Waits for what comes next. It can be given up while it waits: nothing is lost by that.
    pub(super) async fn hear(&mut self) -> Result<Heard, Failure> {
        loop {
            let mut said = self.read().await?;
            match said["type"].as_str() {
                Some("disconnect") => {
                    return match said["reason"].as_str() {
                        Some("link_disabled") => Err(Failure::Unauthorised(
                            "Socket Mode is switched off in the settings of the app".to_owned(),
                        )),
                        _ => Ok(Heard::EndsSoon),
                    };
                }
                Some(kind) => {
                    let kind = kind.to_owned();
                    if let Some(id) = said["envelope_id"].as_str().map(str::to_owned) {
                        let payload = said["payload"].take();
                        return Ok(Heard::Envelope(Envelope { id, kind, payload }));
                    }
                }
                None => {}
            }
        }
    }

    /// Tells Slack that it may forget something.
    pub(super) async fn acknowledge(&mut self, envelope: &str) -> Result<(), Failure> {
        let said = json!({"envelope_id": envelope}).to_string();
        let sent = self.stream.send(Message::text(said)).await;
        sent.map_err(|error| broken(&error))
    }

    /// The next message, while the other side is alive.
    async fn read(&mut self) -> Result<Value, Failure> {
        loop {
            let frame = tokio::select! {
                // What came while we could not listen proves that the other side is alive.
                biased;
                frame = self.stream.next() => frame,
                () = tokio::time::sleep_until(self.next_ping) => {
                    let now = Instant::now();
                    if now.duration_since(self.heard) >= SILENCE {
                        return Err(Failure::Unreached("the websocket is silent".to_owned()));
                    }
                    self.next_ping = now + PING;
                    let sent = self.stream.send(Message::Ping(bytes::Bytes::new())).await;
                    sent.map_err(|error| broken(&error))?;
                    continue;
                }
            };
            let Some(frame) = frame else {
                return Err(Failure::Unreached("the websocket was closed".to_owned()));
            };
            self.heard = Instant::now();
            match frame.map_err(|error| broken(&error))? {
                Message::Text(text) => {
                    // What cannot be read is nothing that we know of.
                    return Ok(serde_json::from_str(text.as_str()).unwrap_or_default());
                }
                Message::Close(_) => {
                    return Err(Failure::Unreached("the websocket was closed".to_owned()));
                }
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

/// What went wrong with a connection, without its address: there is a ticket in that.
fn broken(error: &Error) -> Failure {
    Failure::Unreached(match error {
        Error::Io(error) => format!("the websocket broke: {error}"),
        Error::Http(response) => format!("the websocket is refused: {}", response.status()),
        Error::Capacity(_) => "a message of the websocket is too big".to_owned(),
        Error::ConnectionClosed | Error::AlreadyClosed => "the websocket was closed".to_owned(),
        Error::Tls(_)
        | Error::Protocol(_)
        | Error::WriteBufferFull(_)
        | Error::Utf8(_)
        | Error::AttackAttempt
        | Error::Url(_)
        | Error::HttpFormat(_) => "the websocket broke".to_owned(),
    })
}
