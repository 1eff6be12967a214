//! What the server is told at its start.

use std::time::Duration;

use crate::prefix::PathPrefix;
use crate::presence::Presence;
use crate::public_url::PublicUrl;

/// What the server is told at its start.
#[derive(Debug, Clone, Default)]
pub struct ServerSettings {
    /// Names under which browsers reach the server besides loopback, as in the `Host` header:
    /// `countersign.example` or `countersign.example:8443`.
    pub public_hosts: Vec<String>,
    /// Where other devices reach the server. Its host is one of the public ones.
    pub public_url: Option<PublicUrl>,
    /// Whether a proxy stands in front whose `X-Forwarded-Proto` can be believed.
    pub behind_proxy: bool,
    /// The path under which a proxy serves us.
    pub path_prefix: PathPrefix,
    /// How much of everything is allowed.
    pub limits: Limits,
    /// Where it is counted who is connected.
    pub presence: Presence,
}

impl ServerSettings {
    /// Every name under which browsers reach the server besides loopback.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let of_url = self.public_url.iter().map(|url| url.host().to_owned());
        self.public_hosts.iter().cloned().chain(of_url).collect()
    }
}

/// How much of everything is allowed.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at once; fewer if the process may not open that many files.
    pub connections: usize,
    /// Connections besides, which only people at this machine get, over the Unix socket.
    pub socket_connections: usize,
    /// Streams and waiting requests that one token may have open at once.
    pub streams_per_token: usize,
    /// How long a connection may be silent: before its first byte, within its headers, and between two
    /// requests.
    pub quiet_time: Duration,
    /// The longest head of a request, in bytes.
    pub head_bytes: usize,
    /// The longest body of a request, in bytes.
    pub body_bytes: usize,
    /// The longest body of a prompt, which attachments come in.
    pub long_body_bytes: usize,
    /// How many long bodies are read at a time.
    pub long_bodies: usize,
    /// How long a body may take to arrive; a long one may take four times that.
    pub body_time: Duration,
    /// How long a peer may leave what it was sent unread.
    pub stall_time: Duration,
    /// How long requests may go on after the server was told to end.
    pub drain_time: Duration,
    /// How often an event stream shows that it is alive.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 12_000,
            socket_connections: 32,
            streams_per_token: 64,
            quiet_time: Duration::from_secs(10),
            head_bytes: 16 << 10,
            body_bytes: 1 << 20,
            // 20 MiB in base 64, and as much again as a prompt's words can take.
            long_body_bytes: 32 << 20,
            long_bodies: 4,
            body_time: Duration::from_secs(15),
            stall_time: Duration::from_mins(1),
            drain_time: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
        }
    }
}
