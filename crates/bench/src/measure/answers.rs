//! Answers that are durable when they are accepted, next to what the disk can do.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use crate::disk;
use crate::http;
use crate::ledger::TOKEN;
use crate::measure::Bench;
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
        let mut asks = ledger.open_asks();
        let together = asks.split_off(self.sizes.answers_alone);

        let before = disk::durable_blocks(self.root(), DISK_TIME)?;
        let took = http::load(server.address, 1, answers(server.address, &asks)).await?;
        let alone = rate(asks.len(), took);
        let took = http::load(server.address, CLIENTS, answers(server.address, &together)).await?;
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

fn answers(address: SocketAddr, asks: &[String]) -> Vec<Vec<u8>> {
    let answer = json!({ "answer": "allow_once" });
    let request = |ask: &String| {
        let path = format!("/api/v1/asks/{ask}/answer");
        http::request(address, "POST", &path, Some(TOKEN), Some(&answer))
    };
    asks.iter().map(request).collect()
}
