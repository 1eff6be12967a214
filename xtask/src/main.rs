//! `cargo xtask`: what developers and CI run.
//!
//! Everything that the tests need beyond Rust, Node.js and Python is installed from here, so that one command
//! works in a fresh clone.

mod bench;
mod check;
mod invocation;
mod peers;
mod postgres;
mod repository;
mod step;
mod tool;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{
    check::{Extent, Selection},
    repository::Repository,
};

/// Developers' commands for Countersign
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all checks and tests, and get what they need first
    Test {
        /// Check formatting and lints and run only the fast tests
        #[arg(long)]
        quick: bool,
        /// Arguments for `cargo nextest run`, such as a filter
        #[arg(last = true)]
        nextest: Vec<String>,
    },
    /// Install the programs that the tests talk to
    Peers,
    /// Measure the program against its limits, next to baselines of the same run
    Bench(bench::Measurement),
}

#[expect(
    clippy::print_stderr,
    reason = "errors are for the person at the terminal"
)]
fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let repository = Repository::here();
    match command {
        Command::Test { quick, nextest } => {
            let extent = if quick { Extent::Quick } else { Extent::Full };
            step::run_all(check::steps(&repository, &Selection { extent, nextest }))
        }
        Command::Peers => peers::install(&repository),
        Command::Bench(measurement) => bench::run(&repository, &measurement),
    }
}
