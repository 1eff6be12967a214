//! Responses: compact JSON, with its keys in the order in which clients have always got them.

use bytes::Bytes;
use countersign_server::{Body, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// `value` without any white space.
pub(crate) fn compact(value: &impl Serialize) -> Bytes {
    // What is answered has texts as keys, and is written to memory.
    serde_json::to_vec(value).unwrap_or_default().into()
}

/// A response that says `value`.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    bytes(status, compact(value))
}

/// A good response that says `value`.
pub(crate) fn ok(value: &impl Serialize) -> Response {
    json(StatusCode::OK, value)
}

/// A response whose JSON is written already.
pub(crate) fn bytes(status: StatusCode, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// A good response that says nothing.
pub(crate) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A list in the form in which all lists are answered.
#[derive(Serialize)]
pub(crate) struct Items<T> {
    pub(crate) items: T,
}
