//! Measures the program against its limits.
//!
//! The program is built as people build it, by itself, so that it is measured with the features that it ships with.

use std::path::PathBuf;

use clap::Args;

use crate::{invocation::Invocation, peers, repository::Repository};

/// What to measure, and where to tell of it.
#[derive(Args)]
pub(crate) struct Measurement {
    /// Small sizes, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Measure this topic alone, such as `answers`; can be given several times
    #[arg(long, value_name = "TOPIC")]
    only: Vec<String>,
    /// Fuzz the ACP door for so long, instead of ten minutes
    #[arg(long, value_name = "SECONDS")]
    fuzz_seconds: Option<u64>,
    /// Write the figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the figures into docs/benchmarks.md, where those of topics that are not measured stay
    #[arg(long)]
    write: bool,
}

/// Builds what is measured and what measures, and runs it.
pub(crate) fn run(repository: &Repository, measurement: &Measurement) -> anyhow::Result<()> {
    peers::install(repository)?;
    let cargo = |line: &str| Invocation::new(&repository.root, line);
    cargo("cargo build --release --package countersign").run()?;
    cargo("cargo build --release --package countersign-testkit --package countersign-bench --package countersign-fuzz --bins")
        .run()?;
    invocation(repository, measurement).run()
}

fn invocation(repository: &Repository, measurement: &Measurement) -> Invocation {
    let program = repository.target.join("release/countersign-bench");
    let mut bench = Invocation::new(&repository.root, "countersign-bench run")
        .program(&program)
        .variable("COUNTERSIGN_PEERS", repository.peers());
    if measurement.quick {
        bench = bench.argument("--quick");
    }
    for topic in &measurement.only {
        bench = bench.argument("--only").argument(topic);
    }
    if let Some(seconds) = measurement.fuzz_seconds {
        bench = bench
            .argument("--fuzz-seconds")
            .argument(seconds.to_string());
    }
    if let Some(file) = &measurement.json {
        bench = bench.argument("--json").argument(file);
    }
    if measurement.write {
        let file = repository.root.join("docs/benchmarks.md");
        bench = bench.argument("--markdown").argument(file);
    }
    bench
}
