//! Start to ready, and what the program holds in memory when nothing happens.

use std::time::Instant;

use crate::measure::Bench;
use crate::process_memory::{self, Memory, megabytes};
use crate::report::{Figure, Limit, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served};

/// Asks in the ledger that it starts on.
const ASKS: usize = 1_000;
const OPEN: usize = 20;

impl Bench {
    /// How long it takes from before a program is started to its first answer at `path`, and bare axum in turn with it.
    pub(super) async fn starts(
        &self,
        start: impl AsyncFn() -> anyhow::Result<Served>,
        path: &str,
    ) -> anyhow::Result<(Samples, Samples)> {
        let (mut ours, mut bare) = <(Samples, Samples)>::default();
        // The first start brings the programs into memory.
        for round in 0..=self.sizes.starts {
            let began = Instant::now();
            let server = start().await?;
            server.ready(path).await?;
            let took = began.elapsed();
            server.stop().await?;

            let began = Instant::now();
            let hello = Served::hello().await?;
            hello.ready("/").await?;
            let bare_took = began.elapsed();
            hello.stop().await?;
            if round > 0 {
                ours.push_milliseconds(took);
                bare.push_milliseconds(bare_took);
            }
        }
        Ok((ours, bare))
    }

    pub(super) async fn start(&self) -> anyhow::Result<Vec<Figure>> {
        let ledger = self.ledger(ASKS, OPEN).await?;
        let starting = async || Served::countersign(&ledger, Engine::None).await;
        let (ours, bare) = self.starts(starting, "/readyz").await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        let hello = Served::hello().await?;
        let idle = megabytes(process_memory::settled(server.pid, Memory::Anonymous).await?);
        let bare_idle = megabytes(process_memory::settled(hello.pid, Memory::Anonymous).await?);
        server.stop().await?;
        hello.stop().await?;
        Ok(vec![
            Figure::new("start to ready, p50", ours.median(), Unit::Milliseconds)
                .next_to("bare axum", bare.median())
                .limited(Limit::AtMost(30.0)),
            Figure::new("memory, idle (RssAnon)", idle, Unit::Megabytes)
                .next_to("bare axum", bare_idle)
                .limited(Limit::AtMost(15.0)),
        ])
    }
}
