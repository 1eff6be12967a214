//! What an event stream says besides events.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The last of an event stream: the server ends in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Goodbye {
    /// The number of the last event that the stream told of.
    pub seq: i64,
    /// Why the server ends.
    pub reason: EndOfServer,
}

/// Why a server ends in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndOfServer {
    /// Somebody stopped it.
    Stopped,
    /// It was started in the background, and nobody needs it; the next command starts another.
    Idle,
}
