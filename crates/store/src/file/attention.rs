//! Waiting for the connection's thread with open eyes.
//!
//! A small statement takes that thread a few microseconds, and putting this one to sleep and waking it again takes many
//! times as long. So whoever holds the connection, and there is one at a time, looks for a moment before it sleeps.

use std::num::NonZero;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

/// How long to look: longer than nearly every statement takes, and shorter than a sync to the disk. With one processor
/// there is nothing to see.
static MOMENT: LazyLock<Duration> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    Duration::from_micros(if processors > 1 { 150 } else { 0 })
});

/// A future or a stream that is looked at for a moment before it is waited for.
pub(super) struct Attentive<T>(pub(super) T);

fn look<T>(mut poll: impl FnMut() -> Poll<T>) -> Poll<T> {
    let begun = Instant::now();
    loop {
        let polled = poll();
        if polled.is_ready() || begun.elapsed() >= *MOMENT {
            return polled;
        }
        std::hint::spin_loop();
    }
}

impl<T> Future for Attentive<BoxFuture<'_, T>> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        look(|| self.0.as_mut().poll(context))
    }
}

impl<T> Stream for Attentive<BoxStream<'_, T>> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        look(|| self.0.as_mut().poll_next(context))
    }
}
