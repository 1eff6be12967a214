//! What may stand before the routes: another surface on the same listener, with the same limits.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use tower::Service as _;

use crate::prefix::PathPrefix;
use crate::remainder::Remainder;
use crate::settings::Limits;

/// A response that is being made.
pub type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// Answers a request itself, or hands it on to the routes.
pub type Front = dyn Fn(Request, &Routes) -> Answering + Send + Sync;

/// Every route of this crate, and what a surface before them may use.
#[derive(Clone)]
pub struct Routes {
    router: Router,
    limits: Limits,
}

impl Routes {
    pub(crate) fn new(router: Router, limits: Limits) -> Self {
        Self { router, limits }
    }

    /// Has the route that a request is for answer it.
    pub fn answer(&self, request: Request) -> Answering {
        // Boxed, so that a stream that goes on for days does not keep the room that its request needed.
        Box::pin(self.router.clone().call(request))
    }

    /// Sees to it that what `answer` leaves unread of a body is read, within limits, before the response goes out: a
    /// connection that is closed with bytes unread can be reset before the refusal has arrived.
    pub fn reading_out<F>(
        &self,
        mut request: Request,
        answer: impl FnOnce(Request) -> F,
    ) -> Answering
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let Some(remainder) = Remainder::of(&mut request) else {
            let answering = answer(request);
            return Box::pin(async move { Ok(answering.await) });
        };
        let answering = answer(request);
        let limits = self.limits.clone();
        Box::pin(async move {
            let response = answering.await;
            remainder.read_out(&limits).await;
            Ok(response)
        })
    }
}

/// Takes a request to whoever answers it.
#[derive(Clone)]
pub(crate) struct Reception {
    routes: Routes,
    front: Option<Arc<Front>>,
    prefix: PathPrefix,
}

impl Reception {
    pub(crate) fn new(routes: Routes, front: Option<Arc<Front>>, prefix: PathPrefix) -> Self {
        Self {
            routes,
            front,
            prefix,
        }
    }

    pub(crate) fn take(&self, mut request: Request) -> Answering {
        self.prefix.take_off(&mut request);
        match &self.front {
            Some(front) => front(request, &self.routes),
            None => self.routes.answer(request),
        }
    }
}
