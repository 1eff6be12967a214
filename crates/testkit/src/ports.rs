//! Free loopback ports below 32768, where the kernel does not hand out its own.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

const RANGE: std::ops::Range<u16> = 10_000..32_000;
const ATTEMPTS: usize = 200;

/// Returns a port that was free a moment ago.
///
/// Another process may take it first; prefer [`listen`] where the listener can be handed over.
pub fn free() -> u16 {
    let address = bind(|address| std::net::TcpListener::bind(address)?.local_addr());
    address.port()
}

/// Listens on a free loopback port.
pub fn listen() -> TcpListener {
    let listener = bind(std::net::TcpListener::bind);
    listener
        .set_nonblocking(true)
        .expect("a fresh socket can be made non-blocking");
    TcpListener::from_std(listener).expect("called inside a tokio runtime")
}

fn bind<T>(attempt: impl Fn(SocketAddr) -> std::io::Result<T>) -> T {
    (0..ATTEMPTS)
        .find_map(|_| {
            let port = rand::random_range(RANGE);
            attempt((Ipv4Addr::LOCALHOST, port).into()).ok()
        })
        .expect("some port of thousands is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_is_below_the_ephemeral_range() {
        let listener = listen();
        let port = listener.local_addr().unwrap().port();
        assert!(RANGE.contains(&port), "{port}");
    }

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free();
        std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }
}
