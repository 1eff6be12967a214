//! Events: how they are published, and the two streams that carry them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, stream};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use tokio::time::{Interval, MissedTickBehavior};

use super::wire::new_id;

/// How many events a slow reader may be behind before its stream is cut.
const BACKLOG: usize = 16_384;
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Where events go in, and the switch that cuts everybody who listens.
#[derive(Debug, Clone)]
pub(super) struct Events {
    sender: broadcast::Sender<Arc<Event>>,
    cuts: watch::Sender<u64>,
}

#[derive(Debug)]
struct Event {
    directory: String,
    payload: Value,
}

/// Which events a stream carries, and how they are wrapped.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    /// `/global/event`: all of them, each with its directory.
    Global,
    /// `/event`: those of one directory, bare.
    Directory(String),
}

impl Events {
    pub(super) fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(BACKLOG),
            cuts: watch::Sender::new(0),
        }
    }

    /// Tells everybody who listens. There is no replay: who does not listen misses it.
    pub(super) fn publish(&self, directory: &str, kind: &str, properties: Value) {
        let event = Event {
            directory: directory.to_owned(),
            payload: payload(kind, properties),
        };
        // An error means that nobody listens.
        let _listeners = self.sender.send(Arc::new(event));
    }

    /// Cuts all streams that are open now; new ones can be opened.
    pub(super) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Opens a stream.
    pub(super) fn open(&self, scope: Scope) -> Response {
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        heartbeat.reset();
        let listener = Listener {
            events: self.sender.subscribe(),
            cuts: self.cuts.subscribe(),
            heartbeat,
            first: Some(payload("server.connected", json!({}))),
            scope,
        };
        let content_type = [(header::CONTENT_TYPE, "text/event-stream")];
        (content_type, Body::from_stream(listener.frames())).into_response()
    }
}

struct Listener {
    events: broadcast::Receiver<Arc<Event>>,
    cuts: watch::Receiver<u64>,
    heartbeat: Interval,
    first: Option<Value>,
    scope: Scope,
}

/// Ends the connection without the end of its body.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("cut by the test")
    }
}

impl std::error::Error for Cut {}

impl Listener {
    fn frames(self) -> impl Stream<Item = Result<String, Cut>> {
        stream::unfold(Some(self), async |listener| {
            let mut listener = listener?;
            match listener.next().await {
                Some(frame) => Some((Ok(frame), Some(listener))),
                None => Some((Err(Cut), None)),
            }
        })
    }

    /// Returns the next frame, or nothing once the stream is cut.
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(self.server_frame(&first));
        }
        loop {
            tokio::select! {
                biased;
                _ = self.cuts.changed() => return None,
                event = self.events.recv() => {
                    let event = event.ok()?;
                    let frame = self.frame(&event);
                    if frame.is_some() {
                        return frame;
                    }
                }
                _ = self.heartbeat.tick() => {
                    return Some(self.server_frame(&payload("server.heartbeat", json!({}))));
                }
            }
        }
    }

    fn frame(&self, event: &Event) -> Option<String> {
        let Event { directory, payload } = event;
        match &self.scope {
            Scope::Global => {
                let wrapped =
                    json!({"directory": directory, "project": "global", "payload": payload});
                Some(format!("data: {wrapped}\n\n"))
            }
            Scope::Directory(own) => (own == directory).then(|| format!("data: {payload}\n\n")),
        }
    }

    /// Frames what the server says of itself: it has no directory.
    fn server_frame(&self, payload: &Value) -> String {
        match self.scope {
            Scope::Global => format!("data: {}\n\n", json!({"payload": payload})),
            Scope::Directory(_) => format!("data: {payload}\n\n"),
        }
    }
}

fn payload(kind: &str, properties: Value) -> Value {
    let mut payload = json!({"id": new_id("evt"), "type": kind});
    payload["properties"] = properties;
    payload
}

/// A response whose connection breaks before its first byte.
pub(super) fn broken_response() -> Response {
    let cut = stream::iter([Err::<String, Cut>(Cut)]);
    Body::from_stream(cut).into_response()
}
