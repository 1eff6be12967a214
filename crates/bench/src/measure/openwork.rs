//! In the place of OpenWork's server: the same requests that it was measured with, in a workspace that it left.

mod fixture;
mod original;
mod reads;
mod round_trips;

use std::time::Duration;

use self::fixture::{Approval, Fixture, Host};
use self::original::Scale;
use self::reads::Read;
use self::round_trips::RoundTrips;
use crate::disk;
use crate::measure::Bench;
use crate::process_memory::{self, Memory, megabytes};
use crate::processor_time::ProcessorTime;
use crate::report::{Figure, Limit, Unit};
use crate::samples::{Samples, to_f64};
use crate::served::Served;

/// How long the disk is looked at in each round of writes.
const DISK_TIME: Duration = Duration::from_millis(250);
/// Rounds of writes, with a look at the disk in between.
const WRITE_ROUNDS: usize = 10;
/// Writes before measuring begins, there and back.
const WARM_UP: usize = 5;

/// What all writes together took.
struct Writes {
    /// Each, in milliseconds.
    took: Samples,
    /// CPU of each, in microseconds.
    processor: f64,
    /// What the disk takes to make a block durable, in milliseconds.
    durable: f64,
}

impl Bench {
    pub(super) async fn openwork(&self) -> anyhow::Result<Vec<Figure>> {
        let fixture = Fixture::lay_out(self.root())?;
        fixture.take_over(self.sizes.deeds).await?;
        let mut figures = self.openwork_starts(&fixture).await?;

        let host = fixture.serve(Approval::Manual).await?;
        let hello = Served::hello().await?;
        let idle = process_memory::settled(host.server.pid, Memory::Resident).await?;
        reads::check(&host).await?;
        let mut bare = Read::bare(&hello, &self.sizes);
        let mut all = Read::all(&host, &self.sizes);
        for _ in 0..self.sizes.rounds {
            bare.round(&hello).await?;
            for read in &mut all {
                read.round(&host.server).await?;
            }
        }
        let writes = tokio::task::block_in_place(|| self.openwork_writes(&host))?;
        let after = process_memory::settled(host.server.pid, Memory::Resident).await?;
        let bare_after = process_memory::settled(hello.pid, Memory::Resident).await?;
        host.server.stop().await?;
        hello.stop().await?;

        let scale = Scale::new(bare.processor(), writes.durable);
        for read in &all {
            figures.extend(read.figures(&bare, scale));
        }
        figures.extend(writes.figures(scale));
        let memory = |what: &str, kibibytes, recorded| {
            let what = format!("memory, {what} (VmRSS)");
            Figure::new(what, megabytes(kibibytes), Unit::Megabytes)
                .next_to("OpenWork 0.1.1, compiled", recorded)
        };
        figures.extend([
            memory("idle", idle, original::IDLE).limited(Limit::RatioAtMost(0.5)),
            memory("after load", after, original::AFTER_LOAD).limited(Limit::RatioAtMost(0.2)),
            Figure::new(
                "memory, after load (VmRSS)",
                megabytes(after),
                Unit::Megabytes,
            )
            .next_to("bare axum", megabytes(bare_after)),
        ]);
        Ok(figures)
    }

    async fn openwork_starts(&self, fixture: &Fixture) -> anyhow::Result<Vec<Figure>> {
        let starting = async || fixture.start(Approval::Manual).await;
        let (ours, bare) = self.starts(starting, "/health").await?;
        let figure = || {
            let what = "start to the first `/health`, p50";
            Figure::new(what, ours.median(), Unit::Milliseconds)
        };
        Ok(vec![
            figure()
                .next_to("OpenWork 0.1.1, compiled", original::START)
                .limited(Limit::RatioAtMost(1.0)),
            figure().next_to("bare axum", bare.median()),
        ])
    }

    fn openwork_writes(&self, host: &Host) -> anyhow::Result<Writes> {
        let mut trips = RoundTrips::begin(host)?;
        for _ in 0..WARM_UP {
            trips.there_and_back()?;
        }
        trips.took = Samples::default();
        let (mut disk, mut had) = (Samples::default(), Duration::ZERO);
        for _ in 0..WRITE_ROUNDS {
            // A disk that others use too changes from one second to the next.
            disk.push(disk::durable_blocks(self.root(), DISK_TIME)?);
            let before = ProcessorTime::of(host.server.pid)?;
            for _ in 0..self.sizes.round_trips / WRITE_ROUNDS / 2 {
                trips.there_and_back()?;
            }
            had += ProcessorTime::of(host.server.pid)?.since(&before);
        }
        Ok(Writes {
            processor: had.as_secs_f64() * 1e6 / to_f64(trips.took.len()),
            took: trips.took,
            durable: 1e3 / disk.median(),
        })
    }
}

impl Writes {
    fn figures(&self, scale: Scale) -> Vec<Figure> {
        let durable = |what: &str, percent| {
            Figure::new(what, self.took.percentile(percent), Unit::Milliseconds)
                .next_to("fdatasync of 4 KiB", self.durable)
        };
        let mut figures = Vec::from(scale.round_trip(self.took.median()));
        figures.extend([
            durable("approval round trip, durable, p50", 50),
            durable("approval round trip, durable, p99", 99),
            Figure::new(
                "approval round trip, CPU",
                self.processor,
                Unit::Microseconds,
            ),
        ]);
        figures
    }
}
