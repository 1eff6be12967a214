//! Whether the server of this machine answers at all.
//!
//! A request may take long, and a server that is stopped or hangs takes connections all the same: only that it does not
//! even say that it lives tells the two apart.

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use tokio::time::{sleep, timeout};

use super::{Unsent, socket};
use crate::discovery::{ServerFile, process_state};

/// How long a request may take before the server is asked whether it lives; as long after each such question.
pub(super) const OF_A_REQUEST: Duration = Duration::from_secs(1);
/// The same for a stream of events, on which something is said every 15 seconds.
pub(super) const OF_A_STREAM: Duration = Duration::from_secs(20);
/// How long the server may take to say that it lives.
const LIMIT: Duration = Duration::from_secs(5);
/// A process that was stopped, and one that is traced.
const STOPPED: [char; 2] = ['T', 't'];

/// Asks the server at `socket` every `pause` whether it lives, and returns when it does not say so within [`LIMIT`]; never
/// while it does, or is gone.
pub(super) async fn until_silent(socket: &Path, pause: Duration) {
    loop {
        sleep(pause).await;
        let asking = socket::exchange(socket, (Method::GET, "/healthz"), None);
        match timeout(LIMIT, asking).await {
            Err(_) | Ok(Err(Unsent::TooLate | Unsent::Silent)) => return,
            // One that is gone, or hangs up, is seen by whoever waits for it.
            Ok(Ok(_) | Err(Unsent::NoServer(_) | Unsent::Broken(_))) => {}
        }
    }
}

/// What to tell the person about a server that does not answer.
pub(super) fn sentence(server: &ServerFile) -> String {
    let pid = server.pid;
    let socket = server.socket.display();
    let limit = LIMIT.as_secs();
    let is_stopped = process_state(pid).is_some_and(|state| STOPPED.contains(&state));
    if is_stopped {
        format!(
            "the server does not answer: its process {pid} is stopped (SIGSTOP), and has said nothing at {socket} for {limit} s\n\
             `kill -CONT {pid}` lets it go on"
        )
    } else {
        format!(
            "the server does not answer: its process {pid} has said nothing at {socket} for {limit} s\n\
             Look at what it prints and at the load of the machine; `kill {pid}` stops it in order, `kill -9 {pid}` at once, and \
             the next server goes on from what is written"
        )
    }
}
