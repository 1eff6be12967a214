//! What is read most, under load, next to an axum application that does nothing else.

use anyhow::ensure;

use super::fixture::{AUDIT_LINES, Host, SKILLS};
use super::original::{self, Scale};
use crate::http::{self, Connection};
use crate::processor_time::ProcessorTime;
use crate::report::{Figure, Limit, Unit};
use crate::samples::{Samples, to_f64};
use crate::served::Served;
use crate::sizes::Sizes;

/// As many as the recorded figures were taken with.
const CONNECTIONS: usize = 16;
/// How many entries of the audit are asked for.
const ENTRIES: usize = 50;
/// How much dearer than a bare greeting an answer may be that needs no disk.
const NEAR_BARE: f64 = 1.25;
/// What part of the other server's CPU an answer may take that needs one.
const TWENTIETH: f64 = 0.05;

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Memory,
    Disk,
}

/// Something that is read, and what its answers took.
pub(super) struct Read {
    name: String,
    source: Source,
    request: Vec<u8>,
    /// Requests in a round.
    times: usize,
    /// What the other server took, in microseconds of CPU.
    recorded: f64,
    /// CPU of a request in each round, in microseconds.
    processor: Samples,
    /// How long each answer took, in milliseconds.
    took: Samples,
}

impl Read {
    fn new(name: &str, source: Source, request: Vec<u8>, times: usize, recorded: f64) -> Self {
        Self {
            name: name.to_owned(),
            source,
            request,
            times,
            recorded,
            processor: Samples::default(),
            took: Samples::default(),
        }
    }

    /// The greeting of the bare application.
    pub(super) fn bare(hello: &Served, sizes: &Sizes) -> Self {
        let request = http::request(hello.address, "GET", "/", None, None);
        Self::new("/", Source::Memory, request, sizes.reads, f64::NAN)
    }

    /// Everything that is read of `host`. What is cheap is asked for more often, so that all rounds take as long.
    pub(super) fn all(host: &Host, sizes: &Sizes) -> [Self; 5] {
        let (many, some, few) = (sizes.reads, sizes.reads / 4, sizes.reads / 16);
        let of_server =
            |path: &str, recorded| Self::new(path, Source::Memory, host.get(path), many, recorded);
        let of_workspace = |name: &str, below: &str, times, recorded| {
            let request = host.get(&host.path(below));
            Self::new(name, Source::Disk, request, times, recorded)
        };
        let skills = format!("{SKILLS} skills");
        let entries = format!("{ENTRIES} of {AUDIT_LINES} audit entries");
        let newest = format!("/audit?limit={ENTRIES}");
        [
            of_server("/health", original::HEALTH),
            of_server("/workspaces", original::WORKSPACES),
            of_workspace("config", "/config", some, original::CONFIG),
            of_workspace(&skills, "/skills", few, original::SKILLS),
            of_workspace(&entries, &newest, some, original::AUDIT),
        ]
    }

    /// One round of load on `server`.
    pub(super) async fn round(&mut self, server: &Served) -> anyhow::Result<()> {
        let before = ProcessorTime::of(server.pid)?;
        let request = self.request.clone();
        let took = http::time_each(server.address, CONNECTIONS, request, self.times).await?;
        let had = ProcessorTime::of(server.pid)?.since(&before);
        self.processor
            .push(had.as_secs_f64() * 1e6 / to_f64(took.len()));
        self.took.extend(&took);
        Ok(())
    }

    /// CPU of a request in the middle round, in microseconds.
    pub(super) fn processor(&self) -> f64 {
        self.processor.median()
    }

    /// What is told of it, next to the bare application and to the other server.
    pub(super) fn figures(&self, bare: &Self, scale: Scale) -> Vec<Figure> {
        let processor = || {
            let what = format!("{}, CPU of a request", self.name);
            Figure::new(what, self.processor(), Unit::Microseconds)
        };
        let next_to_bare = processor().next_to("bare axum", bare.processor());
        let took = |percent: usize| {
            let what = format!("{}, p{percent}", self.name);
            Figure::new(what, self.took.percentile(percent), Unit::Milliseconds)
                .next_to("bare axum", bare.took.percentile(percent))
        };
        let (next_to_bare, part) = match self.source {
            Source::Memory => (next_to_bare.limited(Limit::RatioAtMost(NEAR_BARE)), 1.0),
            Source::Disk => (next_to_bare, TWENTIETH),
        };
        vec![
            next_to_bare,
            scale.requests(processor(), self.recorded, Limit::RatioAtMost(part)),
            took(50),
            took(99),
        ]
    }
}

/// Fails unless what is read is what was laid out.
pub(super) async fn check(host: &Host) -> anyhow::Result<()> {
    let mut connection = Connection::open(host.server.address).await?;
    let mut items = async |below: &str| {
        let response = connection.exchange(&host.get(&host.path(below))).await?;
        let listed = response.json()?;
        anyhow::Ok(listed["items"].as_array().map_or(0, Vec::len))
    };
    let skills = items("/skills").await?;
    ensure!(skills == SKILLS, "{skills} skills are listed, not {SKILLS}");
    let entries = items(&format!("/audit?limit={ENTRIES}")).await?;
    ensure!(
        entries == ENTRIES,
        "{entries} entries of {AUDIT_LINES} are listed, not {ENTRIES}"
    );
    Ok(())
}
