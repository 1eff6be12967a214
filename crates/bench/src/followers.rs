//! Many clients of an event stream in a process of their own: it tells when each event arrived at them all.
//!
//! It prints `connected` once every client has had its first frame, then a line of JSON for each event, and
//! fails as soon as one client loses its stream.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use countersign_core::time::Timestamp;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::samples::Samples;
use crate::{clock, http};

/// Where a token is looked for; a command line could be read by others.
pub(crate) const TOKEN_VARIABLE: &str = "COUNTERSIGN_BENCH_TOKEN";
/// What is printed once all are connected.
pub(crate) const CONNECTED: &str = "connected";
/// How many connect at the same time.
const CONNECTING: usize = 128;
/// How long an event may be under way to the last client before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// How an event arrived.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Arrival {
    /// The event's number.
    pub(crate) seq: i64,
    /// How many clients it reached.
    pub(crate) received: usize,
    /// How long it was under way, in milliseconds.
    pub(crate) median: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// What a client tells.
enum Notice {
    Connected,
    Received { seq: i64, milliseconds: f64 },
}

/// Follows the events of `address` with `count` clients.
pub(crate) async fn follow(address: SocketAddr, count: usize) -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, wanted).context("failed to allow more files")?;
    let token = std::env::var(TOKEN_VARIABLE).ok();
    let request: Arc<[u8]> =
        http::request(address, "GET", "/api/v1/events", token.as_deref(), None).into();
    let (notices, heard) = mpsc::unbounded_channel();
    let turns = Arc::new(Semaphore::new(CONNECTING));
    let mut clients = JoinSet::new();
    for _ in 0..count {
        clients.spawn(client(
            address,
            Arc::clone(&request),
            Arc::clone(&turns),
            notices.clone(),
        ));
    }
    drop(notices);
    tokio::select! {
        told = tell(heard, count) => told,
        Some(ended) = clients.join_next() => ended.context("a client failed")?,
    }
}

async fn client(
    address: SocketAddr,
    request: Arc<[u8]>,
    turns: Arc<Semaphore>,
    notices: mpsc::UnboundedSender<Notice>,
) -> anyhow::Result<()> {
    let turn = turns.acquire().await.context("nobody may connect")?;
    let mut stream = TcpStream::connect(address)
        .await
        .context("failed to connect")?;
    stream.write_all(&request).await.context("failed to ask")?;
    let mut turn = Some(turn);
    let mut pending = Vec::with_capacity(512);
    loop {
        let read = stream
            .read_buf(&mut pending)
            .await
            .context("lost the stream")?;
        ensure!(
            read > 0,
            "the stream ended: {}",
            String::from_utf8_lossy(&pending)
        );
        let now = clock::now();
        while let Some((end, seq, at)) = next_data(&pending)? {
            pending.drain(..end);
            let notice = match at {
                None => {
                    drop(turn.take());
                    Notice::Connected
                }
                Some(at) => Notice::Received {
                    seq,
                    milliseconds: clock::milliseconds(at, now),
                },
            };
            notices.send(notice).context("nobody listens")?;
        }
    }
}

/// The number of the next event that is there whole and the time it carries, and where it ends. Without a
/// time it is the first frame.
fn next_data(bytes: &[u8]) -> anyhow::Result<Option<(usize, i64, Option<Timestamp>)>> {
    #[derive(Deserialize)]
    struct Data {
        seq: i64,
        at: Option<Timestamp>,
    }
    const MARK: &[u8] = b"data: ";
    let Some(mark) = bytes.windows(MARK.len()).position(|window| window == MARK) else {
        return Ok(None);
    };
    let data = &bytes[mark + MARK.len()..];
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    let read: Data = serde_json::from_slice(&data[..end]).context("an event does not fit")?;
    Ok(Some((mark + MARK.len() + end, read.seq, read.at)))
}

/// Gathers what the clients tell and prints it.
#[expect(clippy::print_stdout, reason = "whoever started it reads this")]
async fn tell(mut heard: mpsc::UnboundedReceiver<Notice>, count: usize) -> anyhow::Result<()> {
    let mut connected = 0;
    let mut under_way: BTreeMap<i64, Samples> = BTreeMap::new();
    loop {
        let next = tokio::time::timeout(PATIENCE, heard.recv()).await;
        match next {
            Ok(None) => return Ok(()),
            Ok(Some(Notice::Connected)) => {
                connected += 1;
                if connected == count {
                    println!("{CONNECTED}");
                }
            }
            Ok(Some(Notice::Received { seq, milliseconds })) => {
                let arrived = under_way.entry(seq).or_default();
                arrived.push(milliseconds);
                if arrived.len() == count {
                    println!("{}", arrival(seq, arrived)?);
                    under_way.remove(&seq);
                }
            }
            Err(_) => {
                for (seq, arrived) in std::mem::take(&mut under_way) {
                    println!("{}", arrival(seq, &arrived)?);
                }
            }
        }
    }
}

fn arrival(seq: i64, arrived: &Samples) -> anyhow::Result<String> {
    let arrival = Arrival {
        seq,
        received: arrived.len(),
        median: arrived.median(),
        p99: arrived.percentile(99),
        max: arrived.max(),
    };
    serde_json::to_string(&arrival).context("failed to tell of an event")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_once_it_is_whole() {
        let frame = b"3f\r\nid: 7\nevent: ask.changed\ndata: {\"seq\":7,\"at\":\"2026-11-15T18:43:57.833001Z\"}\n\n\r\n";
        assert!(next_data(&frame[..40]).unwrap().is_none());
        let (end, seq, at) = next_data(frame).unwrap().unwrap();
        assert_eq!(seq, 7);
        assert_eq!(at, Some(Timestamp::from_micros(1_794_768_237_833_001)));
        assert!(next_data(&frame[end..]).unwrap().is_none());
        let hello = b"event: hello\ndata: {\"seq\":3}\n\n";
        assert_eq!(next_data(hello).unwrap().unwrap().2, None);
    }
}
