//! The log of requests, where it is wanted. It has no query, no header and no body: secrets are in those.

use std::time::Instant;

use countersign_server::{Request, Response};
use http::Method;

/// A request, until it is answered.
pub(crate) struct Note {
    method: Method,
    path: String,
    came: Instant,
}

impl Note {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            came: Instant::now(),
        }
    }

    /// Logs the request with what was answered.
    pub(crate) fn log(self, response: &Response) {
        let status = response.status().as_u16();
        let duration_ms = self.came.elapsed().as_millis();
        tracing::info!(
            http.status = status,
            duration_ms,
            "{} {} {status}",
            self.method,
            self.path
        );
    }
}
