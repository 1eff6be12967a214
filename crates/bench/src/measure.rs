//! What is measured, one module for each topic.

mod answers;
mod ask_to_page;
mod command_line;
mod delivery;
mod end_to_end;
mod fan_out;
mod figures;
mod fuzz;
mod health;
mod inbox;
mod jobs;
mod messages;
mod openwork;
mod sessions;
mod start;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use futures_util::FutureExt as _;
use tempfile::TempDir;

use crate::ledger::{Asks, Ledger};
use crate::report::{Figure, TopicReport};
use crate::sizes::Sizes;

/// A group of figures that are measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Topic {
    /// Answers made durable
    Answers,
    /// The inbox in a small and in a large ledger
    Inbox,
    /// The figures of a large ledger
    Figures,
    /// `/healthz` under load
    Health,
    /// Many clients of the event stream
    FanOut,
    /// Start to ready, and memory when idle
    Start,
    /// From an answer to the engine
    Delivery,
    /// From an answer to its proof, with the real opencode
    EndToEnd,
    /// Messages of an ACP agent through the host
    Messages,
    /// From an ACP agent's ask to a client of the event stream
    AskToPage,
    /// `countersign prompt` next to another ACP client
    CommandLine,
    /// Many ACP agents at once
    Sessions,
    /// Jobs: listed, waited for, and worked off
    Jobs,
    /// In the place of OpenWork's server
    Openwork,
    /// The ACP door, fed what no agent would say
    Fuzz,
}

impl Topic {
    /// What it is called on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// One run.
pub(crate) struct Bench {
    sizes: Sizes,
    fuzz_seconds: u64,
    root: TempDir,
}

impl Bench {
    /// Prepares a run whose ledgers are below `directory` while it lasts.
    pub(crate) fn new(
        sizes: Sizes,
        fuzz_seconds: Option<u64>,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        // Processes are told by the place that they were started with.
        let directory = directory
            .canonicalize()
            .context("the directory for ledgers is not there")?;
        let root = tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(directory)
            .context("failed to make a directory for ledgers")?;
        Ok(Self {
            sizes,
            fuzz_seconds: fuzz_seconds.unwrap_or(sizes.fuzz_seconds),
            root,
        })
    }

    /// Where the ledgers are.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Measures the topics, or all if none is named. One that cannot be measured does not keep the others from it.
    #[expect(
        clippy::print_stderr,
        reason = "progress is for the person at the terminal"
    )]
    pub(crate) async fn run(&self, only: &[Topic]) -> Vec<TopicReport> {
        let mut reports = Vec::new();
        for topic in Topic::value_variants() {
            if !only.is_empty() && !only.contains(topic) {
                continue;
            }
            eprintln!("measuring: {}", topic.name());
            // Whoever waits in vain for a program panics.
            let measured = AssertUnwindSafe(self.measure(*topic)).catch_unwind().await;
            let failure = match measured {
                Ok(Ok(figures)) => {
                    reports.push(TopicReport::measured(*topic, figures));
                    continue;
                }
                Ok(Err(error)) => format!("{error:#}"),
                Err(panic) => said(&*panic),
            };
            eprintln!("failed to measure {}: {failure}", topic.name());
            reports.push(TopicReport::failed(*topic, failure));
        }
        reports
    }

    async fn measure(&self, topic: Topic) -> anyhow::Result<Vec<Figure>> {
        match topic {
            Topic::Answers => self.answers().await,
            Topic::Inbox => self.inbox().await,
            Topic::Figures => self.figures().await,
            Topic::Health => self.health().await,
            Topic::FanOut => self.fan_out().await,
            Topic::Start => self.start().await,
            Topic::Delivery => self.delivery().await,
            Topic::EndToEnd => self.end_to_end().await,
            Topic::Messages => self.messages().await,
            Topic::AskToPage => self.ask_to_page().await,
            Topic::CommandLine => self.command_line().await,
            Topic::Sessions => self.sessions().await,
            Topic::Jobs => Box::pin(self.jobs()).await,
            Topic::Openwork => Box::pin(self.openwork()).await,
            Topic::Fuzz => self.fuzz().await,
        }
    }

    async fn ledger(&self, total: usize, open: usize) -> anyhow::Result<Ledger> {
        Ledger::make(self.root(), Asks { total, open }).await
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked").to_owned()
}
