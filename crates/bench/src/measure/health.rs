//! `/healthz` under load, next to an axum application that does nothing else.

use crate::http;
use crate::measure::Bench;
use crate::report::{Figure, Limit, Unit};
use crate::samples::{Samples, rate};
use crate::served::{Engine, Served};

const CONNECTIONS: usize = 64;

impl Bench {
    pub(super) async fn health(&self) -> anyhow::Result<Vec<Figure>> {
        let ledger = self.ledger(0, 0).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        let hello = Served::hello().await?;
        let (mut ours, mut bare) = (Samples::default(), Samples::default());
        // Many short rounds in turn: the best of each is the one in which the machine did the least else.
        for _ in 0..self.sizes.rounds {
            ours.push(self.requests_per_second(&server, "/healthz").await?);
            bare.push(self.requests_per_second(&hello, "/").await?);
        }
        server.stop().await?;
        hello.stop().await?;
        let figure = Figure::new(
            "/healthz, 64 connections, best round",
            ours.max(),
            Unit::PerSecond,
        )
        .next_to("bare axum", bare.max())
        .limited(Limit::RatioAtLeast(0.8));
        Ok(vec![figure])
    }

    async fn requests_per_second(&self, server: &Served, path: &str) -> anyhow::Result<f64> {
        let request = http::request(server.address, "GET", path, None, None);
        let times = self.sizes.requests;
        let took = http::repeat(server.address, CONNECTIONS, request, times).await?;
        Ok(rate(times, took))
    }
}
