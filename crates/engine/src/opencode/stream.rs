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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencode::signal::Signal;
    use futures_util::stream;
    use proptest::prelude::*;

    /// Reads everything that comes in `chunks`, and how it ends.
    fn read(chunks: Vec<Vec<u8>>) -> (Vec<Frame>, StreamError) {
        let chunks = chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk)));
        let mut frames = Frames::new(stream::iter(chunks));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut read = Vec::new();
            loop {
                match frames.next().await {
                    Ok(frame) => read.push(frame),
                    Err(error) => return (read, error),
                }
            }
        })
    }

    proptest! {
        #[test]
        fn whatever_an_engine_sends_the_stream_ends_in_order(chunks in any::<Vec<Vec<u8>>>()) {
            read(chunks);
        }

        #[test]
        fn where_the_bytes_are_cut_does_not_matter(cut in 1_usize..60) {
            let text = b"data: {\"payload\":{\"type\":\"server.heartbeat\"}}\n\n: note\n\n\
                data: {\"payload\":{\"type\":\"permission.replied\",\"properties\":\
                {\"requestID\":\"per_1\",\"reply\":\"once\"}}}\n\n";
            let (frames, end) = read(text.chunks(cut).map(<[u8]>::to_vec).collect());
            prop_assert!(matches!(end, StreamError::Closed));
            prop_assert_eq!(frames.len(), 2);
            prop_assert_eq!(&frames[0].signal, &Signal::Alive);
            let replied = Signal::PermissionReplied { request: "per_1".into(), reply: "once".into() };
            prop_assert_eq!(&frames[1].signal, &replied);
        }
    }
}
