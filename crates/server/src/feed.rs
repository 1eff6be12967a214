//! The feed: one task reads new events and words, writes each down once as a frame, and hands the frame to
//! every open stream.

mod follower;
mod frame;

pub(crate) use follower::{Cursor, Follower};

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::feed::frame::Frame;
use crate::state::Server;

/// A stream that is further behind than this reads from the ledger until it has caught up.
const BACKLOG: usize = 1_024;
/// Events that are read at a time.
const PAGE: i64 = 200;
/// How long events gather while nobody follows them.
const GATHER: Duration = Duration::from_millis(50);
/// How long the feed waits when the ledger does not answer.
const BACK_OFF: Duration = Duration::from_millis(500);

/// Where frames are handed out.
pub(crate) struct Feed {
    frames: broadcast::Sender<Arc<Frame>>,
    /// The newest event when the server began; everything after it is handed out.
    start: i64,
}

impl Feed {
    pub(crate) fn new(start: i64) -> Self {
        Self {
            frames: broadcast::Sender::new(BACKLOG),
            start,
        }
    }

    /// How many streams are open.
    pub(crate) fn streams(&self) -> usize {
        self.frames.receiver_count()
    }

    fn hand_out(&self, frame: Frame) {
        // Nobody listening is no error.
        drop(self.frames.send(Arc::new(frame)));
    }
}

/// Keeps the feed going until the server ends.
pub(crate) async fn tail(server: Arc<Server>) {
    let mut head = server.broker.head();
    let mut words = server.broker.words();
    Box::pin(server.metrics.begin(&server.broker)).await;
    head.mark_unchanged();
    let mut seen = hand_out_events(&server, server.feed.start).await;
    let mut heartbeat = tokio::time::interval(server.settings.limits.heartbeat);
    loop {
        // Each arm can be dropped and taken up again without losing anything.
        tokio::select! {
            () = server.shutdown.cancelled() => return,
            changed = head.changed() => {
                if changed.is_err() {
                    return;
                }
                if server.feed.streams() == 0 {
                    // Only numbers are kept of it: whoever answers now needs the ledger more. A stream that opens
                    // meanwhile has its first event that much later at worst.
                    tokio::time::sleep(GATHER).await;
                    head.mark_unchanged();
                }
                seen = hand_out_events(&server, seen).await;
            }
            word = words.recv() => match word {
                Ok(delta) => server.feed.hand_out(Frame::delta(&delta)),
                // The finished item will have what was missed.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            },
            _ = heartbeat.tick() => server.feed.hand_out(Frame::heartbeat()),
        }
    }
}

/// Hands out what happened since event number `seen`, and returns the number of the newest.
async fn hand_out_events(server: &Server, mut seen: i64) -> i64 {
    loop {
        match Box::pin(server.broker.events_after(seen, PAGE)).await {
            Ok(events) => {
                // Whatever comes after a page that is not full raises the head again.
                let is_last = i64::try_from(events.len()).is_ok_and(|read| read < PAGE);
                for event in events {
                    seen = event.seq;
                    server.metrics.observe(&event);
                    server.feed.hand_out(Frame::event(&event));
                }
                if is_last {
                    return seen;
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "events cannot be read for now"
                );
                tokio::select! {
                    () = server.shutdown.cancelled() => return seen,
                    () = tokio::time::sleep(BACK_OFF) => {}
                }
            }
        }
    }
}
