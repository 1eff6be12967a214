//! `kill -9` before and after every step of a job with an ACP agent, of the server and of the agent: the job goes on or
//! ends, with its own words or with a reason, and nothing of it is left running.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

use std::time::Duration;

use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The steps of a job, in their order.
const STEPS: [&str; 7] = [
    "row",
    "spawn",
    "prompt",
    "ask",
    "answer",
    "last-message",
    "result",
];
/// How long a job may take to be live or over once a server serves.
const LIVE_WITHIN: Duration = Duration::from_secs(10);
/// How long a process of a job may live after the job's end.
const GONE_WITHIN: Duration = Duration::from_secs(2);
/// How often a step is tried: a machine that is busy may be late by itself, but not every time.
const TRIES: u32 = 3;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Server,
    Agent,
}

/// How long things took.
#[derive(Debug)]
struct Took {
    /// Until the job was live or over.
    live: Duration,
    /// From the job's end until nothing of it was left.
    gone: Duration,
}

/// The server, and how many jobs it was handed.
struct Stage {
    server: TestServer,
    count: u32,
}

impl Stage {
    async fn set() -> Self {
        let setup = Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None);
        Self {
            server: setup.start().await,
            count: 0,
        }
    }

    /// Kills at `point` until what is promised holds in time.
    async fn holds_at(&mut self, point: &str, victim: Victim) {
        let mut took = Vec::new();
        for _ in 0..TRIES {
            let tried = self.kill_at(point, victim).await;
            let is_in_time = tried.live <= LIVE_WITHIN && tried.gone <= GONE_WITHIN;
            took.push(tried);
            if is_in_time {
                return;
            }
        }
        panic!("{victim:?} {point}: never in time: {took:?}");
    }

    async fn kill_at(&mut self, point: &str, victim: Victim) -> Took {
        self.count += 1;
        let words = format!("{} is done", self.count);
        let id = format!("task-killed-{:06}", self.count);
        // With an id of its own, so that whoever got no answer can hand it in again.
        let body = json!({
            "id": id, "kind": "task", "engine": "demo", "on_ask": "allow",
            "prompt": format!("RUN echo {} >> made.txt\nSAY {words}", self.count),
        });
        self.server.stand_still_at(point);
        let mut handing = JoinSet::new();
        handing.spawn(hand_in(self.server.api().clone(), body.clone()));
        self.server.wait_until_still(point).await;
        match victim {
            Victim::Server => {
                self.server.kill();
                self.server.forget_standstill();
                self.server.restart().await;
            }
            Victim::Agent => {
                let agent = eventually(PATIENCE, "the agent is kept", async || {
                    self.server.agents().pop()
                });
                agent.await.kill();
                self.server.go_on();
            }
        }
        let since = Instant::now();
        handing.join_all().await;
        let api = self.server.api();
        if point.ends_with("row") {
            assert!(hand_in(api.clone(), body).await, "{point}");
        }
        self.until_live_or_over(&id).await;
        let live = since.elapsed();
        let job = api.job_ended(&id).await;
        let ended = Instant::now();
        self.until_nothing_is_left().await;
        let gone = ended.elapsed();
        self.check(&job, &words, point, victim).await;
        Took { live, gone }
    }

    async fn until_live_or_over(&self, id: &str) {
        eventually(PATIENCE, "the job is live or over", async || {
            let job = self.server.api().job(id).await;
            let is_over = !job["ended_at"].is_null();
            (is_over || !self.server.agents().is_empty()).then_some(())
        })
        .await;
    }

    async fn until_nothing_is_left(&mut self) {
        let server = self.server.program().id();
        eventually(PATIENCE, "nothing of the job is left", async || {
            let others = self.server.processes();
            others.iter().all(|id| *id == server).then_some(())
        })
        .await;
    }

    /// Whether the agent said this in the job's session.
    async fn was_said(&self, job: &Value, words: &str) -> bool {
        let session = job["session"].as_str().unwrap();
        let items = self.server.api().items(session).await;
        let holds = |item: &Value| item["text"].as_str().is_some_and(|it| it.contains(words));
        items
            .iter()
            .any(|item| item["kind"] == "text" && holds(item))
    }

    /// No result is invented, and nothing is done twice.
    async fn check(&self, job: &Value, words: &str, point: &str, victim: Victim) {
        let made = std::fs::read_to_string(self.server.workspace().join("made.txt"));
        let made = made.unwrap_or_default();
        let own = self.count.to_string();
        let times = made.lines().filter(|line| *line == own).count();
        let said = job["result"].as_str().map(str::trim);
        let place = format!("{victim:?} {point}: {job}");
        match job["state"].as_str().unwrap() {
            "completed" => assert_eq!((said, times), (Some(words), 1), "{place}"),
            "failed" => {
                assert_eq!(victim, Victim::Agent, "{place}");
                let code = job["failure"]["code"].as_str().unwrap();
                // One that was killed before it was ready could not be started.
                let codes = ["engine_gone", "engine_unavailable"];
                assert!(codes.contains(&code), "{place}");
                let is_known = match said {
                    Some(said) => self.was_said(job, said).await,
                    None => true,
                };
                assert!(is_known, "{place}");
                assert!(times <= 1, "{place}");
            }
            _ => panic!("{place}"),
        }
    }
}

/// Hands a job in; says whether there was an answer.
async fn hand_in(api: Api, body: Value) -> bool {
    let request = api.request(Method::POST, "/api/v1/jobs").json(&body);
    match Api::send(request).await {
        Ok(reply) => {
            reply.expect(201);
            true
        }
        Err(_) => false,
    }
}

#[tokio::test]
async fn a_job_survives_its_server_at_every_step() {
    let mut stage = Stage::set().await;
    for step in STEPS {
        for when in ["before", "after"] {
            stage
                .holds_at(&format!("{when} {step}"), Victim::Server)
                .await;
        }
    }
    stage.server.stop().await;
}

#[tokio::test]
async fn a_job_ends_with_a_reason_at_whichever_step_its_agent_is_killed() {
    let mut stage = Stage::set().await;
    stage.holds_at("after spawn", Victim::Agent).await;
    for step in &STEPS[2..] {
        for when in ["before", "after"] {
            stage
                .holds_at(&format!("{when} {step}"), Victim::Agent)
                .await;
        }
    }
    stage.server.stop().await;
}
