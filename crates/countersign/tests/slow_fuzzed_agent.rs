//! Agents that say what no agent would, at random: a few seconds of what `cargo xtask bench --only fuzz` does for minutes.

use std::path::PathBuf;
use std::time::Duration;

use countersign_fuzz::Corpus;
use countersign_fuzz::whole_server::{Attack, attack};
use countersign_testkit::{Seed, peers};

#[tokio::test]
async fn whatever_agents_say_every_request_is_answered_and_nothing_is_approved() {
    let corpus = Corpus::read().expect("there are recorded transcripts");
    let fed = attack(
        &corpus,
        &Attack {
            countersign: PathBuf::from(env!("CARGO_BIN_EXE_countersign")),
            agent: peers::hostile_agent(),
            seed: Seed::take(),
            sessions: 2,
            time: Duration::from_secs(4),
        },
    )
    .await
    .unwrap_or_else(|broken| panic!("{broken:#}"));
    assert!(fed.requests > 10 && fed.replies > 10, "{fed:?}");
}
