//! Measures the program against its limits: `cargo xtask bench`.
//!
//! Every figure stands next to a baseline that was measured in the same run on the same machine, so that a
//! ratio says something even where the machine is slow or busy. The program is met as its users meet it: the
//! release build, its command line, its HTTP API.

mod bare;
mod clock;
mod disk;
mod document;
mod followers;
mod hello;
mod http;
mod ledger;
mod machine;
mod measure;
mod measured_agent;
mod people;
mod process_memory;
mod processor_time;
mod report;
mod samples;
mod served;
mod sizes;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};

use crate::measure::{Bench, Topic};
use crate::report::Report;
use crate::sizes::Sizes;

/// Measures Countersign against its limits
#[derive(Debug, Parser)]
#[command(name = "countersign-bench")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure, print a table, and fail if a limit is missed
    Run(Run),
    /// Serve a bare axum application (the baseline)
    #[command(hide = true)]
    Hello {
        #[arg(long)]
        port: u16,
    },
    /// Speak ACP as an agent that is nothing but quick (the load)
    #[command(hide = true)]
    Agent,
    /// Follow an event stream with many clients (the load)
    #[command(hide = true)]
    Followers {
        #[arg(long)]
        address: SocketAddr,
        #[arg(long)]
        count: usize,
    },
}

#[derive(Debug, Args)]
struct Run {
    /// Small sizes, to see that everything works; limits say little then
    #[arg(long)]
    quick: bool,
    /// Measure this alone; can be given several times
    #[arg(long, value_enum)]
    only: Vec<Topic>,
    /// Fuzz for so long
    #[arg(long, value_name = "SECONDS")]
    fuzz_seconds: Option<u64>,
    /// Write the figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the figures into this Markdown file, and leave those of other topics there as they are
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Keep ledgers below this directory while measuring: the disk that is measured
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

#[tokio::main]
#[expect(
    clippy::print_stderr,
    reason = "errors are for the person at the terminal"
)]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Run(arguments) => run(&arguments).await,
        Command::Agent => return measured_agent::run(),
        Command::Hello { port } => hello::serve(port).await.map(|()| true),
        Command::Followers { address, count } => {
            followers::follow(address, count).await.map(|()| true)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures, and tells whether every limit held.
#[expect(
    clippy::print_stdout,
    reason = "the table is for the person at the terminal"
)]
async fn run(arguments: &Run) -> anyhow::Result<bool> {
    let sizes = if arguments.quick {
        Sizes::QUICK
    } else {
        Sizes::FULL
    };
    let directory = match &arguments.directory {
        Some(directory) => directory.clone(),
        None => served::beside_this_program("..")?,
    };
    std::fs::create_dir_all(&directory).context("failed to make the directory for ledgers")?;
    let bench = Bench::new(sizes, arguments.fuzz_seconds, &directory)?;
    let machine = machine::describe(bench.root());
    let report = Report {
        machine,
        command: arguments.to_string(),
        topics: bench.run(&arguments.only).await,
    };
    println!("\n{}", report.table());
    println!("{}", report.verdict());
    if let Some(path) = &arguments.json {
        let json = serde_json::to_vec_pretty(&report).context("failed to write the figures")?;
        std::fs::write(path, json).context("failed to write the JSON file")?;
    }
    if let Some(path) = &arguments.markdown {
        write_document(&report, path)?;
    }
    Ok(report.is_good())
}

fn write_document(report: &Report, path: &Path) -> anyhow::Result<()> {
    let earlier = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context("failed to read the Markdown file"),
    };
    std::fs::write(path, document::after(report, &earlier))
        .context("failed to write the Markdown file")
}

impl fmt::Display for Run {
    /// The command that measures the same again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cargo xtask bench")?;
        if self.quick {
            f.write_str(" --quick")?;
        }
        for topic in &self.only {
            write!(f, " --only {}", topic.name())?;
        }
        if let Some(seconds) = self.fuzz_seconds {
            write!(f, " --fuzz-seconds {seconds}")?;
        }
        if self.markdown.is_some() {
            f.write_str(" --write")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_is_told_is_the_one_that_was_given() {
        for (words, told) in [
            ("", ""),
            ("--quick --only fuzz --fuzz-seconds 20", ""),
            ("--only answers --only fan-out --markdown x", "--write"),
        ] {
            let line = format!("countersign-bench run {words}");
            let Command::Run(run) = Arguments::parse_from(line.split_whitespace()).command else {
                panic!("it is to measure");
            };
            let told = words.replace("--markdown x", told);
            let told = format!("cargo xtask bench {told}");
            assert_eq!(run.to_string(), told.trim_end());
        }
    }
}
