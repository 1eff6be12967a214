//! opencode's event stream: frames in order until it breaks, or falls silent for too long.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use sse_stream::SseByteStream;

use crate::opencode::signal::{Frame, frame};

/// opencode sends a heartbeat every ten seconds; after three missed ones the stream counts as dead.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// Why a stream of events ended.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The engine closed it.
    #[error("the engine closed its event stream")]
    Closed,
    /// Nothing came for too long.
    #[error("the engine's event stream was silent for {} s", SILENCE_LIMIT.as_secs())]
    Silent,
    /// It broke, or was not an event stream.
    #[error("the engine's event stream broke: {0}")]
    Broken(String),
}

/// The frames of `/global/event`.
pub struct Frames {
    events: Pin<Box<dyn Stream<Item = Result<sse_stream::Sse, sse_stream::Error>> + Send>>,
}

impl Frames {
    pub(super) fn new(
        bytes: impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + Unpin + 'static,
    ) -> Self {
        Self {
            events: Box::pin(SseByteStream::new(bytes)),
        }
    }

    /// The next frame. After an error there is none; what was missed has to be read from the lists.
    pub async fn next(&mut self) -> Result<Frame, StreamError> {
        loop {
            let event = tokio::time::timeout(SILENCE_LIMIT, self.events.next())
                .await
                .map_err(|_| StreamError::Silent)?
                .ok_or(StreamError::Closed)?
                .map_err(|error| StreamError::Broken(error.to_string()))?;
            if let Some(data) = event.data {
                return Ok(frame(&data));
            }
        }
    }
}
