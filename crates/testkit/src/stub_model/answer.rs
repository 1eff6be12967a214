//! Sends an answer by whichever API, whole or as a stream, and lets it go wrong as it was told to.

use std::io;

use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _, stream};

use super::decision::Completion;
use super::script::FaultKind;
use super::wire::Wire;

/// Answers with server-sent events.
pub(super) async fn stream(wire: Wire, completion: Completion) -> Response {
    let fault = completion.fault.map(|fault| fault.kind);
    match fault {
        Some(FaultKind::Status(code)) => return refusal(wire, code),
        Some(FaultKind::Stall) if completion.text.is_none() => std::future::pending().await,
        Some(FaultKind::Stall | FaultKind::Drop) | None => {}
    }
    let pause = completion.pause;
    let mut frames = wire.frames(&completion);
    if fault.is_none() {
        frames.said.append(&mut frames.rest);
    }
    let written = stream::iter(frames.said).then(move |frame| async move {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Ok(frame)
    });
    let ending = stream::iter(fault).then(end_badly);
    let content_type = [(header::CONTENT_TYPE, "text/event-stream")];
    (content_type, Body::from_stream(written.chain(ending))).into_response()
}

/// Answers with one JSON object.
pub(super) async fn whole(wire: Wire, completion: Completion) -> Response {
    match completion.fault.map(|fault| fault.kind) {
        Some(FaultKind::Status(code)) => refusal(wire, code),
        Some(FaultKind::Stall) => std::future::pending().await,
        Some(FaultKind::Drop) => Body::from_stream(cut()).into_response(),
        None => Json(wire.whole(&completion)).into_response(),
    }
}

async fn end_badly(fault: FaultKind) -> io::Result<String> {
    match fault {
        FaultKind::Stall => std::future::pending().await,
        FaultKind::Drop | FaultKind::Status(_) => {
            // What was said is flushed while the body is pending; without this it would be lost in a buffer.
            tokio::task::yield_now().await;
            Err(io::ErrorKind::ConnectionAborted.into())
        }
    }
}

/// A body that breaks off before its first byte.
fn cut() -> impl Stream<Item = io::Result<String>> {
    stream::iter([Err(io::ErrorKind::ConnectionAborted.into())])
}

fn refusal(wire: Wire, code: u16) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(wire.refusal(code))).into_response()
}
