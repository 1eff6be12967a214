//! Many agents at once: how long they take to be there, what each costs, and that nothing of them is left.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use countersign_testkit::process;
use tokio::task::JoinSet;

use crate::bare::BareAgent;
use crate::measure::Bench;
use crate::people::Watcher;
use crate::process_memory::{self, Memory};
use crate::report::{Figure, Limit, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served, beside_this_program};

/// How many begin at the same time.
const TOGETHER: usize = 8;
/// The agent that comes with the program.
const AGENT: &str = "demo";

impl Bench {
    pub(super) async fn sessions(&self) -> anyhow::Result<Vec<Figure>> {
        let count = self.sizes.sessions;
        let ledger = self.ledger(0, 0).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        // What the first session brings into memory is not the second's.
        open(&server, 1).await?;
        let before = process_memory::settled(server.pid, Memory::Anonymous).await?;
        let opened = open(&server, count).await?;
        let after = process_memory::settled(server.pid, Memory::Anonymous).await?;
        let place = ledger.root().canonicalize()?.to_string_lossy().into_owned();
        let kept = Kept::look(&place, server.pid)?;
        ensure!(
            kept.agents.len() > count,
            "{} agents run",
            kept.agents.len()
        );
        server.stop().await?;
        let left = process::marked(&place).len();
        let bare = self.open_bare(count).await?;
        let more = u32::try_from(after.saturating_sub(before))?;
        let each = f64::from(more) / f64::from(u32::try_from(count)?);
        Ok(vec![
            Figure::new(
                format!("{count} sessions opened, {TOGETHER} at a time"),
                milliseconds(opened),
                Unit::Milliseconds,
            )
            .next_to("bare agents", milliseconds(bare)),
            Figure::new(
                format!("memory of the server for each of {count} sessions"),
                each,
                Unit::Kibibytes,
            ),
            Figure::new(
                "memory of each keeper, p50",
                kept.keepers.median(),
                Unit::Kibibytes,
            ),
            Figure::new(
                "memory of each demo agent, p50",
                kept.agents.median(),
                Unit::Kibibytes,
            ),
            Figure::new(
                "processes left",
                f64::from(u32::try_from(left)?),
                Unit::Count,
            )
            .limited(Limit::AtMost(0.0)),
        ])
    }

    /// Starts as many agents without a host, and returns how long until all had a session.
    async fn open_bare(&self, count: usize) -> anyhow::Result<Duration> {
        let program = beside_this_program("countersign")?;
        let directory: PathBuf = self.root().canonicalize()?;
        let began = Instant::now();
        let mut starters = JoinSet::new();
        for index in 0..TOGETHER {
            let (program, directory) = (program.clone(), directory.clone());
            starters.spawn_blocking(move || {
                let share = (index..count).step_by(TOGETHER);
                let agents: anyhow::Result<Vec<BareAgent>> = share
                    .map(|_| BareAgent::start(&program, &["demo-agent"], &directory))
                    .collect();
                agents.map(|agents| (Instant::now(), agents))
            });
        }
        let mut last = began;
        let mut agents = Vec::new();
        while let Some(started) = starters.join_next().await {
            let (when, started) = started.context("a start failed")??;
            last = last.max(when);
            agents.extend(started);
        }
        Ok(last - began)
    }
}

/// Opens so many sessions, each with a turn, and returns how long it took to open them.
async fn open(server: &Served, count: usize) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut openers = JoinSet::new();
    for index in 0..TOGETHER.min(count) {
        let mut person = Watcher::meet(server).await?;
        openers.spawn(async move {
            let mut sessions = Vec::new();
            for _ in (index..count).step_by(TOGETHER) {
                sessions.push(person.start_session_with(AGENT).await?);
            }
            anyhow::Ok((Instant::now(), person, sessions))
        });
    }
    let mut last = began;
    let mut opened = Vec::new();
    while let Some(ended) = openers.join_next().await {
        let (when, person, sessions) = ended.context("a session failed")??;
        last = last.max(when);
        opened.push((person, sessions));
    }
    for (person, sessions) in &mut opened {
        for session in sessions {
            person.turn(session, "SAY Good day.").await?;
        }
    }
    Ok(last - began)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// What runs besides the server, in KiB that are in no file.
#[derive(Default)]
struct Kept {
    keepers: Samples,
    agents: Samples,
}

impl Kept {
    fn look(place: &str, server: u32) -> anyhow::Result<Self> {
        let mut kept = Self::default();
        for process in process::marked(place) {
            let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let memory = u32::try_from(process_memory::read(process, Memory::Anonymous)?)?;
            if String::from_utf8_lossy(&command).contains("demo-agent") {
                kept.agents.push(f64::from(memory));
            } else if process != server {
                kept.keepers.push(f64::from(memory));
            }
        }
        Ok(kept)
    }
}
