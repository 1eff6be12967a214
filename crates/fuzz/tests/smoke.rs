//! A few seconds of what `cargo xtask bench --only fuzz` does for minutes.

use std::time::Duration;

use countersign_fuzz::{Broken, Corpus, Hunt, Limit, Target, note_panics, ration};
use countersign_testkit::Seed;

#[global_allocator]
static ALLOCATOR: ration::Counting = ration::Counting;

/// How long each part is fed.
const TIME: Duration = Duration::from_secs(5);

#[track_caller]
fn keeps_its_promises(target: Target) {
    let corpus = Corpus::read().expect("there are recorded transcripts");
    let seed = Seed::take();
    note_panics();
    let hunt = Hunt {
        corpus: &corpus,
        seed,
        target,
    };
    let hunted = hunt.run(Limit::Time(TIME));
    let told: Vec<String> = hunted.findings.iter().map(ToString::to_string).collect();
    assert!(
        told.is_empty(),
        "after {} trials:\n{}",
        hunted.trials,
        told.join("\n")
    );
    assert!(hunted.trials > 100, "there were {} trials", hunted.trials);
}

#[test]
fn the_reader_keeps_its_promises_whatever_comes() {
    keeps_its_promises(Target::Reader);
}

#[test]
fn the_dispatcher_keeps_its_promises_whatever_comes() {
    keeps_its_promises(Target::Dispatcher);
}

#[test]
fn a_ration_that_is_exceeded_is_noticed() {
    let greedy = ration::within(1, || {
        drop(vec![0_u8; 64 << 20]);
    });
    assert!(matches!(greedy, Err(Broken(words)) if words.contains("bytes of memory")));
    let modest = ration::within(1, || vec![0_u8; 1 << 20]);
    assert!(modest.is_ok());
}
