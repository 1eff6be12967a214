//! Messages of an agent through the whole host, next to a bare loop on the same stream.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::bare::BareAgent;
use crate::measure::Bench;
use crate::people::Watcher;
use crate::report::{Figure, Limit, Unit};
use crate::samples::{Samples, rate};
use crate::served::{Engine, Served};

/// Rounds of each, in turn.
const ROUNDS: usize = 7;
/// The least part of the bare loop's rate that the host has to come to.
const LEAST: f64 = 0.5;

impl Bench {
    pub(super) async fn messages(&self) -> anyhow::Result<Vec<Figure>> {
        let count = self.sizes.messages;
        let prompt = format!("TELL {count}");
        let ledger = self.ledger(0, 0).await?;
        let server = Served::countersign(&ledger, Engine::Measured).await?;
        let mut person = Watcher::meet(&server).await?;
        let session = person
            .start_session_with(crate::measured_agent::NAME)
            .await?;
        let program = std::env::current_exe().context("failed to find this program")?;
        let mut bare = BareAgent::start(&program, &["agent"], ledger.root())?;
        let file = ledger.root().join("bare.jsonl");
        let (mut ours, mut bares) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            let took: Duration = tokio::task::block_in_place(|| bare.prompt(&prompt, &file))?;
            bares.push(rate(count, took));
            let began = Instant::now();
            person.turn(&session, &prompt).await?;
            ours.push(rate(count, began.elapsed()));
        }
        drop(bare);
        server.stop().await?;
        let what = format!("messages of an agent, {count} in a turn");
        Ok(vec![
            Figure::new(what, ours.median(), Unit::PerSecond)
                .next_to("bare loop", bares.median())
                .limited(Limit::RatioAtLeast(LEAST)),
        ])
    }
}
