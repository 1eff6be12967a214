//! The listener: accepts, limits and ends connections, over TCP and over the Unix socket.
//!
//! A connection that says nothing, or says it too slowly, is closed. There are never more of them than fit,
//! and a machine that is out of file descriptors makes the listener wait, not die.

mod connection;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use countersign_broker::{Broker, Placed};
use rustix::process::{Resource, getrlimit};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::Peer;
use crate::front::{Front, Reception, Routes};
use crate::presence::Presence;
use crate::router::router;
use crate::settings::Limits;
use crate::state::Server;

/// How long the listener waits when the system can give it no connection.
const BACK_OFF: Duration = Duration::from_millis(100);
/// Descriptors that connections leave to the database, the engines and the rest.
const RESERVED_FILES: usize = 128;
/// What somebody is told for whom there is no room.
const NO_ROOM: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    connection: close\r\ncontent-length: 75\r\n\r\n\
    {\"code\":\"too_many\",\"message\":\"there are too many connections\",\"details\":{}}";

/// Where connections come in.
pub(crate) enum Listening {
    /// From everywhere.
    Tcp(TcpListener),
    /// From processes of this machine that may open the socket's file.
    Unix(UnixListener),
}

/// A connection that was accepted.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// What all connections share.
pub(crate) struct Hub {
    pub(crate) reception: Reception,
    pub(crate) limits: Limits,
    /// New requests are no longer taken.
    pub(crate) shutdown: CancellationToken,
    /// Connections are dropped as they are.
    pub(crate) abandoned: CancellationToken,
    broker: Broker,
    presence: Presence,
    /// Places for connections, whoever makes them.
    room: Arc<Semaphore>,
    /// Places that are left to people at this machine when others have taken all of `room`.
    socket_room: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Hub {
    pub(crate) fn new(server: Arc<Server>, front: Option<Arc<Front>>, tasks: TaskTracker) -> Self {
        let limits = server.settings.limits.clone();
        let prefix = server.settings.path_prefix.clone();
        Self {
            room: Arc::new(Semaphore::new(room(
                limits.connections,
                limits.socket_connections,
            ))),
            socket_room: Arc::new(Semaphore::new(limits.socket_connections)),
            shutdown: server.shutdown.clone(),
            abandoned: CancellationToken::new(),
            broker: server.broker.clone(),
            presence: server.settings.presence.clone(),
            reception: Reception::new(Routes::new(router(server), limits.clone()), front, prefix),
            limits,
            tasks,
        }
    }

    /// Tells processes of engines from the others. It is looked at now, and again with each request:
    /// later the number of a process may have come to be another's.
    fn place(&self, peer: Peer) -> Peer {
        match peer {
            Peer::Local {
                pid: Some(pid),
                uid,
            } => match self.broker.place(pid) {
                Placed::Nobodys => peer,
                Placed::Proxy => Peer::Proxy { pid, uid },
                Placed::Engines => Peer::Engine,
            },
            Peer::Local { pid: None, .. } | Peer::Remote | Peer::Proxy { .. } | Peer::Engine => {
                peer
            }
        }
    }

    /// A place for a connection of `peer`, if there is one.
    fn place_for(&self, peer: Peer) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.room).try_acquire_owned().ok();
        match peer {
            Peer::Local { .. } => {
                place.or_else(|| Arc::clone(&self.socket_room).try_acquire_owned().ok())
            }
            // An agent runs as the same user: it must not be able to take these places as well.
            Peer::Remote | Peer::Proxy { .. } | Peer::Engine => place,
        }
    }

    /// Drops the connections that are left.
    pub(crate) fn abandon(&self) {
        self.abandoned.cancel();
    }
}

/// How many connections fit, if `wanted` are wished for, besides those for the socket.
fn room(wanted: usize, socket_connections: usize) -> usize {
    let files = getrlimit(Resource::Nofile)
        .current
        .and_then(|files| usize::try_from(files).ok())
        .unwrap_or(usize::MAX);
    let left = files.saturating_sub(RESERVED_FILES + socket_connections);
    wanted.min(left).max(1)
}

/// Accepts connections until the server ends.
pub(crate) async fn accept(listening: Listening, hub: Arc<Hub>) {
    let mut exhausted = false;
    loop {
        let accepted = tokio::select! {
            () = hub.shutdown.cancelled() => return,
            accepted = listening.accept() => accepted,
        };
        match accepted {
            Ok((socket, peer)) => {
                exhausted = false;
                let peer = hub.place(peer);
                match hub.place_for(peer) {
                    Some(place) => welcome(socket, peer, &hub, place),
                    None => socket.turn_away(),
                }
            }
            Err(error) if is_about_one_peer(&error) => {}
            Err(error) => {
                if !exhausted {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "no connection can be accepted for now");
                }
                exhausted = true;
                tokio::select! {
                    () = hub.shutdown.cancelled() => return,
                    () = tokio::time::sleep(BACK_OFF) => {}
                }
            }
        }
    }
}

/// Whether the peer went away before it was accepted; the next one may be there already.
fn is_about_one_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

fn welcome(socket: Socket, peer: Peer, hub: &Arc<Hub>, place: OwnedSemaphorePermit) {
    let hub_of_connection = Arc::clone(hub);
    let visit = hub.presence.enter();
    hub.tasks.spawn(async move {
        connection::converse(socket, peer, &hub_of_connection).await;
        drop(visit);
        drop(place);
    });
}

impl Listening {
    async fn accept(&self) -> io::Result<(Socket, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Socket::Tcp(stream), Peer::Remote))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let credentials = stream.peer_cred()?;
                let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok());
                Ok((
                    Socket::Unix(stream),
                    Peer::Local {
                        pid,
                        uid: credentials.uid(),
                    },
                ))
            }
        }
    }
}

impl Socket {
    /// Says in one breath that there is no room; who does not take it gets nothing.
    fn turn_away(self) {
        drop(match self {
            Self::Tcp(stream) => stream.try_write(NO_ROOM),
            Self::Unix(stream) => stream.try_write(NO_ROOM),
        });
    }

    /// Waits until the peer has said something, or has gone.
    async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_room_is_told_so_in_well_formed_json() {
        let text = std::str::from_utf8(NO_ROOM).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("content-length: {}", body.len())));
        let body: countersign_api::ErrorBody = serde_json::from_str(body).unwrap();
        assert_eq!(body.code, countersign_api::ErrorCode::TooMany);
    }

    #[test]
    fn connections_leave_files_to_the_rest() {
        assert_eq!(room(1, 0), 1);
        assert!(room(usize::MAX, 32) < room(usize::MAX, 0));
    }
}
