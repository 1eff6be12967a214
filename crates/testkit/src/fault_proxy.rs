//! A TCP proxy that fails on demand.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What happens to what passes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    /// Everything passes.
    #[default]
    None,
    /// Every piece is held for so long, in both directions.
    Latency(Duration),
    /// Connections are accepted and stay open, and nothing passes. What was held back is lost.
    Blackhole,
    /// Connections are reset, those that are open and new ones.
    Reset,
    /// Each connection that is opened from now on is closed after so many bytes from the server.
    CutAfter(u64),
    /// New connections are refused; those that are open go on.
    Refuse,
}

/// A running proxy. Dropping it closes every connection.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    fault: watch::Sender<Fault>,
    is_listening: watch::Receiver<bool>,
    _accepting: JoinSet<()>,
}

impl FaultProxy {
    /// Starts a proxy on a free port that forwards to `target`.
    pub fn start(target: SocketAddr) -> Self {
        let listener = crate::ports::listen();
        let address = listener
            .local_addr()
            .expect("a listening socket has an address");
        let fault = watch::Sender::new(Fault::None);
        let (listening, is_listening) = watch::channel(true);
        let acceptor = Acceptor {
            target,
            address,
            fault: fault.subscribe(),
            listening,
        };
        let mut accepting = JoinSet::new();
        accepting.spawn(acceptor.run(listener));
        Self {
            address,
            fault,
            is_listening,
            _accepting: accepting,
        }
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its address as an HTTP URL without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Switches to `fault`, and returns once new connections meet it.
    pub async fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
        let listens = fault != Fault::Refuse;
        let mut is_listening = self.is_listening.clone();
        let switched = is_listening.wait_for(|listening| *listening == listens);
        switched
            .await
            .expect("the proxy runs as long as this value");
    }
}

struct Acceptor {
    target: SocketAddr,
    address: SocketAddr,
    fault: watch::Receiver<Fault>,
    listening: watch::Sender<bool>,
}

impl Acceptor {
    async fn run(mut self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        let mut listener = Some(listener);
        loop {
            let fault = *self.fault.borrow_and_update();
            if fault == Fault::Refuse {
                listener = None;
            } else if listener.is_none() {
                // Nobody else takes the port in the meantime but by bad luck; then this shows as a refusal.
                listener = TcpListener::bind(self.address).await.ok();
            }
            self.listening.send_replace(listener.is_some());
            tokio::select! {
                changed = self.fault.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                Some(client) = accept(listener.as_ref()) => {
                    let connection = Connection { fault: self.fault.clone(), target: self.target };
                    connections.spawn(connection.run(client));
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// Returns the next connection; without a listener it waits for ever.
async fn accept(listener: Option<&TcpListener>) -> Option<TcpStream> {
    match listener {
        Some(listener) => listener.accept().await.ok().map(|(client, _)| client),
        None => std::future::pending().await,
    }
}

struct Connection {
    fault: watch::Receiver<Fault>,
    target: SocketAddr,
}

impl Connection {
    async fn run(mut self, client: TcpStream) {
        let opened_under = *self.fault.borrow();
        if opened_under == Fault::Reset {
            return reset(client);
        }
        let Ok(server) = TcpStream::connect(self.target).await else {
            return reset(client);
        };
        let limit = match opened_under {
            Fault::CutAfter(bytes) => bytes,
            Fault::None | Fault::Latency(_) | Fault::Blackhole | Fault::Reset | Fault::Refuse => {
                u64::MAX
            }
        };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let mut up = Pump {
            from: from_client,
            to: to_server,
            left: u64::MAX,
            fault: self.fault.clone(),
        };
        let mut down = Pump {
            from: from_server,
            to: to_client,
            left: limit,
            fault: self.fault.clone(),
        };
        let is_reset = tokio::select! {
            _ = self.fault.wait_for(|fault| *fault == Fault::Reset) => true,
            () = down.run() => false,
            () = async { up.run().await; std::future::pending().await } => false,
        };
        if is_reset && let Ok(client) = up.from.reunite(down.to) {
            reset(client);
        }
    }
}

fn reset(client: TcpStream) {
    // Without lingering, closing sends a reset instead of an orderly end.
    let _closed_already = client.set_zero_linger();
    drop(client);
}

/// Carries bytes one way.
struct Pump {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    /// How many bytes may still pass.
    left: u64,
    fault: watch::Receiver<Fault>,
}

impl Pump {
    /// Runs until either side ends, or the limit is reached.
    async fn run(&mut self) {
        let mut buffer = vec![0; 16 * 1024];
        while self.left > 0 {
            let Ok(read @ 1..) = self.from.read(&mut buffer).await else {
                break;
            };
            let fault = *self.fault.borrow();
            match fault {
                Fault::Latency(latency) => tokio::time::sleep(latency).await,
                Fault::Blackhole => continue,
                Fault::None | Fault::Reset | Fault::CutAfter(_) | Fault::Refuse => {}
            }
            let passing = read.min(usize::try_from(self.left).unwrap_or(usize::MAX));
            if self.to.write_all(&buffer[..passing]).await.is_err() {
                break;
            }
            self.left -= passing as u64;
        }
        // The other side learns that no more will come.
        let _gone = self.to.shutdown().await;
    }
}

#[cfg(test)]
mod tests;
