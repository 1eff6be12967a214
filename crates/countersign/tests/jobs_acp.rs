//! Jobs with an ACP agent: they end in a result or a reason, whoever is killed, and leave no process behind.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_testkit::git::{git, repository};
use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{Seed, TestServer, eventually};
use rand::RngExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// How long a process of a job may live after the job's end, and what a busy machine takes longer.
const GONE_SOON: Duration = Duration::from_secs(20);

/// The script of an agent that can be told how hard to think.
const THINKING: &str = include_str!("data/thinking-agent.sh");

async fn server() -> TestServer {
    Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        .start()
        .await
}

fn task(prompt: &str) -> Value {
    json!({ "kind": "task", "prompt": prompt, "engine": "demo" })
}

async fn no_agent_is_left(server: &TestServer) {
    eventually(GONE_SOON, "the agent has ended", async || {
        server.agents().is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_job_that_is_allowed_what_it_asks_ends_with_its_last_words_and_its_changes() {
    let mut server = server().await;
    let mut body = task("EDIT made.txt one\nSAY all is done");
    body["on_ask"] = json!("allow");
    let id = server.api().hand_in(&body).await;
    let job = server.api().job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    assert!(
        job["result"].as_str().unwrap().contains("all is done"),
        "{job}"
    );
    let changed = job["changed_files"].as_array().unwrap();
    assert!(
        changed.iter().any(|file| file["path"] == "made.txt"),
        "{job}"
    );
    assert!(server.workspace().join("made.txt").exists());
    assert!(server.api().job_log_holds(&id, "allowed ask_").await);
    no_agent_is_left(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn a_headless_ask_makes_the_job_wait_until_somebody_answers() {
    let mut server = server().await;
    let api = server.api();
    let id = api
        .hand_in(&task("RUN echo 1 > made.txt\nSAY went on"))
        .await;
    let waiting = api.job_in("waiting", &id).await;
    let crumb = waiting["breadcrumb"]["text"].as_str().unwrap();
    assert!(crumb.starts_with("waiting for you: "), "{crumb}");
    let ask = waiting["open_asks"][0].as_str().unwrap().to_owned();
    let asked = api.ask(&ask).await;
    assert!(
        !asked["expires_at"].is_null(),
        "nobody may be watching: {asked}"
    );
    api.answer(&ask, &json!({ "answer": "allow_once" }))
        .await
        .expect(200);
    let job = api.job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    assert!(server.workspace().join("made.txt").exists());
    no_agent_is_left(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn what_a_job_may_not_do_is_denied_and_the_agent_goes_on() {
    let server = server().await;
    for (field, value) in [("on_ask", "deny"), ("access", "read_only")] {
        let mut body = task("RUN touch never.txt\nSAY went on");
        body[field] = json!(value);
        let id = server.api().hand_in(&body).await;
        let job = server.api().job_ended(&id).await;
        assert_eq!(job["state"], "completed", "{job}");
        assert!(!server.workspace().join("never.txt").exists());
        assert!(server.api().job_log_holds(&id, "denied ask_").await);
    }
    no_agent_is_left(&server).await;
}

#[tokio::test]
async fn a_question_to_a_job_that_allows_everything_is_not_left_to_run_out() {
    let server = server().await;
    let mut body = task("ASK Which one? | red | blue\nSAY went on");
    body["on_ask"] = json!("allow");
    let id = server.api().hand_in(&body).await;
    let job = server.api().job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    assert!(server.api().job_log_holds(&id, "denied ask_").await);
    let asks = server.api().get("/api/v1/asks?limit=10").await;
    let reason = asks["asks"][0]["answer"].to_string();
    assert!(reason.contains("decide yourself"), "{asks}");
}

#[tokio::test]
async fn the_effort_is_set_before_the_prompt_and_an_agent_without_one_is_told_of() {
    let setup = Setup {
        files: vec![("agent.sh".to_owned(), THINKING.to_owned())],
        engine_settings:
            "[[agents]]\nname = 'thinking'\ncommand = '/bin/sh'\nargs = ['agent.sh']\n".to_owned(),
        ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
    };
    let server = setup.start().await;
    let api = server.api();
    let job = |engine: &str, effort: &str| json!({ "kind": "task", "prompt": "SAY hello", "engine": engine, "effort": effort });
    let id = api.hand_in(&job("thinking", "high")).await;
    let ended = api.job_ended(&id).await;
    assert_eq!(ended["state"], "completed", "{ended}");
    let heard = std::fs::read_to_string(server.workspace().join("heard")).unwrap();
    assert_eq!(heard, "effort high\nprompt\n");

    let id = api.hand_in(&job("thinking", "extreme")).await;
    let ended = api.job_ended(&id).await;
    assert_eq!(ended["failure"]["code"], "engine_refused", "{ended}");
    let why = ended["failure"]["message"].as_str().unwrap();
    assert!(why.contains("low, high"), "{why}");

    let id = api.hand_in(&job("demo", "high")).await;
    let ended = api.job_ended(&id).await;
    assert_eq!(ended["state"], "completed", "{ended}");
    assert!(
        api.job_log_holds(&id, "no way to be told how hard to think")
            .await
    );
    no_agent_is_left(&server).await;
}

#[tokio::test]
async fn an_ask_that_nobody_answers_runs_out_and_the_job_still_ends() {
    let server = server().await;
    let mut body = task("RUN touch never.txt\nSAY went on");
    body["ask_expires_seconds"] = json!(1);
    let id = server.api().hand_in(&body).await;
    let job = server.api().job_ended(&id).await;
    // The agent is told that nobody answered, asks something else, and nobody answers that either.
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(job["failure"]["code"], "ask_expired", "{job}");
    assert!(!server.workspace().join("never.txt").exists());
    no_agent_is_left(&server).await;
}

#[tokio::test]
async fn a_job_ends_by_its_deadline_by_its_idle_limit_and_by_whoever_cancels_it() {
    let server = server().await;
    let api = server.api();
    let mut late = task("SAY begun\nWAIT");
    late["deadline_seconds"] = json!(2);
    let mut idle = task("SAY begun\nWAIT");
    idle["idle_limit_seconds"] = json!(1);
    let (late, idle) = (api.hand_in(&late).await, api.hand_in(&idle).await);
    let stopped = api.hand_in(&task("SAY begun\nWAIT")).await;
    api.job_in("running", &stopped).await;
    api.cancel_job(&stopped).await;
    let cancelled = api.job_ended(&stopped).await;
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
    assert!(!cancelled["cancelled_by"].is_null());
    for (id, code) in [(&late, "deadline"), (&idle, "idle")] {
        let job = api.job_ended(id).await;
        assert_eq!(job["state"], "failed", "{job}");
        assert_eq!(job["failure"]["code"], code, "{job}");
        assert!(job["result"].as_str().unwrap().contains("begun"), "{job}");
    }
    assert!(
        api.job_log_holds(&idle, "What the engine holds is read again")
            .await
    );
    no_agent_is_left(&server).await;
}

#[tokio::test]
async fn an_agent_that_is_killed_fails_its_job_with_what_it_had_said() {
    let server = server().await;
    let api = server.api();
    let id = api.hand_in(&task("SAY half of it\nWAIT")).await;
    eventually(PATIENCE, "it has said something", async || {
        let session = api.job(&id).await["session"].as_str()?.to_owned();
        let items = api.items(&session).await;
        items
            .iter()
            .any(|item| item["kind"] == "text")
            .then_some(())
    })
    .await;
    server.agents().remove(0).kill();
    let job = api.job_ended(&id).await;
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(job["failure"]["code"], "engine_gone", "{job}");
    assert!(
        job["result"].as_str().unwrap().contains("half of it"),
        "{job}"
    );
    no_agent_is_left(&server).await;
}

#[tokio::test]
async fn a_job_goes_on_with_the_session_of_an_earlier_one() {
    let server = server().await;
    let api = server.api();
    let first = api.hand_in(&task("SAY first")).await;
    let mut body = task("SAY second");
    body["resume"] = json!({ "job": first });
    let session = api.job_ended(&first).await["session"].clone();
    no_agent_is_left(&server).await;
    let second = api.hand_in(&body).await;
    let job = api.job_ended(&second).await;
    assert_eq!(job["state"], "completed", "{job}");
    assert_eq!(job["session"], session);
    assert!(job["result"].as_str().unwrap().contains("second"), "{job}");
    // Of two that would talk in one session at once the second is refused.
    let mut body = task("WAIT");
    body["resume"] = json!({ "session": session });
    let third = api.hand_in(&body).await;
    api.job_in("running", &third).await;
    api.post("/api/v1/jobs", &body).await.expect(409);
    api.cancel_job(&third).await;
    assert_eq!(api.job_ended(&third).await["state"], "cancelled");
}

#[tokio::test]
async fn a_job_with_a_worktree_changes_nothing_else_and_is_kept_or_discarded() {
    let server = server().await;
    let api = server.api();
    let workspace = server.workspace().to_owned();
    // Without a commit there is nothing to begin with.
    let mut body = task("EDIT made.txt one");
    body["on_ask"] = json!("allow");
    body["worktree"] = json!(true);
    let failed = api.hand_in(&body).await;
    assert_eq!(api.job_ended(&failed).await["failure"]["code"], "worktree");

    repository(&workspace);
    let mut jobs = Vec::new();
    for _ in 0..2 {
        let id = api.hand_in(&body).await;
        let job = api.job_ended(&id).await;
        assert_eq!(job["state"], "completed", "{job}");
        assert!(!workspace.join("made.txt").exists());
        let path = job["worktree"]["path"].as_str().unwrap().to_owned();
        assert!(Path::new(&path).join("made.txt").exists(), "{job}");
        assert_eq!(job["changed_files"][0]["path"], "made.txt", "{job}");
        let diff = api.get(&format!("/api/v1/jobs/{id}/diff")).await;
        assert_eq!(diff["files"][0]["path"], "made.txt", "{diff}");
        assert!(
            diff["files"][0]["patch"].as_str().unwrap().contains("+one"),
            "{diff}"
        );
        jobs.push((id, path));
    }
    let kept = api
        .post(&format!("/api/v1/jobs/{}/keep", jobs[0].0), &json!({}))
        .await
        .expect(200);
    assert_eq!(kept["worktree"]["fate"], "kept");
    let branch = kept["worktree"]["branch"].as_str().unwrap();
    let shown = git(&workspace, &["show", &format!("{branch}:made.txt")]);
    assert!(shown.starts_with("one"));
    assert!(!Path::new(&jobs[0].1).exists());
    let diff = api.get(&format!("/api/v1/jobs/{}/diff", jobs[0].0)).await;
    assert_eq!(diff["files"][0]["path"], "made.txt", "{diff}");
    let discarded = api
        .post(&format!("/api/v1/jobs/{}/discard", jobs[1].0), &json!({}))
        .await;
    assert_eq!(discarded.expect(200)["worktree"]["fate"], "discarded");
    assert!(!Path::new(&jobs[1].1).exists());
    assert!(!git(&workspace, &["branch", "--list"]).contains(&jobs[1].0));
    api.post(&format!("/api/v1/jobs/{}/keep", jobs[1].0), &json!({}))
        .await
        .expect(409);
}

/// A job that made `made.txt` in a worktree: its id, and where that is.
async fn job_in_worktree(api: &Api) -> (String, PathBuf) {
    let mut body = task("EDIT made.txt one");
    body["on_ask"] = json!("allow");
    body["worktree"] = json!(true);
    let id = api.hand_in(&body).await;
    let job = api.job_ended(&id).await;
    assert_eq!(job["state"], "completed", "{job}");
    let path = PathBuf::from(job["worktree"]["path"].as_str().unwrap());
    (id, path)
}

#[tokio::test]
async fn what_a_job_did_is_kept_wherever_it_is_or_the_worktree_stays() {
    let server = server().await;
    let api = server.api();
    let workspace = server.workspace().to_owned();
    repository(&workspace);
    let keep = async |id: &str| {
        let path = format!("/api/v1/jobs/{id}/keep");
        api.post(&path, &json!({})).await
    };

    // On no branch, and on one of the agent's own.
    for moved in [
        ["checkout", "--quiet", "--detach"].as_slice(),
        &["checkout", "--quiet", "-b", "own"],
    ] {
        let (id, path) = job_in_worktree(api).await;
        git(&path, moved);
        let kept = keep(&id).await.expect(200);
        let branch = kept["worktree"]["branch"].as_str().unwrap();
        let shown = git(&workspace, &["show", &format!("{branch}:made.txt")]);
        assert!(shown.starts_with("one"), "{shown}");
        assert!(!path.exists());
    }

    // Committed on its branch, and HEAD back where it began.
    let (id, path) = job_in_worktree(api).await;
    git(&path, &["add", "--all"]);
    git(&path, &["commit", "--quiet", "-m", "made"]);
    git(&path, &["checkout", "--quiet", "--detach", "HEAD~"]);
    let kept = keep(&id).await.expect(200);
    let branch = kept["worktree"]["branch"].as_str().unwrap();
    let shown = git(&workspace, &["show", &format!("{branch}:made.txt")]);
    assert!(shown.starts_with("one"), "{shown}");

    // Work on its branch, and other work beside it: no branch has all of it.
    let (id, path) = job_in_worktree(api).await;
    git(&path, &["add", "--all"]);
    git(&path, &["commit", "--quiet", "-m", "made"]);
    git(&path, &["checkout", "--quiet", "--detach", "HEAD~"]);
    std::fs::write(path.join("other.txt"), "two").unwrap();
    let refused = keep(&id).await.expect(422).to_string();
    assert!(refused.contains("neither has all of it"), "{refused}");
    assert!(path.join("other.txt").exists());

    // Its folder is gone, with all that was in it.
    let (id, path) = job_in_worktree(api).await;
    std::fs::remove_dir_all(&path).unwrap();
    keep(&id).await.expect(422);
    let job = api.get(&format!("/api/v1/jobs/{id}")).await;
    assert_eq!(job["worktree"]["fate"], "open", "{job}");

    // A repository within it: a commit would only name it.
    let (id, path) = job_in_worktree(api).await;
    let within = path.join("within");
    std::fs::create_dir(&within).unwrap();
    repository(&within);
    keep(&id).await.expect(422);
    assert!(within.exists());
}

#[tokio::test]
async fn a_job_does_not_go_on_in_a_folder_that_is_gone() {
    let server = server().await;
    let api = server.api();
    repository(server.workspace());
    for fate in ["keep", "discard"] {
        let (id, _) = job_in_worktree(api).await;
        api.post(&format!("/api/v1/jobs/{id}/{fate}"), &json!({}))
            .await
            .expect(200);
        let mut body = task("SAY on");
        body["resume"] = json!({ "job": id });
        let refused = api.post("/api/v1/jobs", &body).await.expect(409);
        assert!(refused.to_string().contains("is gone"), "{refused}");
    }
}

/// How many jobs were under way at once, as the ledger says.
fn most_at_once(jobs: &[Value]) -> usize {
    let time = |job: &Value, field: &str| job[field].as_str().unwrap().to_owned();
    let starts = jobs.iter().map(|job| time(job, "started_at"));
    starts
        .map(|at| {
            let under_way =
                |job: &&Value| time(job, "started_at") <= at && at < time(job, "ended_at");
            jobs.iter().filter(under_way).count()
        })
        .max()
        .unwrap_or(0)
}

async fn none_is_lost(count: usize) {
    let server = server().await;
    let api = server.api();
    let mut clients = JoinSet::new();
    for number in 0..count {
        let (api, body) = (api.clone(), task(&format!("SAY number {number}")));
        clients.spawn(async move { (number, api.hand_in(&body).await) });
    }
    let mut jobs = Vec::new();
    for (number, id) in clients.join_all().await {
        let job = api.job_ended(&id).await;
        assert_eq!(job["state"], "completed", "{job}");
        let said = job["result"].as_str().unwrap().trim();
        assert_eq!(said, format!("number {number}"));
        jobs.push(job);
    }
    assert_eq!(jobs.len(), count);
    assert!(most_at_once(&jobs) <= 4, "{}", most_at_once(&jobs));
    no_agent_is_left(&server).await;
}

#[tokio::test]
async fn of_ten_jobs_at_once_none_is_lost() {
    none_is_lost(10).await;
}

#[tokio::test]
async fn slow_of_two_hundred_jobs_at_once_none_is_lost_and_the_caps_hold() {
    none_is_lost(200).await;
}

#[tokio::test]
async fn a_job_whose_server_is_killed_goes_on_under_the_next() {
    let mut server = server().await;
    let waiting = server
        .api()
        .hand_in(&task("RUN echo 1 >> made.txt\nSAY done"))
        .await;
    server.api().job_in("waiting", &waiting).await;
    let slow = server.api().hand_in(&task("SAY begun\nWAIT")).await;
    server.api().job_in("running", &slow).await;
    server.kill();
    server.restart().await;
    let api = server.api();
    let ask = api.job_in("waiting", &waiting).await["open_asks"][0].clone();
    let answer = json!({ "answer": "allow_once" });
    api.answer(ask.as_str().unwrap(), &answer).await.expect(200);
    let job = api.job_ended(&waiting).await;
    assert_eq!(job["state"], "completed", "{job}");
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "1\n", "it was done once");
    assert_eq!(job_state(api, &slow).await, "running");
    api.cancel_job(&slow).await;
    assert_eq!(api.job_ended(&slow).await["state"], "cancelled");
    no_agent_is_left(&server).await;
}

async fn job_state(api: &Api, id: &str) -> Value {
    api.job(id).await["state"].clone()
}

/// The server is killed at whatever instant it happens to be in, again and again: each job ends once, with its own words
/// or with a reason.
#[tokio::test]
async fn slow_jobs_end_whenever_the_server_is_killed() {
    let mut dice = Seed::take().dice("kill");
    let mut server = server().await;
    let mut jobs = Vec::new();
    for round in 0..12_u64 {
        for number in 0..3 {
            let mut body = task(&format!(
                "RUN echo {round}-{number} >> made.txt\nSAY {round}-{number}"
            ));
            body["on_ask"] = json!("allow");
            jobs.push((
                server.api().hand_in(&body).await,
                format!("{round}-{number}"),
            ));
        }
        let instant = dice.random_range(0..900_u64);
        tokio::time::sleep(Duration::from_millis(instant)).await;
        server.kill();
        server.restart().await;
    }
    for (id, words) in &jobs {
        let job = server.api().job_ended(id).await;
        match job["state"].as_str().unwrap() {
            "completed" => assert!(job["result"].as_str().unwrap().contains(words), "{job}"),
            "failed" => assert!(
                !job["failure"]["message"].as_str().unwrap().is_empty(),
                "{job}"
            ),
            other => panic!("{other}: {job}"),
        }
    }
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    for (_, words) in &jobs {
        let count = made.lines().filter(|line| line == words).count();
        assert!(count <= 1, "{words} was done {count} times");
    }
    no_agent_is_left(&server).await;
    server.stop().await;
}
