//! One request over the socket of this machine's server.
//!
//! There is no encryption, no proxy and no redirect on this way, so nothing is made ready for them: commands that hooks call
//! again and again take it.

use std::path::Path;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use super::{CONNECT_LIMIT, NAME, Unsent};

/// Asks for `path`, with a body of JSON if there is one, and returns what the server says.
pub(super) async fn exchange(
    socket: &Path,
    (method, path): (Method, &str),
    body: Option<Vec<u8>>,
) -> Result<(StatusCode, String), Unsent> {
    let connecting = tokio::time::timeout(CONNECT_LIMIT, UnixStream::connect(socket));
    let stream = match connecting.await {
        Ok(connected) => connected.map_err(|error| Unsent::NoServer(error.to_string()))?,
        // A server that lives takes a connection at once.
        Err(_) => return Err(Unsent::Silent),
    };
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(broken)?;
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, "localhost")
        .header(USER_AGENT, NAME);
    if body.is_some() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    let request = request
        .body(Full::new(Bytes::from(body.unwrap_or_default())))
        .map_err(broken)?;
    let asking = async move {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?;
        // With the sender the connection ends.
        Ok::<_, hyper::Error>((status, body.to_bytes()))
    };
    let (answer, _) = tokio::join!(asking, connection);
    let (status, body) = answer.map_err(broken)?;
    let text = String::from_utf8(body.into())
        .context("it is no text")
        .map_err(Unsent::Broken)?;
    Ok((status, text))
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Unsent {
    Unsent::Broken(anyhow::Error::new(error))
}
