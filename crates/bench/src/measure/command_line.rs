//! `countersign prompt` on a running server, next to another client that starts the same agent itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use countersign_testkit::{peers, process};
use tokio::process::Command;

use crate::ledger::Ledger;
use crate::measure::Bench;
use crate::people::PATIENCE;
use crate::process_memory::{self, Memory};
use crate::report::{Figure, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served, beside_this_program};

/// What the agent is told to say.
const WORDS: &str = "Good day to you.";
/// Runs of each before measuring begins.
const WARM_UP: usize = 2;
/// How often the kernel is asked for memory.
const LOOK: Duration = Duration::from_millis(5);

/// What runs of a command took.
#[derive(Default)]
struct Took {
    milliseconds: Samples,
    megabytes: Samples,
}

impl Bench {
    pub(super) async fn command_line(&self) -> anyhow::Result<Vec<Figure>> {
        let (mut ours, mut theirs) = <(Took, Took)>::default();
        let ledger = self.ledger(0, 0).await?;
        let server = Served::countersign(&ledger, Engine::None).await?;
        for index in 0..WARM_UP + self.sizes.prompts {
            if index == WARM_UP {
                (ours, theirs) = <(Took, Took)>::default();
            }
            ours.run(countersign(&ledger)?, ledger.root()).await?;
            let elsewhere =
                tempfile::tempdir_in(self.root()).context("failed to make a directory")?;
            theirs
                .run(acpx(elsewhere.path())?, elsewhere.path())
                .await?;
        }
        server.stop().await?;
        Ok(vec![
            Figure::new(
                "a prompt in a new session, p50",
                ours.milliseconds.median(),
                Unit::Milliseconds,
            )
            .next_to("acpx exec", theirs.milliseconds.median()),
            Figure::new(
                "peak memory of all that a prompt takes",
                ours.megabytes.median(),
                Unit::Megabytes,
            )
            .next_to("acpx exec", theirs.megabytes.median()),
        ])
    }
}

/// The command line, the way it is used at the machine.
fn countersign(ledger: &Ledger) -> anyhow::Result<Command> {
    let mut command = Command::new(beside_this_program("countersign")?);
    command
        .args(["prompt", "--engine", "demo"])
        .arg(format!("SAY {WORDS}"))
        .current_dir(ledger.workspace())
        .env_clear()
        .env("HOME", ledger.root())
        .env("COUNTERSIGN_DATA", ledger.data());
    Ok(command)
}

/// The other client, with the same agent.
fn acpx(directory: &Path) -> anyhow::Result<Command> {
    let agent = format!(
        "{} demo-agent",
        beside_this_program("countersign")?.display()
    );
    let (node, arguments) = peers::acpx();
    let mut command = Command::new(node);
    command
        .args(arguments)
        .args(["--agent", &agent, "--cwd"])
        .arg(directory)
        .arg("exec")
        .arg(format!("SAY {WORDS}"))
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory);
    Ok(command)
}

impl Took {
    /// Runs a command to its end; everything that carries `place` in its surroundings belongs to it.
    async fn run(&mut self, mut command: Command, place: &Path) -> anyhow::Result<()> {
        let place = place.canonicalize()?.to_string_lossy().into_owned();
        let began = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start a client")?;
        let mut peaks: BTreeMap<u32, u64> = BTreeMap::new();
        let watched = async {
            loop {
                for process in process::marked(&place) {
                    if let Ok(peak) = process_memory::read(process, Memory::Peak) {
                        peaks.insert(process, peak);
                    }
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let ended = tokio::time::timeout(PATIENCE, child.wait_with_output());
        let output = tokio::select! {
            output = ended => output.context("a client does not end")?.context("failed to wait for a client")?,
            () = watched => unreachable!("it watches for ever"),
        };
        let took = began.elapsed();
        let printed = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success() && printed.contains(WORDS),
            "a client ends with {} and prints `{printed}` and `{}`",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        self.milliseconds.push_milliseconds(took);
        let sum = u32::try_from(peaks.values().sum::<u64>()).context("it took too much")?;
        self.megabytes.push(f64::from(sum) * 1024.0 / 1e6);
        Ok(())
    }
}
