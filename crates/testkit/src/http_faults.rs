//! An HTTP proxy that fails as chat platforms and engines do: it wants its caller to wait, refuses, breaks down, falls
//! silent, talks nonsense, or does what it was asked for and loses the response.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, HOST, RETRY_AFTER, TRANSFER_ENCODING};

use crate::loopback::LoopbackServer;

/// The biggest body that is passed on.
const BODY_LIMIT: usize = 64 << 20;

/// What happens to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpFault {
    /// It is answered 429 and not passed on; the header says to wait for so many seconds, and the body is this, for
    /// platforms that say it there.
    TooMany {
        /// `Retry-After`.
        retry_after: u64,
        /// The body, in the platform's own words.
        body: String,
    },
    /// It is answered 400 and not passed on.
    Refused,
    /// It is answered 500 and not passed on.
    Broken,
    /// It is never answered and not passed on.
    Hangs,
    /// It is answered 200 with something that is not JSON, and not passed on.
    Garbage,
    /// It is passed on and carried out, and the response is lost with the connection.
    ResponseLost,
    /// It is not passed on, and the connection ends without a word.
    Dropped,
}

/// Which requests meet faults: those whose method and path contain this, such as `PUT /rooms` or nothing for all.
type Pattern = (String, String);

#[derive(Debug, Default)]
struct Plan {
    pattern: Option<Pattern>,
    faults: VecDeque<HttpFault>,
    met: usize,
}

/// A running proxy. Dropping it ends it.
#[derive(Debug)]
pub struct HttpFaults {
    server: LoopbackServer,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Clone)]
struct Upstream {
    url: String,
    plan: Arc<Mutex<Plan>>,
    http: reqwest::Client,
}

impl HttpFaults {
    /// Stands before the server at `url`.
    pub fn start(url: &str) -> Self {
        let plan = Arc::<Mutex<Plan>>::default();
        let upstream = Upstream {
            url: url.trim_end_matches('/').to_owned(),
            plan: Arc::clone(&plan),
            http: crate::http::client(),
        };
        let router = Router::new().fallback(pass_on).with_state(upstream);
        Self {
            server: LoopbackServer::start(router),
            plan,
        }
    }

    /// Returns where it listens, without a trailing slash.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Has the next requests with this method whose path contains `path` meet these faults, one each; what was planned
    /// before is forgotten.
    pub fn plan(&self, method: &str, path: &str, faults: impl IntoIterator<Item = HttpFault>) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        *plan = Plan {
            pattern: Some((method.to_owned(), path.to_owned())),
            faults: faults.into_iter().collect(),
            met: 0,
        };
    }

    /// Returns how many of the planned faults were met.
    pub fn met(&self) -> usize {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.met
    }
}

impl Upstream {
    fn fault_of(&self, request: &Request) -> Option<HttpFault> {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let (method, path) = plan.pattern.as_ref()?;
        if request.method().as_str() != method || !request.uri().path().contains(path.as_str()) {
            return None;
        }
        let fault = plan.faults.pop_front()?;
        plan.met += 1;
        Some(fault)
    }

    async fn send(&self, request: Request) -> Option<Response> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let url = format!("{}{path}", self.url);
        parts.headers.remove(HOST);
        let body = axum::body::to_bytes(body, BODY_LIMIT).await.ok()?;
        let answer = self
            .http
            .request(parts.method, url)
            .headers(parts.headers)
            .body(body)
            .send()
            .await
            .ok()?;
        let mut response = Response::builder().status(answer.status());
        if let Some(headers) = response.headers_mut() {
            headers.extend(answer.headers().clone());
            headers.remove(TRANSFER_ENCODING);
            headers.remove(CONTENT_LENGTH);
        }
        // As it comes: a stream of events has no end.
        response.body(Body::from_stream(answer.bytes_stream())).ok()
    }
}

async fn pass_on(State(upstream): State<Upstream>, request: Request) -> Response {
    match upstream.fault_of(&request) {
        None => match upstream.send(request).await {
            Some(response) => response,
            // As if it were not there: what is behind it is gone.
            None => lost(),
        },
        Some(HttpFault::TooMany { retry_after, body }) => {
            let headers = [(RETRY_AFTER, retry_after.to_string())];
            (StatusCode::TOO_MANY_REQUESTS, headers, body).into_response()
        }
        Some(HttpFault::Refused) => (StatusCode::BAD_REQUEST, "refused").into_response(),
        Some(HttpFault::Hangs) => std::future::pending().await,
        Some(HttpFault::Garbage) => "<!doctype html>".into_response(),
        Some(HttpFault::Broken) => (StatusCode::INTERNAL_SERVER_ERROR, "broken").into_response(),
        Some(HttpFault::ResponseLost) => {
            drop(upstream.send(request).await);
            lost()
        }
        Some(HttpFault::Dropped) => lost(),
    }
}

/// A response that breaks off before it has begun.
fn lost() -> Response {
    let broken = futures_util::stream::iter([Err::<Bytes, _>(std::io::Error::other("lost"))]);
    Response::builder()
        .header(CONTENT_LENGTH, "1")
        .body(Body::from_stream(broken.boxed()))
        .unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

#[cfg(test)]
mod tests {
    use axum::routing::post;

    use super::*;

    #[tokio::test]
    async fn requests_meet_the_planned_faults_and_no_others() {
        let carried_out = Arc::new(Mutex::new(0));
        let count = Arc::clone(&carried_out);
        let router = Router::new().route(
            "/send",
            post(move || async move {
                *count.lock().unwrap() += 1;
                "done"
            }),
        );
        let behind = LoopbackServer::start(router);
        let proxy = HttpFaults::start(&behind.url());
        let post = || {
            crate::http::client()
                .post(format!("{}/send", proxy.url()))
                .send()
        };
        let wait = HttpFault::TooMany {
            retry_after: 3,
            body: "{}".to_owned(),
        };
        let faults = [
            wait,
            HttpFault::Broken,
            HttpFault::Dropped,
            HttpFault::ResponseLost,
        ];
        proxy.plan("POST", "/send", faults);

        let first = post().await.unwrap();
        assert_eq!(first.status(), 429);
        assert_eq!(first.headers()["retry-after"], "3");
        assert_eq!(post().await.unwrap().status(), 500);
        for _ in 0..2 {
            let whole = async { post().await?.bytes().await };
            assert!(whole.await.is_err());
        }
        assert_eq!((*carried_out.lock().unwrap(), proxy.met()), (1, 4));
        assert_eq!(post().await.unwrap().text().await.unwrap(), "done");
    }
}
