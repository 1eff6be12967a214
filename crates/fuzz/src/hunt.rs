//! Trial after trial, until the time is over or something was found.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use countersign_testkit::Seed;

use crate::corpus::Corpus;
use crate::finding::{Broken, Finding};
use crate::{dispatcher, mutation, reader};

/// What is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// What makes lines of bytes, and messages of lines
    Reader,
    /// What makes asks, replies and everything else of messages
    Dispatcher,
}

/// How long it is fed.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// For so long.
    Time(Duration),
    /// In this trial alone.
    Trial(u64),
}

/// How many findings are enough to begin with.
const FINDINGS: usize = 5;

/// A search for broken promises.
#[derive(Debug, Clone, Copy)]
pub struct Hunt<'a> {
    /// What changes are made to.
    pub corpus: &'a Corpus,
    /// Where all chance comes from.
    pub seed: Seed,
    /// What is fed.
    pub target: Target,
}

/// What a hunt came to.
#[derive(Debug)]
pub struct Hunted {
    /// How many trials there were.
    pub trials: u64,
    /// How many bytes were fed.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
    /// What was found.
    pub findings: Vec<Finding>,
}

thread_local! {
    /// Where the last panic of this thread was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    /// Whether this thread is in a trial.
    static HUNTS: Cell<bool> = const { Cell::new(false) };
}

impl Hunt<'_> {
    /// Feeds until the limit, and returns what was found.
    pub fn run(self, limit: Limit) -> Hunted {
        let began = Instant::now();
        let mut hunted = Hunted {
            trials: 0,
            bytes: 0,
            took: Duration::ZERO,
            findings: Vec::new(),
        };
        let (first, time) = match limit {
            Limit::Time(time) => (0, time),
            Limit::Trial(number) => (number, Duration::ZERO),
        };
        for trial in first.. {
            let (length, found) = self.trial(trial);
            hunted.trials += 1;
            hunted.bytes += length as u64;
            hunted.findings.extend(found);
            if began.elapsed() >= time || hunted.findings.len() >= FINDINGS {
                break;
            }
        }
        hunted.took = began.elapsed();
        hunted
    }

    /// One trial: how much was fed, and what was found.
    fn trial(self, trial: u64) -> (usize, Option<Finding>) {
        let mut dice = self.seed.dice(&format!("{:?} {trial}", self.target));
        let input = mutation::stream(self.corpus, &mut dice);
        let fed = AssertUnwindSafe(|| match self.target {
            Target::Reader => reader::feed(&input, &mut dice),
            Target::Dispatcher => dispatcher::feed(&input, &mut dice),
        });
        HUNTS.set(true);
        let outcome = panic::catch_unwind(fed);
        HUNTS.set(false);
        let broken = match outcome {
            Ok(kept) => kept.err(),
            Err(_) => Some(Broken(
                PLACE.with_borrow(|place| format!("it panics: {place}")),
            )),
        };
        let length = input.len();
        let finding = broken.map(|broken| Finding {
            trial,
            broken,
            input,
        });
        (length, finding)
    }
}

/// Has panics of hunts noted for the finding instead of printed; others are told as ever. For the whole program: to be
/// called once, before the first hunt.
pub fn note_panics() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if HUNTS.get() {
            let words = panic.to_string();
            PLACE.with_borrow_mut(|place| *place = words);
        } else {
            tell(panic);
        }
    }));
}
