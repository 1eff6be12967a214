//! A client of the server's event stream that can lose its connection at any byte.

use std::pin::Pin;

use futures_util::{Stream, StreamExt as _};
use reqwest::Method;
use serde_json::Value;

use crate::test_server::Api;

/// One whole frame of an event stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The number of the event; only events have one.
    pub id: Option<i64>,
    /// What it is.
    pub event: String,
    /// What it says.
    pub data: Value,
}

/// An open event stream.
pub struct EventStream {
    bytes: Pin<Box<dyn Stream<Item = reqwest::Result<Vec<u8>>> + Send>>,
    /// What has come in of a frame that is not whole yet.
    pending: Vec<u8>,
    /// How many bytes are still read before the connection is lost.
    left: usize,
}

impl EventStream {
    /// Opens a stream of everything after event `after`, or of what happens from now on.
    pub async fn open(api: &Api, after: Option<i64>) -> reqwest::Result<Self> {
        let mut request = api.request(Method::GET, "/api/v1/events");
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let response = request.send().await?.error_for_status()?;
        let bytes = response.bytes_stream();
        Ok(Self {
            bytes: Box::pin(bytes.map(|piece| piece.map(|piece| piece.to_vec()))),
            pending: Vec::new(),
            left: usize::MAX,
        })
    }

    /// Loses the connection after so many more bytes, wherever in a frame that is.
    #[must_use]
    pub fn lost_after(mut self, bytes: usize) -> Self {
        self.left = bytes;
        self
    }

    /// Returns the next whole frame, or nothing once the connection is lost. Comments are passed over.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = find(&self.pending, b"\n\n") {
                let block: Vec<u8> = self.pending.drain(..end + 2).collect();
                if let Some(frame) = read_frame(&String::from_utf8_lossy(&block)) {
                    return Some(frame);
                }
                continue;
            }
            if self.left == 0 {
                return None;
            }
            let mut piece = self.bytes.next().await?.ok()?;
            piece.truncate(self.left);
            self.left -= piece.len();
            self.pending.extend(piece);
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

fn read_frame(block: &str) -> Option<Frame> {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    let data = field("data")?;
    Some(Frame {
        id: field("id").map(|id| id.parse().expect("an event's id is a number")),
        event: field("event")?.to_owned(),
        data: serde_json::from_str(data).expect("an event's data is JSON"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_and_a_comment_is_none() {
        let frame = read_frame("id: 7\nevent: ask.opened\ndata: {\"seq\":7}\n\n").unwrap();
        assert_eq!((frame.id, frame.event.as_str()), (Some(7), "ask.opened"));
        assert_eq!(read_frame(":\n\n"), None);
    }
}
