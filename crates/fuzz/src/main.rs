//! Hunts for broken promises of the ACP door, for as long as it is told: `cargo xtask bench --only fuzz`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use countersign_fuzz::whole_server::{Attack, Fed, attack};
use countersign_fuzz::{Corpus, Hunt, Hunted, Limit, Target, note_panics, ration};
use countersign_testkit::Seed;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: ration::Counting = ration::Counting;

/// Feeds the ACP door what no agent would say
#[derive(Debug, Parser)]
#[command(
    name = "countersign-fuzz",
    after_help = "COUNTERSIGN_SEED=<number> makes it roll the same dice again."
)]
struct Arguments {
    /// Feed for so long
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    seconds: u64,
    /// Repeat this trial alone
    #[arg(long, value_name = "NUMBER", requires = "target")]
    trial: Option<u64>,
    /// Feed this alone
    #[arg(long, value_enum)]
    target: Option<Target>,
    /// The program whose server is fed; none is without it
    #[arg(long, value_name = "PROGRAM", requires = "agent")]
    server: Option<PathBuf>,
    /// The hostile agent that feeds it
    #[arg(long, value_name = "PROGRAM")]
    agent: Option<PathBuf>,
}

#[tokio::main]
#[expect(
    clippy::print_stderr,
    reason = "errors are for the person at the terminal"
)]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Feeds everything at once, tells what came of it, and returns whether nothing was found.
async fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let corpus = Corpus::read()?;
    let seed = Seed::take();
    let time = Duration::from_secs(arguments.seconds);
    note_panics();
    let limit = arguments.trial.map_or(Limit::Time(time), Limit::Trial);
    let hunts: Vec<_> = [Target::Reader, Target::Dispatcher]
        .into_iter()
        .filter(|target| arguments.target.is_none_or(|wanted| wanted == *target))
        .map(|target| {
            let corpus = corpus.clone();
            let hunt = std::thread::spawn(move || {
                let corpus = &corpus;
                Hunt {
                    corpus,
                    seed,
                    target,
                }
                .run(limit)
            });
            (target, hunt)
        })
        .collect();
    if let (Some(server), Some(agent)) = (&arguments.server, &arguments.agent) {
        let wanted = Attack {
            countersign: server.clone(),
            agent: agent.clone(),
            seed,
            sessions: 3,
            time,
        };
        let fed = attack(&corpus, &wanted).await;
        tell_fed(&fed.context("the server does not withstand")?);
    }
    let mut findings = 0;
    for (target, hunt) in hunts {
        let hunted = hunt.join().map_err(|_| anyhow::anyhow!("a hunt failed"))?;
        tell(target, corpus.len(), &hunted);
        findings += hunted.findings.len();
    }
    Ok(findings == 0)
}

/// A line of JSON for whoever started it, and the findings for people.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "whoever started it reads this"
)]
fn tell(target: Target, corpus: usize, hunted: &Hunted) {
    let Hunted {
        trials,
        bytes,
        took,
        findings,
    } = hunted;
    let seconds = took.as_secs_f64();
    println!(
        "{}",
        json!({ "target": format!("{target:?}").to_lowercase(), "corpus": corpus, "trials": trials, "bytes": bytes,
            "seconds": seconds, "findings": findings.len() })
    );
    for finding in findings {
        eprintln!("{target:?}, {finding}");
    }
}

#[expect(clippy::print_stdout, reason = "whoever started it reads this")]
fn tell_fed(fed: &Fed) {
    let Fed {
        streams,
        bytes,
        requests,
        replies,
    } = fed;
    println!(
        "{}",
        json!({ "target": "server", "streams": streams, "bytes": bytes, "requests": requests, "replies": replies, "findings": 0 })
    );
}
