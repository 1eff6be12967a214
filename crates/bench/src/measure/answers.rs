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
use crate::samples::rate;
use crate::served::{Engine, Served};

/// How long the disk is looked at, before and after.
const DISK_TIME: Duration = Duration::from_secs(2);
const CLIENTS: usize = 64;

impl Bench {
    pub(super) async fn answers(&self) -> anyhow::Result<Vec<Figure>> {
        let total = self.sizes.answers_alone + self.sizes.answers_together;
        let ledger = self.ledger(total, total).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        wait_until_counted(server.address, total).await?;
        let mut asks = ledger.open_asks();
        let together = asks.split_off(self.sizes.answers_alone);

        let before = disk::durable_blocks(self.root(), DISK_TIME)?;
        let took = http::send_all(server.address, 1, answers(server.address, &asks)).await?;
        let alone = rate(asks.len(), took);
        let took =
            http::send_all(server.address, CLIENTS, answers(server.address, &together)).await?;
        let shared = rate(together.len(), took);
        let after = disk::durable_blocks(self.root(), DISK_TIME)?;
        server.stop().await?;

        let disk = f64::midpoint(before, after);
        let figure = |what: &str, value| {
            Figure::new(what, value, Unit::PerSecond).next_to("fdatasync of 4 KiB", disk)
        };
        Ok(vec![
            figure("answers, durable, 1 client", alone),
            figure("answers, durable, 64 clients", shared),
        ])
    }
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
