//! What happens around every request: the gate before it, a net under it, and headers, counts and a log
//! entry for what failed after it.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{MatchedPath, Request};
use axum::response::{IntoResponse as _, Response};
use countersign_api::ErrorBody;
use futures_util::FutureExt as _;
use http::header::CONTENT_LENGTH;
use serde_json::json;
use tower::{Layer, Service};

use crate::error::{ApiError, Failure, json_body};
use crate::gate;
use crate::headers::protect;
use crate::remainder::Remainder;
use crate::state::Server;

/// Lays what happens around every request around each route.
///
/// It is no function for `axum::middleware`, which costs every request several allocations more.
#[derive(Clone)]
pub(crate) struct Conduct(Arc<Server>);

impl Conduct {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self(server)
    }
}

impl<R> Layer<R> for Conduct {
    type Service = Conducted<R>;

    fn layer(&self, route: R) -> Self::Service {
        Conducted {
            server: Arc::clone(&self.0),
            route,
        }
    }
}

/// A route with what happens around its requests.
#[derive(Clone)]
pub(crate) struct Conducted<R> {
    server: Arc<Server>,
    route: R,
}

impl<R> Service<Request> for Conducted<R>
where
    R: Service<Request, Response = Response, Error = Infallible>,
    R::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.route.poll_ready(context)
    }

    /// Takes a request to its route and its response back.
    fn call(&mut self, mut request: Request) -> Self::Future {
        let server = Arc::clone(&self.server);
        let path = request.extensions().get::<MatchedPath>().cloned();
        let under_way = server.metrics.take_request();
        let remainder = Remainder::of(&mut request);
        let passed = match gate::check(&server.hosts, &request) {
            Ok(()) => Ok(self.route.call(request)),
            Err(refusal) => {
                drop(request);
                Err(refusal.into_response())
            }
        };
        Box::pin(async move {
            let mut response = match passed {
                Ok(going) => AssertUnwindSafe(going)
                    .catch_unwind()
                    .await
                    .unwrap_or_else(|panic| Ok(ApiError::panicked(&*panic).into_response()))?,
                Err(refusal) => refusal,
            };
            if let Some(remainder) = remainder {
                remainder.read_out(&server.settings.limits).await;
            }
            if let Some(failure) = response.extensions_mut().remove::<Failure>() {
                name_failure(&server, path.as_ref(), &failure, &mut response);
            }
            drop(under_way);
            server.metrics.count_request(path, response.status());
            protect(response.headers_mut());
            Ok(response)
        })
    }
}

/// Writes a failure into the log, once, under a name that the client is told.
fn name_failure(
    server: &Server,
    route: Option<&MatchedPath>,
    failure: &Failure,
    response: &mut Response,
) {
    let name = server.name_failure();
    tracing::error!(
        request.id = %name,
        request.route = route.map_or("(none)", MatchedPath::as_str),
        error = &*failure.0 as &dyn std::error::Error,
        "request `{name}` failed",
    );
    if let Some(body) = response.extensions_mut().remove::<Arc<ErrorBody>>() {
        let body = ErrorBody {
            details: json!({ "request": name }),
            ..ErrorBody::clone(&body)
        };
        *response.body_mut() = json_body(&body);
        response.headers_mut().remove(CONTENT_LENGTH);
    }
}
