//! One connection: requests in, responses out, and an end.

use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::auth::Peer;
use crate::listener::{Hub, Socket};

/// Serves a connection until one side ends it.
pub(super) async fn converse(socket: Socket, peer: Peer, hub: &Hub) {
    // A silent connection costs a descriptor and this wait, no buffers.
    let first_byte = tokio::time::timeout(hub.limits.quiet_time, socket.readable());
    let spoke = tokio::select! {
        () = hub.shutdown.cancelled() => return,
        spoke = first_byte => spoke,
    };
    if !matches!(spoke, Ok(Ok(()))) {
        return;
    }
    match socket {
        Socket::Tcp(stream) => {
            limit_stalls(&stream, hub.limits.stall_time);
            // A missing option makes an answer slower, not wrong.
            drop(stream.set_nodelay(true));
            serve(stream, peer, hub).await;
        }
        Socket::Unix(stream) => serve(stream, peer, hub).await,
    }
}

async fn serve<S>(stream: S, peer: Peer, hub: &Hub)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        hub.reception.take(request.map(Body::new))
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            // It runs from the moment a request may begin, so it also ends an idle connection.
            .header_read_timeout(hub.limits.quiet_time)
            .max_buf_size(hub.limits.head_bytes)
            .serve_connection(TokioIo::new(stream), service)
    );
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = hub.shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                outcome = connection => outcome,
                () = hub.abandoned.cancelled() => return,
            }
        }
    };
    if let Err(error) = outcome {
        tracing::trace!(
            error = &error as &dyn std::error::Error,
            "a connection ended early"
        );
    }
}

/// Lets the system end a connection whose peer takes nothing for so long.
#[cfg(target_os = "linux")]
fn limit_stalls(stream: &tokio::net::TcpStream, stall_time: Duration) {
    let limit = u32::try_from(stall_time.as_millis()).unwrap_or(u32::MAX);
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, limit) {
        tracing::trace!(
            error = &error as &dyn std::error::Error,
            "stalls are not limited"
        );
    }
}

/// Other systems end such a connection when they see fit.
#[cfg(not(target_os = "linux"))]
fn limit_stalls(_stream: &tokio::net::TcpStream, _stall_time: Duration) {}
