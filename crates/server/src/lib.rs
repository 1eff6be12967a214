//! HTTP, server-sent events and authentication: a thin skin over the broker.
//!
//! Nothing here decides what may be done: [`Broker`] checks every caller's grants. This crate decides who a
//! caller is, keeps the listener alive under whatever is thrown at it, and says everything in JSON.

mod auth;
#[expect(
    unused_qualifications,
    reason = "the macros that describe the endpoints write them"
)]
mod endpoints;
mod error;
mod extract;
mod feed;
mod front;
mod gate;
mod headers;
mod listener;
mod metrics;
mod origin;
mod prefix;
mod presence;
mod public_url;
mod remainder;
mod requests;
mod router;
mod settings;
mod state;
mod streams;

pub use axum::body::Body;
pub use axum::extract::Request;
pub use axum::response::Response;
pub use endpoints::engines::engine_offers;
pub use front::{Answering, Front, Routes};
pub use prefix::{PathPrefix, UnfitPrefix};
pub use presence::Presence;
pub use public_url::{InvalidPublicUrl, PublicUrl};
pub use router::openapi;
pub use settings::{Limits, ServerSettings};

use std::io;
use std::sync::Arc;

use countersign_broker::Broker;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::listener::{Hub, Listening};
use crate::state::Server;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4_096;

/// Serves `broker` on `tcp` and, for people at this machine, on `unix` until `shutdown`; `front` is asked first, if there
/// is one.
///
/// At `shutdown` no connection is accepted any more, event streams end at once, and requests that are under
/// way have [`Limits::drain_time`] to finish.
pub async fn serve(
    broker: Broker,
    tcp: TcpListener,
    unix: Option<UnixListener>,
    settings: ServerSettings,
    front: Option<Arc<Front>>,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let port = tcp.local_addr()?.port();
    // A crowd that comes at once waits in line; who finds no place there would never learn of it.
    rustix::net::listen(&tcp, BACKLOG)?;
    let drain_time = settings.limits.drain_time;
    let server = Arc::new(Server::new(broker, port, settings, shutdown.clone()));
    let tasks = TaskTracker::new();
    tasks.spawn(feed::tail(Arc::clone(&server)));
    tasks.spawn(streams::watch(Arc::clone(&server)));

    let hub = Arc::new(Hub::new(server, front, tasks.clone()));
    tasks.spawn(listener::accept(Listening::Tcp(tcp), Arc::clone(&hub)));
    if let Some(unix) = unix {
        tasks.spawn(listener::accept(Listening::Unix(unix), Arc::clone(&hub)));
    }

    shutdown.cancelled().await;
    tasks.close();
    if tokio::time::timeout(drain_time, tasks.wait())
        .await
        .is_err()
    {
        tracing::warn!("connections that did not finish in time were closed");
        hub.abandon();
        tasks.wait().await;
    }
    Ok(())
}
