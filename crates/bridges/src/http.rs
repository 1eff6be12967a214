//! What all adapters that speak HTTP need: clients with limits, parts of paths, forms, what it means when no answer comes, and
//! bodies with a limit.

mod form;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use reqwest::{ClientBuilder, Response};

use crate::adapter::{Failure, IncomingFile};

pub(crate) use form::Form;

/// How long a request may take.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);
/// How long a connection may take.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait where a platform says to and not for how long.
pub(crate) const USUAL_WAIT: Duration = Duration::from_secs(5);
/// More of an error than this is not told, in characters.
const TOLD: usize = 300;

/// A client of which every request has a time limit.
pub(crate) fn client() -> ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_LIMIT)
        .timeout(TIME_LIMIT)
        .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
}

/// As much as is told of what a platform says of an error.
pub(crate) fn told(said: &str) -> String {
    said.chars().take(TOLD).collect()
}

/// A part of a path or a query: ids have slashes, colons and signs in them.
pub(crate) fn percent_encoded(segment: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a String takes every write");
        }
    }
    out
}

/// What a request means that got no answer.
pub(crate) fn unanswered(error: &reqwest::Error) -> Failure {
    // The address is left out, for secrets may be in it; the cause is told.
    let mut problem = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(next) = cause {
        problem = next.to_string();
        cause = next.source();
    }
    if problem.is_empty() {
        "the connection broke".clone_into(&mut problem);
    }
    if error.is_connect() {
        Failure::Unreached(problem)
    } else {
        Failure::Unknown(problem)
    }
}

/// That a file is bigger than may be.
pub(crate) fn too_big(file: &IncomingFile, limit: u64) -> Failure {
    Failure::Refused(format!("`{}` is bigger than {limit} bytes", file.name))
}

/// The content of a file, unless it is bigger than `limit`.
pub(crate) async fn content_of(
    response: Response,
    file: &IncomingFile,
    limit: u64,
) -> Result<Bytes, Failure> {
    let mut content = BytesMut::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        content.extend_from_slice(&piece.map_err(|error| unanswered(&error))?);
        if content.len() as u64 > limit {
            return Err(too_big(file, limit));
        }
    }
    Ok(content.freeze())
}
