//! `kill -9` around the steps of a job with a real opencode, of the server and of the engine. What is the same for every
//! engine is in `jobs_killed.rs`.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

use std::ops::RangeInclusive;
use std::time::Duration;

use countersign_testkit::test_server::PATIENCE;
use countersign_testkit::{StubModel, TestServer, eventually};
use serde_json::{Value, json};
use tokio::time::Instant;

/// How long a job may take to be live or over once its engine is there again.
const LIVE_WITHIN: Duration = Duration::from_secs(10);

struct Stage {
    _model: StubModel,
    server: TestServer,
    /// How long this machine takes to start the engine.
    starts_in: Duration,
    count: u32,
}

impl Stage {
    async fn set() -> Self {
        let model = StubModel::start().await;
        let since = Instant::now();
        let server =
            TestServer::with_real_opencode(env!("CARGO_BIN_EXE_countersign"), &model).await;
        Self {
            _model: model,
            server,
            starts_in: since.elapsed(),
            count: 0,
        }
    }

    /// Hands a job in and waits until the server stands still at `point`; returns the job's id.
    async fn stand_still(&mut self, point: &str) -> String {
        self.count += 1;
        self.server.stand_still_at(point);
        let prompt = format!(
            "TOOL bash: echo {} >> made.txt\nFINAL {} is done",
            self.count, self.count
        );
        let body =
            json!({ "kind": "task", "prompt": prompt, "engine": "opencode", "on_ask": "allow" });
        let id = self.server.api().hand_in(&body).await;
        self.server.wait_until_still(point).await;
        id
    }

    /// Waits until the job is over, or its engine is there for it; returns how long that took.
    async fn until_live_or_over(&self, id: &str) -> Duration {
        let since = Instant::now();
        eventually(PATIENCE, "the job is live or over", async || {
            let job = self.server.api().job(id).await;
            let workspaces = self.server.api().get("/api/v1/workspaces").await;
            let is_served = workspaces["workspaces"][0]["engine"]["state"] == "ready";
            (is_served || !job["ended_at"].is_null()).then_some(())
        })
        .await;
        since.elapsed()
    }

    /// The job's end; no result is invented. The command ran as often as `runs` allows if the job completed, and never
    /// more often.
    async fn end(&self, id: &str, point: &str, runs: RangeInclusive<usize>) -> Value {
        let job = self.server.api().job_ended(id).await;
        let made = std::fs::read_to_string(self.server.workspace().join("made.txt"));
        let own = self.count.to_string();
        let made = made.unwrap_or_default();
        let times = made.lines().filter(|line| *line == own).count();
        assert!(times <= *runs.end(), "{point}: {times} times: {job}");
        if job["state"] == "completed" {
            assert_eq!(job["result"], format!("{own} is done"), "{point}");
            assert!(runs.contains(&times), "{point}: {times} times: {job}");
        } else {
            assert_eq!(job["state"], "failed", "{point}: {job}");
            assert!(!job["failure"]["message"].as_str().unwrap().is_empty());
        }
        job
    }
}

#[tokio::test]
async fn a_job_survives_its_server_around_every_step_with_the_engine() {
    let mut stage = Stage::set().await;
    for step in ["prompt", "ask", "answer", "last-message", "result"] {
        for when in ["before", "after"] {
            let point = format!("{when} {step}");
            let id = stage.stand_still(&point).await;
            stage.server.kill();
            stage.server.forget_standstill();
            stage.server.restart().await;
            let took = stage.until_live_or_over(&id).await;
            assert!(took <= LIVE_WITHIN + stage.starts_in, "{point}: {took:?}");
            let job = stage.end(&id, &point, 1..=1).await;
            assert_eq!(job["state"], "completed", "{point}: {job}");
        }
    }
    stage.server.stop().await;
}

/// An engine that dies again and again is started later each time: a new server for each step.
async fn is_ended_or_goes_on(points: &[&str]) {
    for point in points {
        let mut stage = Stage::set().await;
        let id = stage.stand_still(point).await;
        stage.server.engine().kill();
        stage.server.go_on();
        let took = stage.until_live_or_over(&id).await;
        assert!(took <= LIVE_WITHIN + stage.starts_in, "{point}: {took:?}");
        // The model is told that its command was cut off: it may have it run again, or say its last words without.
        stage.end(&id, point, 0..=2).await;
        stage.server.stop().await;
    }
}

#[tokio::test]
async fn a_job_goes_on_or_ends_when_its_engine_dies_before_or_over_its_ask() {
    is_ended_or_goes_on(&["after prompt", "before ask", "after ask"]).await;
}

#[tokio::test]
async fn a_job_goes_on_or_ends_when_its_engine_dies_over_its_answer_or_its_last_message() {
    is_ended_or_goes_on(&["before answer", "after answer", "before last-message"]).await;
}
