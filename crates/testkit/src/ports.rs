//! Loopback ports for tests: each is handed out once, to one process at a time, whatever else runs on this machine.
//!
//! The kernel hands out ports from 32768 on by itself, and Countersign looks for its engines' from 20000 on; these are
//! below both. A port stays reserved until the process that took it ends, so that a server that is killed and started
//! again finds its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};

use tokio::net::TcpListener;

const RANGE: std::ops::Range<u16> = 10_000..18_000;
const ATTEMPTS: usize = 500;

/// Returns a free port that no other test is given while this process lives.
pub fn free() -> u16 {
    // Closed again at once: whoever it is for will listen on it.
    let address = reserve(|address| StdListener::bind(address)?.local_addr());
    address.port()
}

/// Listens on a free loopback port.
pub fn listen() -> TcpListener {
    let listener = reserve(StdListener::bind);
    listener
        .set_nonblocking(true)
        .expect("a fresh socket can be made non-blocking");
    TcpListener::from_std(listener).expect("called inside a tokio runtime")
}

/// Finds a port that nobody has reserved and on which `attempt` succeeds.
fn reserve<T>(attempt: impl Fn(SocketAddr) -> io::Result<T>) -> T {
    (0..ATTEMPTS)
        .find_map(|_| {
            let port = rand::random_range(RANGE);
            let reservation = reservation::take(port)?;
            let found = attempt((Ipv4Addr::LOCALHOST, port).into()).ok()?;
            reservation.keep();
            Some(found)
        })
        .expect("some port of thousands is free")
}

/// Reservations that end with the process that has them, however it ends.
#[cfg(target_os = "linux")]
mod reservation {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};
    use std::sync::{Mutex, PoisonError};

    static KEPT: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());

    /// A name that only one process can have at a time, and that leaves no file behind.
    pub(super) struct Reservation(UnixListener);

    /// Reserves `port`; nothing if somebody else has it.
    pub(super) fn take(port: u16) -> Option<Reservation> {
        let name = format!("countersign-test-port-{port}");
        let name = SocketAddr::from_abstract_name(name).ok()?;
        UnixListener::bind_addr(&name).ok().map(Reservation)
    }

    impl Reservation {
        /// Keeps it until this process ends.
        pub(super) fn keep(self) {
            let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(self.0);
        }
    }
}

/// Without such names a port is only known to have been free a moment ago.
#[cfg(not(target_os = "linux"))]
mod reservation {
    pub(super) struct Reservation;

    pub(super) fn take(_port: u16) -> Option<Reservation> {
        Some(Reservation)
    }

    impl Reservation {
        pub(super) fn keep(self) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_is_below_the_ports_of_engines_and_of_the_kernel() {
        let listener = listen();
        let port = listener.local_addr().unwrap().port();
        assert!(RANGE.contains(&port), "{port}");
    }

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free();
        StdListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_port_that_was_handed_out_is_not_handed_out_again() {
        let port = free();
        assert!(reservation::take(port).is_none());
    }
}
