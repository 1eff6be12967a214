//! Frames: events and words as bytes of an event stream.

use bytes::Bytes;
use countersign_api::{EndOfServer, Goodbye};
use countersign_core::event::{Delta, Event};
use countersign_core::id::WorkspaceId;
use serde::Serialize;
use serde_json::json;

/// A piece of an event stream.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The event's number; only events have one.
    pub(super) seq: Option<i64>,
    /// Whose it is; everybody's if nothing is said.
    pub(super) workspace: Option<WorkspaceId>,
    /// As it is sent.
    pub(super) bytes: Bytes,
}

impl Frame {
    pub(super) fn event(event: &Event) -> Self {
        Self {
            seq: Some(event.seq),
            workspace: Some(event.workspace),
            bytes: write(
                &format!("id: {}\nevent: {}", event.seq, event.body.name()),
                event,
            ),
        }
    }

    pub(super) fn delta(delta: &Delta) -> Self {
        Self {
            seq: None,
            workspace: Some(delta.workspace),
            bytes: write("event: delta", delta),
        }
    }

    pub(super) fn heartbeat() -> Self {
        Self {
            seq: None,
            workspace: None,
            bytes: Bytes::from_static(b":\n\n"),
        }
    }
}

/// What a stream begins with.
pub(super) fn hello(head: i64) -> Bytes {
    write("event: hello", &json!({ "seq": head }))
}

/// Says that events are missing: go on from `head`, and read everything else again.
pub(super) fn reset(head: i64) -> Bytes {
    write("event: reset", &json!({ "seq": head }))
}

/// Says that the server ends in order, after event number `seq` and for the reason `why`.
pub(super) fn goodbye(seq: i64, why: EndOfServer) -> Bytes {
    write("event: goodbye", &Goodbye { seq, reason: why })
}

fn write(head: &str, data: &impl Serialize) -> Bytes {
    // JSON has no line breaks, so one `data` line holds it all.
    let data = serde_json::to_string(data).expect("events have no map with odd keys");
    Bytes::from(format!("{head}\ndata: {data}\n\n"))
}
