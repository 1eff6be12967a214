//! One client's place in the feed: every event after its cursor, in order and once.
//!
//! A follower listens to the feed and reads from the ledger only while it is behind. It holds nothing but
//! its cursor, so a client that reads slowly costs no memory: it falls behind and catches up.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use countersign_core::id::WorkspaceId;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::error::ApiError;
use crate::feed::PAGE;
use crate::feed::frame::{self, Frame};
use crate::state::Server;
use crate::streams::Place;

/// From where a client follows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cursor {
    /// What happens from now on.
    Now,
    /// Everything after this event.
    After(i64),
}

/// A client's place in the feed.
pub(crate) struct Follower {
    server: Arc<Server>,
    place: Place,
    frames: broadcast::Receiver<Arc<Frame>>,
    /// The one workspace that the client may see.
    only: Option<WorkspaceId>,
    /// The newest event that the client has had, or may not see.
    cursor: i64,
    /// Whether there may be events after the cursor that the feed handed out already.
    behind: bool,
    /// What has to be said before anything else.
    opening: Option<Bytes>,
    is_over: bool,
}

impl Follower {
    pub(crate) async fn start(
        server: Arc<Server>,
        place: Place,
        only: Option<WorkspaceId>,
        cursor: Cursor,
    ) -> Result<Self, ApiError> {
        // The feed first, the head after it: what is newer than the head will come by the feed.
        let frames = server.feed.frames.subscribe();
        let mut head = *server.broker.head().borrow();
        if matches!(cursor, Cursor::After(seq) if seq > head) {
            // Another replica may have written what we have not heard of yet.
            Box::pin(server.broker.ping()).await?;
            head = *server.broker.head().borrow();
        }
        let mut opening = BytesMut::from(&frame::hello(head)[..]);
        let cursor = match cursor {
            Cursor::After(seq) if seq <= head => seq,
            Cursor::After(_) => {
                opening.extend_from_slice(&frame::reset(head));
                head
            }
            Cursor::Now => head,
        };
        Ok(Self {
            behind: cursor < head,
            opening: Some(opening.freeze()),
            server,
            place,
            frames,
            only,
            cursor,
            is_over: false,
        })
    }

    /// The next bytes for the client; nothing once the stream has to end. A client that follows a server to its end is
    /// told that it is one: it need not try again.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let next = self.next_frames().await;
        if next.is_some() {
            return next;
        }
        self.is_over = true;
        let ends = self.server.shutdown.is_cancelled();
        ends.then(|| frame::goodbye(self.cursor, self.server.settings.presence.end()))
    }

    async fn next_frames(&mut self) -> Option<Bytes> {
        if let Some(opening) = self.opening.take() {
            return Some(opening);
        }
        loop {
            if self.behind {
                // Boxed, as it is rarely there and large: most of the time a stream only waits.
                match Box::pin(self.catch_up()).await? {
                    bytes if bytes.is_empty() => continue,
                    bytes => return Some(bytes),
                }
            }
            let received = tokio::select! {
                () = self.place.ended() => return None,
                received = self.frames.recv() => received,
            };
            match received {
                Ok(frame) => {
                    if let Some(bytes) = self.take(&frame) {
                        return Some(bytes);
                    }
                }
                Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Moves past a frame of the feed, and returns its bytes if they are for this client.
    fn take(&mut self, frame: &Frame) -> Option<Bytes> {
        if let Some(seq) = frame.seq {
            if seq <= self.cursor {
                return None;
            }
            if seq > self.cursor + 1 {
                self.behind = true;
                return None;
            }
            self.cursor = seq;
        }
        self.may_see(frame.workspace).then(|| frame.bytes.clone())
    }

    /// Reads a page from the ledger; nothing if the ledger does not answer.
    async fn catch_up(&mut self) -> Option<Bytes> {
        let head = *self.server.broker.head().borrow();
        let read = tokio::select! {
            () = self.place.ended() => return None,
            read = self.server.broker.events_after(self.cursor, PAGE) => read,
        };
        let events = match read {
            Ok(events) => events,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a stream ends: events cannot be read"
                );
                return None;
            }
        };
        let next = events.first().map(|event| event.seq);
        if next.is_some_and(|next| next > self.cursor + 1) || (next.is_none() && self.cursor < head)
        {
            // What came between was forgotten.
            self.cursor = head;
            return Some(frame::reset(head));
        }
        let mut bytes = BytesMut::new();
        for event in &events {
            self.cursor = event.seq;
            if self.may_see(Some(event.workspace)) {
                bytes.extend_from_slice(&Frame::event(event).bytes);
            }
        }
        self.behind = i64::try_from(events.len()).is_ok_and(|count| count == PAGE);
        Some(bytes.freeze())
    }

    fn may_see(&self, workspace: Option<WorkspaceId>) -> bool {
        match (self.only, workspace) {
            (Some(only), Some(workspace)) => only == workspace,
            (None, _) | (_, None) => true,
        }
    }
}
