//! Jobs with a real opencode: its model's words, its provider's words, its asks, and its death.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use countersign_testkit::git::{git, repository};
use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{StubModel, TestServer, eventually};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// A server with a real opencode, and the model behind it.
struct Stage {
    model: StubModel,
    server: TestServer,
}

impl Stage {
    async fn set() -> Self {
        Self::with_files(Vec::new()).await
    }

    /// With these files in the workspace, by name and content.
    async fn with_files(files: Vec<(String, String)>) -> Self {
        let model = StubModel::start().await;
        let engine = Engine::Real {
            model: model.base_url(),
        };
        let setup = Setup {
            files,
            ..Setup::new(BINARY, engine)
        };
        let server = setup.start().await;
        server.api().wait_for_engine().await;
        Self { model, server }
    }

    fn api(&self) -> &Api {
        self.server.api()
    }

    /// How many requests the model got whose newest words of a person hold `text`.
    fn requests_with(&self, text: &str) -> usize {
        let holds = |request: &&Value| request["messages"].to_string().contains(text);
        self.model.requests().iter().filter(holds).count()
    }
}

fn task(prompt: &str) -> Value {
    json!({ "kind": "task", "prompt": prompt, "engine": "opencode" })
}

#[tokio::test]
async fn a_job_ends_with_the_last_words_of_the_model_or_with_the_words_of_the_provider() {
    let stage = Stage::set().await;
    let mut body = task("TOOL write: made.txt <<< one\nFINAL all is done");
    body["on_ask"] = json!("allow");
    body["model"] = json!("stub/stub");
    let id = stage.api().hand_in(&body).await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    assert_eq!(job["result"], "all is done", "{job}");
    assert_eq!(job["changed_files"][0]["path"], "made.txt", "{job}");
    assert!(stage.server.workspace().join("made.txt").exists());
    assert!(!job["native_session"].is_null());

    let id = stage.api().hand_in(&task("HTTPERR 402")).await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(job["failure"]["code"], "provider", "{job}");
    assert!(
        job["failure"]["message"].as_str().unwrap().contains("402"),
        "{job}"
    );

    let mut body = task("FINAL never");
    body["model"] = json!("nobody/nothing");
    let id = stage.api().hand_in(&body).await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(job["failure"]["code"], "engine_refused", "{job}");
}

#[tokio::test]
async fn a_job_thinks_as_hard_as_it_is_told_says_what_it_used_up_and_plans_if_it_may_only_read() {
    let model = json!({ "reasoning": true, "variants": { "hard": { "reasoningEffort": "high" } } });
    let config = json!({ "provider": { "stub": { "models": { "stub": model } } } });
    let stage = Stage::with_files(vec![("opencode.json".to_owned(), config.to_string())]).await;
    let mut body = task("FINAL thought about it");
    body["effort"] = json!("hard");
    let id = stage.api().hand_in(&body).await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    let requests = stage.model.requests();
    let is_hard = |request: &Value| request["reasoning_effort"] == "high";
    assert!(requests.iter().any(is_hard), "{requests:?}");
    for count in ["input_tokens", "output_tokens", "used_tokens"] {
        assert!(job["usage"][count].as_u64() > Some(0), "{job}");
    }
    body["effort"] = json!("hardest");
    let id = stage.api().hand_in(&body).await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["failure"]["code"], "engine_refused", "{job}");
    let why = job["failure"]["message"].as_str().unwrap();
    let (_, offered) = why.rsplit_once(':').unwrap();
    assert!(offered.split(',').any(|it| it.trim() == "hard"), "{why}");

    let mut body = task("TOOL bash: touch never.txt\nFINAL looked at it");
    body["access"] = json!("read_only");
    let id = stage.api().hand_in(&body).await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    let session = job["session"].as_str().unwrap();
    assert_eq!(stage.api().session(session).await["agent"], "plan");
    assert!(!stage.server.workspace().join("never.txt").exists());
}

#[tokio::test]
async fn a_provider_that_is_tried_again_for_too_long_ends_the_job() {
    let stage = Stage::set().await;
    let mut body = task("HTTPERR 429");
    body["idle_limit_seconds"] = json!(4);
    let id = stage.api().hand_in(&body).await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(job["failure"]["code"], "provider_retrying", "{job}");
    let log = stage.api().job_log(&id).await;
    let looked = "What the engine holds is read again";
    assert!(stage.api().job_log_holds(&id, looked).await, "{log:?}");
}

#[tokio::test]
async fn a_headless_ask_waits_is_answered_or_is_denied_by_the_jobs_own_terms() {
    let stage = Stage::set().await;
    let id = stage
        .api()
        .hand_in(&task("TOOL bash: touch made.txt\nFINAL went on"))
        .await;
    let waiting = stage.api().job_in("waiting", &id).await;
    let ask = waiting["open_asks"][0].as_str().unwrap().to_owned();
    let crumb = waiting["breadcrumb"]["text"].as_str().unwrap();
    assert!(crumb.contains("touch made.txt"), "{crumb}");
    let answer = json!({ "answer": "allow_once" });
    stage.api().answer(&ask, &answer).await.expect(200);
    let job = stage.api().job_ended(&id).await;
    assert_eq!(
        (&job["state"], &job["result"]),
        (&json!("completed"), &json!("went on"))
    );
    assert!(stage.server.workspace().join("made.txt").exists());

    let mut body = task("TOOL bash: touch never.txt\nFINAL went on");
    body["on_ask"] = json!("deny");
    let id = stage.api().hand_in(&body).await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(
        job["state"], "completed",
        "the model reads why and goes on: {job}"
    );
    assert!(!stage.server.workspace().join("never.txt").exists());
    assert!(stage.requests_with("nobody is there to allow this") > 0);

    let id = stage
        .api()
        .hand_in(&task("TOOL bash: touch never.txt\nFINAL went on"))
        .await;
    let waiting = stage.api().job_in("waiting", &id).await;
    stage.api().cancel_job(&id).await;
    assert_eq!(stage.api().job_ended(&id).await["state"], "cancelled");
    let ask = waiting["open_asks"][0].as_str().unwrap();
    assert_eq!(stage.api().ask(ask).await["state"], "withdrawn");
}

#[tokio::test]
async fn a_job_whose_engine_is_killed_goes_on_in_its_next_life_without_being_told_twice() {
    let stage = Stage::set().await;
    let mut body = task("TOOL bash: echo once >> made.txt\nFINAL survived");
    body["ask_expires_seconds"] = json!(600);
    let id = stage.api().hand_in(&body).await;
    stage.api().job_in("waiting", &id).await;
    let session = stage.api().job(&id).await["session"]
        .as_str()
        .unwrap()
        .to_owned();
    stage.server.engine().kill();
    let resumed = eventually(PATIENCE, "the next life goes on with it", async || {
        stage
            .api()
            .job_log_holds(&id, "goes on with the same prompt")
            .await
            .then_some(())
    });
    resumed.await;
    // It may ask again, as another ask.
    let job = eventually(2 * PATIENCE, "it ends", async || {
        let job = stage.api().job(&id).await;
        if let Some(ask) = job["open_asks"][0].as_str() {
            let answer = json!({ "answer": "allow_once" });
            stage.api().answer(ask, &answer).await;
        }
        (!job["ended_at"].is_null()).then_some(job)
    })
    .await;
    assert_eq!(job["state"], "completed", "{job}");
    assert_eq!(job["result"], "survived", "{job}");
    let items = stage.api().items(&session).await;
    let prompts = items.iter().filter(|item| item["kind"] == "prompt").count();
    assert_eq!(prompts, 1, "{items:#?}");
}

#[tokio::test]
async fn a_job_whose_server_is_killed_with_an_ask_open_goes_on_under_the_next() {
    let mut stage = Stage::set().await;
    let id = stage
        .api()
        .hand_in(&task("TOOL bash: echo once >> made.txt\nFINAL survived"))
        .await;
    stage.api().job_in("waiting", &id).await;
    stage.server.kill();
    stage.server.restart().await;
    let waiting = stage.api().job_in("waiting", &id).await;
    let ask = waiting["open_asks"][0].as_str().unwrap().to_owned();
    let answer = json!({ "answer": "allow_once" });
    stage.api().answer(&ask, &answer).await.expect(200);
    stage.server.kill();
    stage.server.restart().await;
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    assert_eq!(job["result"], "survived", "{job}");
    let made = std::fs::read_to_string(stage.server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "once\n");
}

#[tokio::test]
async fn a_job_with_a_worktree_asks_and_works_there() {
    let stage = Stage::set().await;
    let workspace = stage.server.workspace().to_owned();
    repository(&workspace);
    let mut body = task("TOOL write: made.txt <<< one\nFINAL done");
    body["worktree"] = json!(true);
    let id = stage.api().hand_in(&body).await;
    let waiting = stage.api().job_in("waiting", &id).await;
    let ask = waiting["open_asks"][0].as_str().unwrap().to_owned();
    assert_eq!(
        stage.api().ask(&ask).await["directory"],
        waiting["worktree"]["path"]
    );
    let answer = json!({ "answer": "allow_once" });
    stage.api().answer(&ask, &answer).await.expect(200);
    assert_eq!(stage.api().settled(&ask).await["state"], "delivered");
    let job = stage.api().job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    assert_eq!(job["changed_files"][0]["path"], "made.txt", "{job}");
    assert!(!workspace.join("made.txt").exists());
    let path = job["worktree"]["path"].as_str().unwrap();
    assert!(Path::new(path).join("made.txt").exists());
    let kept = stage
        .api()
        .post(&format!("/api/v1/jobs/{id}/keep"), &json!({}))
        .await
        .expect(200);
    let branch = kept["worktree"]["branch"].as_str().unwrap();
    assert_eq!(
        git(&workspace, &["show", &format!("{branch}:made.txt")]).trim(),
        "one"
    );
}

#[tokio::test]
async fn a_slow_command_is_left_alone_and_a_deadline_is_not_missed() {
    let stage = Stage::set().await;
    let mut body = task("TOOL bash: sleep 25 && echo slept\nFINAL awake");
    body["on_ask"] = json!("allow");
    body["idle_limit_seconds"] = json!(3);
    let slow = stage.api().hand_in(&body).await;
    let mut body = task("TOOL bash: sleep 600\nFINAL never");
    body["on_ask"] = json!("allow");
    body["deadline_seconds"] = json!(8);
    let late = stage.api().hand_in(&body).await;
    let job = stage.api().job_ended(&late).await;
    assert_eq!(job["failure"]["code"], "deadline", "{job}");
    let job = stage.api().job_ended(&slow).await;
    assert_eq!(
        job["state"],
        "completed",
        "{job}: {:?}",
        stage.api().job_log(&slow).await
    );
    let sleeps = || {
        let found = Command::new("pgrep").args(["-f", "^sleep 600$"]).output();
        found.unwrap().stdout.is_empty().then_some(())
    };
    eventually(
        Duration::from_secs(20),
        "the command has ended",
        async || sleeps(),
    )
    .await;
}
