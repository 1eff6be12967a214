//! `openwork`, the command line of OpenWork's orchestrator, as a person runs it.

use std::process::Output;

use countersign_testkit::peers;
use countersign_testkit::test_server::PATIENCE;
use serde_json::Value;
use tokio::process::Command;

use crate::stage::{CLIENT, HOST, Stage};

/// How a command ended.
pub(crate) struct Ended {
    output: Output,
}

impl Ended {
    /// Returns what it printed as JSON, and panics unless it succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.output.status.success(), "{}", self.said());
        let printed = String::from_utf8_lossy(&self.output.stdout);
        serde_json::from_str(&printed).unwrap_or_else(|_| panic!("no JSON: {printed}"))
    }

    /// Returns all that it said, and panics unless it failed.
    #[track_caller]
    pub(crate) fn failure(&self) -> String {
        assert!(!self.output.status.success(), "{}", self.said());
        self.said()
    }

    /// Returns all that it said.
    pub(crate) fn said(&self) -> String {
        let Output { stdout, stderr, .. } = &self.output;
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes));
        format!("{stdout}\n{stderr}")
    }
}

/// Runs `openwork` against the server of `stage`, with both of its tokens at hand.
pub(crate) async fn openwork(stage: &Stage, arguments: &[&str]) -> Ended {
    let mut command = Command::new(peers::openwork());
    command
        .args(arguments)
        .env_clear()
        .env("HOME", stage.place("home"))
        .env("OPENWORK_URL", stage.url())
        .env("OPENWORK_TOKEN", CLIENT)
        .env("OPENWORK_HOST_TOKEN", HOST)
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    Ended {
        output: output.expect("openwork comes to an end").unwrap(),
    }
}
