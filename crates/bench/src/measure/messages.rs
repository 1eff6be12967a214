//! Messages of an agent through the whole host, next to a bare loop on the same stream.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::bare::BareAgent;
use crate::measure::Bench;
use crate::measured_agent::NAME;
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
        let ledger = self.ledger(0, 0).await?;
        let server = Served::countersign(&ledger, Engine::Measured).await?;
        let mut person = Watcher::meet(&server).await?;
        let (mut ours, mut bare) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            let took = tokio::task::block_in_place(|| tell_bare(count, ledger.root()))?;
            bare.push(rate(count, took));
            // What is told twice in one session costs less the second time.
            let session = person.start_session_with(NAME).await?;
            person.turn(&session, &format!("PREPARE {count}")).await?;
            let began = Instant::now();
            person.turn(&session, "TELL").await?;
            ours.push(rate(count, began.elapsed()));
        }
        server.stop().await?;
        let what = format!("messages of an agent, {count} in a turn");
        Ok(vec![
            Figure::new(what, ours.median(), Unit::PerSecond)
                .next_to("bare loop", bare.median())
                .limited(Limit::RatioAtLeast(LEAST)),
        ])
    }
}

/// Has an agent tell a bare loop so many messages, and returns how long that took.
fn tell_bare(count: usize, directory: &Path) -> anyhow::Result<Duration> {
    let program = std::env::current_exe().context("failed to find this program")?;
    let mut agent = BareAgent::start(&program, &["agent"], directory)?;
    let file = directory.join("bare.jsonl");
    agent.prompt(&format!("PREPARE {count}"), &file)?;
    agent.prompt("TELL", &file)
}
