//! A reverse proxy that serves another server under a path prefix and adds its credentials, as people put one in front
//! of an engine.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::HOST;

use crate::loopback::LoopbackServer;

/// A running proxy. Dropping it ends it.
#[derive(Debug)]
pub struct PrefixProxy {
    server: LoopbackServer,
    prefix: String,
}

#[derive(Clone)]
struct Upstream {
    url: String,
    prefix: String,
    credentials: (String, String),
    http: reqwest::Client,
}

impl PrefixProxy {
    /// Serves what is at `url` under `prefix`, which begins with a slash and does not end with one.
    pub fn start(url: &str, prefix: &str, user: &str, password: &str) -> Self {
        let upstream = Upstream {
            url: url.to_owned(),
            prefix: prefix.to_owned(),
            credentials: (user.to_owned(), password.to_owned()),
            http: crate::http::client(),
        };
        let router = Router::new().fallback(pass_on).with_state(upstream);
        Self {
            server: LoopbackServer::start(router),
            prefix: prefix.to_owned(),
        }
    }

    /// Returns the address under which the other server is to be reached.
    pub fn url(&self) -> String {
        format!("{}{}", self.server.url(), self.prefix)
    }
}

async fn pass_on(State(upstream): State<Upstream>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let Some(path) = path.strip_prefix(&upstream.prefix) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let url = format!("{}{path}", upstream.url);
    parts.headers.remove(HOST);
    let (user, password) = &upstream.credentials;
    let sent = upstream
        .http
        .request(parts.method, url)
        .headers(parts.headers)
        .basic_auth(user, Some(password))
        .body(reqwest::Body::wrap_stream(body.into_data_stream()))
        .send()
        .await;
    match sent {
        Ok(answer) => {
            let mut response = Response::builder().status(answer.status());
            if let Some(headers) = response.headers_mut() {
                headers.extend(answer.headers().clone());
            }
            response
                .body(Body::from_stream(answer.bytes_stream()))
                .unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
        }
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
