//! Many clients of the event stream: what each costs, and how long an event takes to all of them.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::followers::{Arrival, CONNECTED, TOKEN_VARIABLE};
use crate::http::{self, Connection};
use crate::ledger::TOKEN;
use crate::measure::Bench;
use crate::process_memory::{self, Memory};
use crate::report::{Figure, Limit, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served};

/// How long the clients may take to connect, or an event to arrive.
const PATIENCE: Duration = Duration::from_mins(2);
/// The most that a client may cost.
const KIBIBYTES_EACH: f64 = 20.0;
/// The longest that all but one in a hundred may wait for an event.
const P99_MILLISECONDS: f64 = 1_500.0;

/// Many clients in a process of their own.
struct Followers {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// What was seen on one server.
struct Seen {
    kibibytes_each: f64,
    /// Over all clients and events, the worst event of each kind.
    median: f64,
    p99: f64,
    lost: usize,
}

impl Bench {
    pub(super) async fn fan_out(&self) -> anyhow::Result<Vec<Figure>> {
        let ours = self.fan_out_of_countersign().await?;
        let bare = self.fan_out_of_axum().await?;
        let count = self.sizes.followers;
        Ok(vec![
            Figure::new(
                format!("memory of each of {count} event streams"),
                ours.kibibytes_each,
                Unit::Kibibytes,
            )
            .next_to("bare axum", bare.kibibytes_each)
            .limited(Limit::AtMost(KIBIBYTES_EACH)),
            Figure::new(
                format!("an event to {count} clients, p50"),
                ours.median,
                Unit::Milliseconds,
            )
            .next_to("bare axum", bare.median),
            Figure::new(
                format!("an event to {count} clients, p99"),
                ours.p99,
                Unit::Milliseconds,
            )
            .next_to("bare axum", bare.p99)
            .limited(Limit::AtMost(P99_MILLISECONDS)),
            Figure::new(
                format!("events lost of {}", count * self.sizes.events),
                f64::from(u32::try_from(ours.lost)?),
                Unit::Count,
            )
            .limited(Limit::AtMost(0.0)),
        ])
    }

    async fn fan_out_of_countersign(&self) -> anyhow::Result<Seen> {
        let ledger = self.ledger(self.sizes.events, self.sizes.events).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        let answer = json!({ "answer": "allow_once" });
        let answers = ledger.open_asks().into_iter().map(|ask| {
            let path = format!("/api/v1/asks/{ask}/answer");
            http::request(server.address, "POST", &path, Some(TOKEN), Some(&answer))
        });
        let seen = self.fan_out_of(&server, TOKEN, answers.collect());
        let seen = seen.await?;
        server.stop().await?;
        Ok(seen)
    }

    async fn fan_out_of_axum(&self) -> anyhow::Result<Seen> {
        let hello = Served::hello().await?;
        let say = http::request(hello.address, "POST", "/say", None, None);
        let seen = self.fan_out_of(&hello, "", vec![say; self.sizes.events]);
        let seen = seen.await?;
        hello.stop().await?;
        Ok(seen)
    }

    /// Has `count` clients follow, sends each of `triggers` to the server once, and watches what arrives.
    async fn fan_out_of(
        &self,
        server: &Served,
        token: &str,
        triggers: Vec<Vec<u8>>,
    ) -> anyhow::Result<Seen> {
        let count = self.sizes.followers;
        let before = process_memory::settled(server.pid, Memory::Resident).await?;
        let mut followers = Followers::start(server.address, token, count)?;
        ensure!(
            followers.next_line().await? == CONNECTED,
            "the clients do not connect"
        );
        let connected = process_memory::settled(server.pid, Memory::Resident).await?;
        let (mut median, mut p99) = (Samples::default(), Samples::default());
        let mut lost = 0;
        for trigger in triggers {
            let mut connection = Connection::open(server.address).await?;
            let status = connection.exchange(&trigger).await?.status;
            ensure!(status == 200, "the server answers {status}");
            let arrival: Arrival = serde_json::from_str(&followers.next_line().await?)
                .context("the clients tell something else")?;
            median.push(arrival.median);
            p99.push(arrival.p99);
            lost += count - arrival.received;
        }
        let after = process_memory::read(server.pid, Memory::Resident)?;
        followers.stop().await?;
        let grown = connected.max(after).saturating_sub(before);
        Ok(Seen {
            kibibytes_each: f64::from(u32::try_from(grown)?) / f64::from(u32::try_from(count)?),
            median: median.max(),
            p99: p99.max(),
            lost,
        })
    }
}

impl Followers {
    fn start(address: SocketAddr, token: &str, count: usize) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["followers", "--address", &address.to_string()])
            .args(["--count", &count.to_string()])
            .env(TOKEN_VARIABLE, token)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start the clients")?;
        let stdout = child.stdout.take().context("the clients' output is lost")?;
        Ok(Self {
            child,
            lines: BufReader::new(stdout).lines(),
        })
    }

    async fn next_line(&mut self) -> anyhow::Result<String> {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line())
            .await
            .context("the clients tell nothing")??;
        line.context("the clients ended")
    }

    async fn stop(mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("failed to end the clients")
    }
}
