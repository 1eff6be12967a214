//! Jobs: `status` next to a Node.js that does nothing, how soon a waiter hears of an end, and a queue worked off.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use countersign_core::time::Timestamp;
use countersign_testkit::{peers, process};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::clock;
use crate::http::Connection;
use crate::ledger::{Ledger, TOKEN};
use crate::measure::Bench;
use crate::people::PATIENCE;
use crate::process_memory::{self, Memory, megabytes};
use crate::report::{Figure, Limit, Unit};
use crate::samples::{Samples, rate};
use crate::served::{Engine, Served, beside_this_program};

/// Jobs in the small ledger.
const FEW: usize = 50;
/// What `status` prints of them.
const JOBS: &str = "Latest Finished";
/// Runs of each command before measuring begins.
const WARM_UP: usize = 3;
/// How often it is looked how a job stands.
const LOOK: Duration = Duration::from_millis(10);
/// How long a waiter has to be waiting.
const SETTLE: Duration = Duration::from_millis(300);
/// How many jobs are listed at a time.
const PAGE: usize = 500;

impl Bench {
    pub(super) async fn jobs(&self) -> anyhow::Result<Vec<Figure>> {
        let mut figures = self.statuses().await?;
        figures.extend(self.wakes().await?);
        figures.extend(self.queue().await?);
        Ok(figures)
    }

    /// `countersign status` with few jobs and with many, and `node -e 0`, in turn.
    async fn statuses(&self) -> anyhow::Result<Vec<Figure>> {
        let many = self.sizes.many_jobs;
        let (small, large) = (self.ledger(0, 0).await?, self.ledger(0, 0).await?);
        tokio::task::block_in_place(|| {
            small.add_jobs(FEW)?;
            large.add_jobs(many)
        })?;
        let servers = [
            Served::countersign(&small, Engine::None).await?,
            Served::countersign(&large, Engine::None).await?,
        ];
        let (mut few, mut lots, mut node) = <(Samples, Samples, Samples)>::default();
        let program = installed(&small)?;
        for index in 0..WARM_UP + self.sizes.statuses {
            if index == WARM_UP {
                (few, lots, node) = <(Samples, Samples, Samples)>::default();
            }
            let mut both = [(&small, &mut few), (&large, &mut lots)];
            // Whoever comes after Node.js finds the processor's memory full of that: each does every other time.
            if index % 2 == 1 {
                both.reverse();
            }
            for (ledger, took) in both {
                took.push_milliseconds(timed(status(&program, ledger), JOBS)?);
            }
            node.push_milliseconds(timed(nothing(), "")?);
        }
        for server in servers {
            server.stop().await?;
        }
        let figure = |jobs: usize, took: &Samples| {
            Figure::new(
                format!("`status` on {jobs} jobs, p50"),
                took.median(),
                Unit::Milliseconds,
            )
            .next_to("node -e 0", node.median())
            .limited(Limit::RatioAtMost(0.1))
        };
        Ok(vec![figure(FEW, &few), figure(many, &lots)])
    }

    /// From the end of a job, as the ledger has it, to the end of a `wait-and-result` that waits for it.
    async fn wakes(&self) -> anyhow::Result<Vec<Figure>> {
        let ledger = self.ledger(0, 0).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        let mut connection = Connection::open(server.address).await?;
        let mut took = Samples::default();
        for _ in 0..self.sizes.wakes {
            let id = hand_in(&mut connection, "RUN true").await?;
            let waiting = until(&mut connection, &id, "waiting").await?;
            let mut command = countersign(&ledger)?;
            command.args(["wait-and-result", &id]);
            let waiter = command.spawn().context("failed to start a waiter")?;
            tokio::time::sleep(SETTLE).await;
            let ask = waiting["open_asks"][0].as_str().unwrap_or_default();
            let path = format!("/api/v1/asks/{ask}/answer");
            let answer = json!({ "answer": "allow_once" });
            connection.post(&path, TOKEN, &answer).await?;
            let output = tokio::time::timeout(PATIENCE, waiter.wait_with_output());
            let output = output.await.context("a waiter waits for ever")??;
            let heard = clock::now();
            ensure!(output.status.success(), "a waiter ends with {output:?}");
            let job = until(&mut connection, &id, "completed").await?;
            let ended: Timestamp = serde_json::from_value(job["ended_at"].clone())?;
            took.push_milliseconds(heard.since(ended));
        }
        server.stop().await?;
        let figure = |what: &str, value| {
            Figure::new(
                format!("`wait-and-result` after the job's end, {what}"),
                value,
                Unit::Milliseconds,
            )
            .limited(Limit::AtMost(50.0))
        };
        Ok(vec![
            figure("p50", took.median()),
            figure("p90", took.percentile(90)),
        ])
    }

    /// Many jobs of the demo agent at once, through the places that there are.
    async fn queue(&self) -> anyhow::Result<Vec<Figure>> {
        let count = self.sizes.queued_jobs;
        let ledger = self.ledger(0, 0).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        let mut connection = Connection::open(server.address).await?;
        // What the first job brings into memory is not the second's.
        let first = hand_in(&mut connection, "SAY done").await?;
        until(&mut connection, &first, "completed").await?;
        let before = process_memory::settled(server.pid, Memory::Anonymous).await?;
        let began = Instant::now();
        for _ in 0..count {
            hand_in(&mut connection, "SAY done").await?;
        }
        let handed_in = began.elapsed();
        let mut most = 0;
        loop {
            most = most.max(process_memory::read(server.pid, Memory::Anonymous)?);
            let listed = connection.get("/api/v1/jobs?limit=1&unended=true", TOKEN);
            let listed = listed.await?;
            let jobs = listed["jobs"].as_array().map_or(&[][..], Vec::as_slice);
            if jobs.iter().all(|job| !job["ended_at"].is_null()) {
                break;
            }
            ensure!(began.elapsed() < 30 * PATIENCE, "the queue does not end");
            tokio::time::sleep(10 * LOOK).await;
        }
        let took = began.elapsed();
        let after = process_memory::settled(server.pid, Memory::Anonymous).await?;
        let completed = completed(&mut connection).await?;
        server.stop().await?;
        let place = ledger.root().canonicalize()?.to_string_lossy().into_owned();
        let left = process::marked(&place).len();
        let counted = |what: &str, number: usize| -> anyhow::Result<Figure> {
            let number = f64::from(u32::try_from(number)?);
            Ok(Figure::new(what, number, Unit::Count).limited(Limit::AtMost(0.0)))
        };
        Ok(vec![
            Figure::new(
                format!("{count} jobs handed in, one after the other"),
                rate(count, handed_in),
                Unit::PerSecond,
            ),
            Figure::new(
                format!("{count} jobs of the demo agent through 4 places"),
                rate(count, took),
                Unit::PerSecond,
            ),
            Figure::new(
                "memory of the server at most meanwhile (RssAnon)",
                megabytes(most),
                Unit::Megabytes,
            )
            .next_to("before", megabytes(before)),
            Figure::new(
                "memory of the server afterwards (RssAnon)",
                megabytes(after),
                Unit::Megabytes,
            )
            .next_to("before", megabytes(before)),
            counted(
                "jobs that were not completed",
                (count + 1).saturating_sub(completed),
            )?,
            counted("processes left by jobs", left)?,
        ])
    }
}

/// The command line, the way it is used at the machine.
fn countersign(ledger: &Ledger) -> anyhow::Result<Command> {
    Ok(call(&beside_this_program("countersign")?, ledger))
}

fn call(program: &Path, ledger: &Ledger) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(ledger.workspace())
        .env_clear()
        .env("HOME", ledger.root())
        .env("COUNTERSIGN_DATA", ledger.data())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// A copy of the program, as an installation makes it and as Node.js is one: what a linker wrote is in the memory of the
/// kernel in small pieces, and each start has to put them together.
fn installed(ledger: &Ledger) -> anyhow::Result<PathBuf> {
    let linked = beside_this_program("countersign")?;
    let installed = ledger.root().join("countersign");
    tokio::task::block_in_place(|| {
        std::fs::write(&installed, std::fs::read(&linked)?)?;
        std::fs::set_permissions(&installed, std::fs::metadata(&linked)?.permissions())
    })?;
    Ok(installed)
}

fn status(program: &Path, ledger: &Ledger) -> Command {
    let mut command = call(program, ledger);
    command.arg("status");
    command
}

fn nothing() -> Command {
    let mut command = Command::new(peers::node());
    command.args(["-e", "0"]);
    command
}

/// How long a command takes that prints `text`, with nothing between it and the clock.
fn timed(mut command: Command, text: &str) -> anyhow::Result<Duration> {
    command.stdin(Stdio::null());
    let mut command = command.into_std();
    let began = Instant::now();
    let output = tokio::task::block_in_place(|| command.output())?;
    let took = began.elapsed();
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && printed.contains(text),
        "a command ends with {} and prints `{printed}`",
        output.status
    );
    Ok(took)
}

/// Hands a job to the demo agent, and returns its id.
async fn hand_in(connection: &mut Connection, prompt: &str) -> anyhow::Result<String> {
    let job = json!({ "kind": "task", "engine": "demo", "prompt": prompt });
    let made = connection.post("/api/v1/jobs", TOKEN, &job).await?;
    let id = made["id"].as_str().context("a job has no id")?;
    Ok(id.to_owned())
}

/// Waits until a job is in `state`.
async fn until(connection: &mut Connection, id: &str, state: &str) -> anyhow::Result<Value> {
    let path = format!("/api/v1/jobs/{id}");
    let began = Instant::now();
    loop {
        let job = connection.get(&path, TOKEN).await?;
        if job["state"] == state {
            return Ok(job);
        }
        ensure!(began.elapsed() < PATIENCE, "a job is not {state}: {job}");
        tokio::time::sleep(LOOK).await;
    }
}

/// How many jobs were completed.
async fn completed(connection: &mut Connection) -> anyhow::Result<usize> {
    let mut count = 0;
    let mut path = format!("/api/v1/jobs?limit={PAGE}&state=completed");
    loop {
        let page = connection.get(&path, TOKEN).await?;
        count += page["jobs"].as_array().map_or(0, Vec::len);
        let Some(next) = page["next"].as_str() else {
            return Ok(count);
        };
        path = format!("/api/v1/jobs?limit={PAGE}&state=completed&before={next}");
    }
}
