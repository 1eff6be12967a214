//! The figures of a large ledger, and how long somebody else waits for the ledger meanwhile.

use std::time::Instant;

use anyhow::ensure;
use tokio::task::JoinSet;

use crate::http::Connection;
use crate::ledger::TOKEN;
use crate::measure::Bench;
use crate::report::{Figure, Limit, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served};

const OPEN: usize = 100;
/// How often figures are read.
const TIMES: usize = 5;

impl Bench {
    pub(super) async fn figures(&self) -> anyhow::Result<Vec<Figure>> {
        let many = self.sizes.many_asks;
        let ledger = self.ledger(many, OPEN).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        let mut reader = Connection::open(server.address).await?;
        let (mut took, mut counted) = (Samples::default(), 0);
        for _ in 0..TIMES {
            let began = Instant::now();
            let figures = reader.get("/api/v1/figures?days=30", TOKEN).await?;
            took.push_milliseconds(began.elapsed());
            let days = figures["days"].as_array().cloned().unwrap_or_default();
            counted = days.iter().filter_map(|day| day["asks"].as_i64()).sum();
        }
        ensure!(counted > 0, "no ask was counted");

        // Meanwhile somebody looks at an ask.
        let mut waits = Samples::default();
        let mut other = Connection::open(server.address).await?;
        let path = format!("/api/v1/asks/{}", ledger.open_asks()[0]);
        let mut readers = JoinSet::new();
        readers.spawn(async move {
            for _ in 0..TIMES {
                reader.get("/api/v1/figures?days=30", TOKEN).await?;
            }
            anyhow::Ok(())
        });
        let read = loop {
            if let Some(read) = readers.try_join_next() {
                break read;
            }
            let began = Instant::now();
            other.get(&path, TOKEN).await?;
            waits.push_milliseconds(began.elapsed());
        };
        read??;
        server.stop().await?;
        Ok(vec![
            Figure::new(
                format!("figures of 30 days: {counted} asks of {many}, p50"),
                took.median(),
                Unit::Milliseconds,
            )
            .limited(Limit::AtMost(2_000.0)),
            Figure::new(
                "an ask that is read meanwhile, p99",
                waits.percentile(99),
                Unit::Milliseconds,
            )
            .limited(Limit::AtMost(100.0)),
        ])
    }
}
