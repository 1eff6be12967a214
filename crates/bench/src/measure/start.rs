//! Start to ready, and what the program holds in memory when nothing happens.

use std::time::Instant;

use crate::measure::Bench;
use crate::process_memory::{self, Memory};
use crate::report::{Figure, Limit, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served};

/// Asks in the ledger that it starts on.
const ASKS: usize = 1_000;
const OPEN: usize = 20;

impl Bench {
    pub(super) async fn start(&self) -> anyhow::Result<Vec<Figure>> {
        let ledger = self.ledger(ASKS, OPEN).await?;
        let (mut ours, mut bare) = (Samples::default(), Samples::default());
        // The first start brings the programs into memory.
        for round in 0..=self.sizes.starts {
            let began = Instant::now();
            let server = Served::countersign(&ledger, Engine::None).await?;
            server.ready("/readyz").await?;
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

fn megabytes(kibibytes: u64) -> f64 {
    f64::from(u32::try_from(kibibytes).unwrap_or(u32::MAX)) * 1024.0 / 1e6
}
