//! What a route leaves unread of a request's body.
//!
//! A refusal needs no body, but whoever sends one writes it before it reads. A connection that is closed with bytes
//! unread is reset, and the reset can overtake the refusal: the caller would see a broken connection instead of what
//! it may not do. So the rest is read, within limits, before the response goes out.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::header::EXPECT;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::settings::Limits;

/// How many times the longest body is still read, so that one that is too long hears so.
const PATIENCE: usize = 8;

/// Where the body of a request is left by whoever stops reading it.
pub(crate) struct Remainder(Arc<Mutex<Option<Body>>>);

impl Remainder {
    /// Has the body of a request given back by whoever stops reading it; nothing if there is none to come.
    #[inline]
    pub(crate) fn of(request: &mut Request) -> Option<Self> {
        // Who expects a leave to go on does not send the body before it has one.
        if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
            return None;
        }
        let left = Arc::new(Mutex::new(None));
        let remainder = Self(Arc::clone(&left));
        let body = Some(std::mem::take(request.body_mut()));
        *request.body_mut() = Body::new(Lent { body, left });
        Some(remainder)
    }

    /// Reads what was left, unless it is far too much or too slow.
    pub(crate) async fn read_out(self, limits: &Limits) {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = left else { return };
        let most = limits.body_bytes.saturating_mul(PATIENCE);
        let most = most.max(limits.long_body_bytes);
        if body.size_hint().lower() > most as u64 {
            return;
        }
        let mut body = Limited::new(body, most);
        let reading = async { while let Some(Ok(_)) = body.frame().await {} };
        // Whatever comes of it, the response is next.
        drop(tokio::time::timeout(limits.body_time, reading).await);
    }
}

/// A body that is given back when it is dropped.
struct Lent {
    /// `None` once it has come to its end.
    body: Option<Body>,
    left: Arc<Mutex<Option<Body>>>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(body).poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = &polled {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let ended = || SizeHint::with_exact(0);
        self.body.as_ref().map_or_else(ended, HttpBody::size_hint)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let unread = self.body.take().filter(|body| !body.is_end_stream());
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = unread;
    }
}
