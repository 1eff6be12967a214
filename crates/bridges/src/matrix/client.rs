//! Requests to a homeserver, and what their failures mean.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;

use crate::Secret;
use crate::adapter::Failure;
use crate::http::{self, USUAL_WAIT, percent_encoded, told, unanswered};

/// A homeserver, as one user.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
    token: Secret,
}

impl Client {
    pub(super) fn new(base: &str, token: Secret) -> Result<Self, reqwest::Error> {
        Ok(Self {
            http: http::client().build()?,
            base: base.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// A request; each of `segments` is one part of the path, whatever is in it, and `query` comes after them.
    pub(super) fn request(
        &self,
        method: Method,
        root: &str,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> RequestBuilder {
        let mut url = format!("{}/_matrix/{root}", self.base);
        for segment in segments {
            url.push('/');
            url.push_str(&percent_encoded(segment));
        }
        for (n, (name, value)) in query.iter().enumerate() {
            url.push(if n == 0 { '?' } else { '&' });
            url.push_str(name);
            url.push('=');
            url.push_str(&percent_encoded(value));
        }
        self.http
            .request(method, url)
            .bearer_auth(self.token.expose())
    }

    /// A request of the client-server API.
    pub(super) fn call(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        self.request(method, "client/v3", segments, &[])
    }
}

/// Sends a request and reads the answer.
pub(super) async fn send(request: RequestBuilder) -> Result<Value, Failure> {
    let response = request.send().await.map_err(|error| unanswered(&error))?;
    let status = response.status();
    let wait = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let bytes = response.bytes().await.map_err(|error| unanswered(&error))?;
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if status.is_success() {
        return Ok(body);
    }
    Err(refusal(status, wait, &body))
}

/// What an error of the server means.
pub(super) fn refusal(status: StatusCode, wait: Option<Duration>, body: &Value) -> Failure {
    let code = body["errcode"].as_str().unwrap_or_default();
    let said = told(body["error"].as_str().unwrap_or_default());
    let problem = format!("{} {code} {said}", status.as_u16());
    match status {
        StatusCode::TOO_MANY_REQUESTS => {
            let also = body["retry_after_ms"].as_u64().map(Duration::from_millis);
            Failure::Later {
                after: also.max(wait).unwrap_or(USUAL_WAIT),
                problem,
            }
        }
        StatusCode::UNAUTHORIZED => Failure::Unauthorised(problem),
        StatusCode::NOT_FOUND => Failure::Gone(problem),
        status if status.is_server_error() => Failure::Unreached(problem),
        _ => Failure::Refused(problem),
    }
}
