//! Answers that are durable when they are accepted, next to what the disk can do.

use std::net::SocketAddr;
use std::time::Duration;

use countersign_testkit::eventually;
use serde_json::json;

use crate::disk;
use crate::http::{self, Connection};
use crate::ledger::TOKEN;
use crate::measure::Bench;
use crate::people::PATIENCE;
use crate::report::{Figure, Unit};
use crate::samples::{Samples, rate};
use crate::served::{Engine, Served};

/// How long the disk is looked at in each round.
const DISK_TIME: Duration = Duration::from_millis(500);
const ROUNDS: usize = 10;
const CLIENTS: usize = 64;

impl Bench {
    pub(super) async fn answers(&self) -> anyhow::Result<Vec<Figure>> {
        let total = self.sizes.answers_alone + self.sizes.answers_together;
        let ledger = self.ledger(total, total).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        wait_until_counted(server.address, total).await?;
        let asks = ledger.open_asks();
        let (alone, together) = asks.split_at(self.sizes.answers_alone);

        // How fast a disk is changes from one second to the next, above all where others use it too: what is
        // compared has to take turns.
        let (mut disk, mut one, mut many) = <(Samples, Samples, Samples)>::default();
        for (alone, together) in rounds(alone).zip(rounds(together)) {
            disk.push(disk::durable_blocks(self.root(), DISK_TIME)?);
            let took = http::send_all(server.address, 1, answers(server.address, alone)).await?;
            one.push(rate(alone.len(), took));
            let requests = answers(server.address, together);
            let took = http::send_all(server.address, CLIENTS, requests).await?;
            many.push(rate(together.len(), took));
        }
        server.stop().await?;

        let figure = |what: &str, rates: &Samples| {
            Figure::new(what, rates.median(), Unit::PerSecond)
                .next_to("fdatasync of 4 KiB", disk.median())
        };
        Ok(vec![
            figure("answers, durable, 1 client", &one),
            figure("answers, durable, 64 clients", &many),
        ])
    }
}

/// As many parts of equal length as there are rounds.
fn rounds(asks: &[String]) -> impl Iterator<Item = &[String]> {
    asks.chunks_exact(asks.len() / ROUNDS)
}

/// Waits until the server has gone through the asks that it found open.
async fn wait_until_counted(address: SocketAddr, asks: usize) -> anyhow::Result<()> {
    let mut connection = Connection::open(address).await?;
    let request = http::request(address, "GET", "/metrics", Some(TOKEN), None);
    let counted = format!("countersign_open_asks {asks}\n");
    eventually(PATIENCE, "the open asks are counted", async || {
        let response = connection.exchange(&request).await.ok()?;
        let figures = String::from_utf8_lossy(response.body);
        figures.contains(&counted).then_some(())
    })
    .await;
    Ok(())
}

fn answers(address: SocketAddr, asks: &[String]) -> Vec<Vec<u8>> {
    let answer = json!({ "answer": "allow_once" });
    let request = |ask: &String| {
        let path = format!("/api/v1/asks/{ask}/answer");
        http::request(address, "POST", &path, Some(TOKEN), Some(&answer))
    };
    asks.iter().map(request).collect()
}
