//! Exit codes, markers and JSON of `status`, `result`, `wait-and-result`, `cancel`, `heal` and `task-resume-candidate`.

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::place::Place;

#[tokio::test]
async fn waiting_for_a_result_ends_with_0_when_there_is_one_2_when_not_yet_and_1_for_no_job() {
    let place = Place::new();
    let id = place.begin(&[], "WAIT").await;
    let still = place
        .run(&["wait-and-result", &id, "--max-wait", "1"])
        .await;
    let told = still.expect_code(2).json();
    assert_eq!(told["status"], "running");
    assert_eq!(told["task_id"], id.as_str());
    assert!(told["elapsed"].as_u64().unwrap() >= 1, "{told}");
    assert!(told.get("log_file").is_some(), "{told}");

    for (arguments, said) in [
        (&["wait-and-result", "task-nobody"][..], "there is no job"),
        (&["wait-and-result"], "<ID>"),
        (&["wait-and-result", &id, "--max-wait", "0"], "1..=600"),
        (&["wait-and-result", &id, "--max-wait", "601"], "1..=600"),
        (&["wait-and-result", &id, "--nonsense"], "--nonsense"),
    ] {
        let refused = place.run(arguments).await;
        refused.expect_code(1);
        assert!(refused.stderr.contains(said), "{refused:?}");
    }
    let other = place.begin(&[], "WAIT").await;
    let ambiguous = place.run(&["wait-and-result", "task-"]).await;
    ambiguous.expect_code(1);
    assert!(ambiguous.stderr.contains(&other), "{ambiguous:?}");

    let waiting = place.command(&["wait-and-result", &id]).spawn().unwrap();
    place.run(&["cancel", &id]).await.expect_success();
    let ended = crate::place::end_of(waiting, &["wait-and-result"]).await;
    ended.expect_success();
    assert!(
        ended.stdout.starts_with(&format!("## Job: {id}\n")),
        "{ended:?}"
    );
    assert!(
        ended.stdout.contains("- **Status**: cancelled"),
        "{ended:?}"
    );

    let done = place.begin(&[], "SAY all is well").await;
    let report = place.run(&["wait-and-result", &done]).await;
    report.expect_success();
    for marker in [
        "- **Type**: task",
        "- **Status**: completed",
        "- **Duration**: ",
        "### Output\n\nall is well",
    ] {
        assert!(
            report.stdout.contains(marker),
            "no {marker:?} in {report:?}"
        );
    }
    let told = place.run(&["wait-and-result", &done, "--json"]).await;
    let told = told.expect_success().json();
    assert_eq!(told["job"]["status"], "completed");
    assert!(
        told["storedJob"]["result"]
            .as_str()
            .unwrap()
            .contains("all is well")
    );
}

/// What scripts read of a job that runs.
const FIELDS: [&str; 21] = [
    "id",
    "type",
    "status",
    "phase",
    "sessionId",
    "agent",
    "opencodeSessionId",
    "createdAt",
    "updatedAt",
    "completedAt",
    "errorMessage",
    "request",
    "breadcrumb",
    "elapsed",
    "elapsedMs",
    "progressPreview",
    "logFile",
    "pid",
    "title",
    "summary",
    "write",
];

#[tokio::test]
async fn status_tells_what_runs_what_it_does_and_what_ended_from_every_folder() {
    let place = Place::new();
    let none = place.run(&["status"]).await;
    assert!(
        none.expect_success().stdout.contains("No jobs found"),
        "{none:?}"
    );
    let asks = place.begin(&[], "RUN echo hello").await;
    let done = place.begin(&[], "SAY done").await;
    place.until(&asks, "waiting").await;
    place.until(&done, "completed").await;

    let text = place.run(&["status"]).await;
    let text = &text.expect_success().stdout;
    assert!(
        text.contains(&format!(
            "## Running Jobs\n\n- **{asks}** (task) — waiting — "
        )),
        "{text}"
    );
    assert!(text.contains("  > waiting for you: "), "{text}");
    assert!(text.contains("echo hello"), "{text}");
    assert!(
        text.contains(&format!(
            "## Latest Finished\n\n- **{done}** (task) — completed — "
        )),
        "{text}"
    );

    let root = place.path("repo").canonicalize().unwrap();
    for told in [
        place.run(&["status", "--json"]).await,
        place.run_in("repo/src", &["status", "--json"]).await,
        // As a plugin passes it.
        place.run(&["status", " --json "]).await,
    ] {
        let told = told.expect_success().json();
        assert_eq!(told["workspaceRoot"], root.to_str().unwrap());
        assert_eq!(told["running"][0]["id"], asks.as_str());
        assert_eq!(told["latestFinished"]["id"], done.as_str());
        assert_eq!(told["recent"][0]["id"], done.as_str());
        assert_eq!(told["config"]["reviewGate"], false);
        for name in FIELDS {
            assert!(
                told["running"][0].get(name).is_some(),
                "no {name} in {told}"
            );
        }
    }
}

#[tokio::test]
async fn status_knows_jobs_of_other_folders_by_their_ids_and_waits_as_long_as_it_is_told() {
    let place = Place::new();
    let asks = place.begin(&[], "RUN echo hello").await;
    let done = place.begin(&[], "SAY done").await;
    place.until(&asks, "waiting").await;
    place.until(&done, "completed").await;
    let elsewhere = place.run_in("elsewhere", &["status", "--json"]).await;
    assert_eq!(elsewhere.expect_success().json()["running"], json!([]));
    let all = place
        .run_in("elsewhere", &["status", "--all", "--json"])
        .await;
    assert_eq!(
        all.expect_success().json()["running"][0]["id"],
        asks.as_str()
    );

    let one = place
        .run_in("elsewhere", &["status", &asks[..asks.len() - 3], "--json"])
        .await;
    assert_eq!(one.expect_success().json()["job"]["id"], asks.as_str());
    let unknown = place.run(&["status", "task-nobody", "--json"]).await;
    assert_eq!(unknown.expect_success().json()["job"], Value::Null);
    let ambiguous = place.run(&["status", "task-", "--json"]).await;
    let told = ambiguous.expect_code(2).json();
    assert_eq!(
        (&told["job"], &told["error"]),
        (&Value::Null, &json!("ambiguous"))
    );

    let timed_out = ["status", &asks, "--wait", "--timeout-ms", "200", "--json"];
    let told = place.run(&timed_out).await;
    let told = told.expect_success().json();
    assert_eq!(
        (&told["waitTimedOut"], &told["timeoutMs"]),
        (&json!(true), &json!(200))
    );
    let told = place.run(&["status", &done, "--wait", "--json"]).await;
    assert_eq!(told.expect_success().json()["waitTimedOut"], false);
}

#[tokio::test]
async fn a_result_is_of_a_job_that_has_ended_and_of_no_other() {
    let place = Place::new();
    let none = place.run(&["result"]).await;
    assert_eq!(none.expect_success().stdout, "No finished job found.\n");
    let none = place.run(&["result", "--json"]).await;
    assert_eq!(none.expect_success().json()["job"], Value::Null);
    let runs = place.begin(&[], "WAIT").await;
    let still = place.run(&["result", &runs]).await;
    still.expect_code(1);
    assert!(still.stderr.contains("is still"), "{still:?}");
    place.run(&["result", "task-nobody"]).await.expect_code(1);
    let first = place.begin(&[], "SAY first").await;
    place.until(&first, "completed").await;
    let second = place.begin(&[], "SAY second").await;
    place.until(&second, "completed").await;
    let newest = place.run(&["result"]).await;
    assert!(
        newest
            .expect_success()
            .stdout
            .contains("### Output\n\nsecond"),
        "{newest:?}"
    );
    let named = place
        .run_in("elsewhere", &["result", &first, "--json"])
        .await;
    assert_eq!(named.expect_success().json()["job"]["id"], first.as_str());
    let ambiguous = place.run(&["result", "task-"]).await;
    ambiguous.expect_code(1);
    assert!(
        ambiguous.stderr.contains("Ambiguous job reference"),
        "{ambiguous:?}"
    );
}

#[tokio::test]
async fn cancelling_needs_no_id_where_one_job_runs_and_one_where_several_do() {
    let place = Place::new();
    let none = place.run(&["cancel"]).await;
    assert_eq!(none.expect_success().stdout, "No active job to cancel.\n");
    let one = place.begin(&[], "WAIT").await;
    place.until(&one, "running").await;
    let cancelled = place.run(&["cancel"]).await;
    assert_eq!(
        cancelled.expect_success().stdout,
        format!("Canceled job: {one}\n")
    );
    let job = place.job(&one).await;
    assert_eq!(job["status"], "cancelled");
    assert_eq!(job["errorMessage"], "Canceled by ada");
    assert!(job["cancelledAt"].is_string(), "{job}");

    let one = place.begin(&[], "WAIT").await;
    let other = place.begin(&[], "WAIT").await;
    place.until(&other, "running").await;
    let several = place.run(&["cancel"]).await;
    several.expect_code(1);
    assert!(
        several.stderr.contains(&one) && several.stderr.contains(&other),
        "{several:?}"
    );
    place.run(&["cancel", "task-nobody"]).await.expect_code(1);
    let told = place.run(&["cancel", &other, "--json"]).await;
    let told = told.expect_success().json();
    assert_eq!(told["jobId"], other.as_str());
    assert_eq!(told["status"], "cancelled");
    assert_eq!(told["turnInterruptAttempted"], true);
    assert_eq!(told["turnInterrupted"], true);
    assert_eq!(told["title"], "WAIT");
}

#[tokio::test]
async fn healing_reports_and_a_candidate_for_resuming_is_named() {
    let place = Place::new();
    let root = place.path("repo").canonicalize().unwrap();
    let none = place.run(&["task-resume-candidate", "--json"]).await;
    let none = none.expect_success().json();
    assert_eq!(
        (&none["available"], &none["jobId"]),
        (&json!(false), &Value::Null)
    );
    let runs = place.begin(&[], "WAIT").await;
    place.until(&runs, "running").await;
    for flags in [
        &["--json"][..],
        &["--dry-run", "--json"],
        &["--all", "--json"],
    ] {
        let told = place.run(&[&["heal"], flags].concat()).await;
        let told = told.expect_success().json();
        assert_eq!(told["workspaceRoot"], root.to_str().unwrap());
        assert_eq!(told["dryRun"], flags.len() == 2 && flags[0] == "--dry-run");
        assert_eq!(
            (&told["scanned"], &told["actions"]),
            (&json!(1), &json!([]))
        );
    }
    let done = place.begin(&[], "SAY remember the number seven").await;
    place.until(&done, "completed").await;
    let found = place.run(&["task-resume-candidate", "--json"]).await;
    let found = found.expect_success().json();
    assert_eq!(
        (&found["available"], &found["jobId"]),
        (&json!(true), &json!(done))
    );
    assert_eq!(found["candidate"]["status"], "completed");
    assert!(found["opencodeSessionId"].is_string(), "{found}");

    let resumed = [
        "task",
        "--engine",
        "demo",
        "--resume",
        "last",
        "--json",
        "SAY seven",
    ];
    let resumed = place.run(&resumed).await;
    let resumed = resumed.expect_success().json();
    let first = place.job(&done).await;
    assert_eq!(resumed["job"]["session"], first["session"]);
    assert_eq!(resumed["job"]["resumeSessionId"], done.as_str());
    let wrong = place.run(&["task", "--resume", "fix", "the", "bug"]).await;
    wrong.expect_code(1);
    assert!(
        wrong.stderr.contains("takes a job's id or `last`"),
        "{wrong:?}"
    );
}

#[tokio::test]
async fn what_a_job_did_in_its_worktree_is_kept_or_discarded() {
    let place = Place::new();
    let flags = ["--worktree", "--on-ask", "allow"];
    for (fate, word) in [("keep", "Kept"), ("discard", "Discarded")] {
        let id = place.begin(&flags, &format!("EDIT {fate}.txt hello")).await;
        let report = place.run(&["wait-and-result", &id]).await;
        let report = &report.expect_success().stdout;
        assert!(
            report.contains(&format!("### Changed Files\n\n- {fate}.txt")),
            "{report}"
        );
        assert!(
            report.contains(&format!("countersign keep {id}")),
            "{report}"
        );
        assert!(!place.path("repo").join(format!("{fate}.txt")).exists());
        let diff = place.run(&["result", &id, "--diff"]).await;
        assert!(diff.expect_success().stdout.contains("+hello"), "{diff:?}");
        let decided = place.run(&[fate, &id]).await;
        assert!(
            decided.expect_success().stdout.contains(word),
            "{decided:?}"
        );
        let branch = place.job(&id).await["worktree"]["branch"].clone();
        let listed = place.git(&["branch", "--list", branch.as_str().unwrap()]);
        assert_eq!(listed.is_empty(), fate == "discard", "{listed}");
        let again = place.run(&[fate, &id]).await;
        assert!(again.code <= 1, "{again:?}");
    }
    let plain = place.begin(&[], "SAY nothing").await;
    place.until(&plain, "completed").await;
    place.run(&["keep", &plain]).await.expect_code(1);
}

#[tokio::test]
async fn the_log_of_a_job_is_read_to_its_end() {
    let place = Place::new();
    let id = place.begin(&[], "SAY hello").await;
    let followed = place.run(&["logs", &id, "--follow"]).await;
    let followed = &followed.expect_success().stdout;
    assert!(followed.contains("[queued] queued"), "{followed}");
    assert!(
        followed.lines().last().unwrap().contains("[completed]"),
        "{followed}"
    );
    let told = place.run(&["logs", &id, "--after", "1", "--json"]).await;
    let told = told.expect_success().json();
    assert_eq!(told["entries"][0]["seq"], 2);
    place.run(&["logs", "task-nobody"]).await.expect_code(1);
    eventually(PATIENCE, "the log is whole", async || {
        let log = place.run(&["logs", &id]).await;
        (log.stdout == *followed).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_job_that_runs_is_listed_however_many_came_after_it() {
    let place = Place::new();
    let runs = place.begin(&[], "WAIT").await;
    place.until(&runs, "running").await;
    let mut last = String::new();
    for _ in 0..31 {
        last = place.begin(&[], "SAY hello").await;
    }
    place.until(&last, "completed").await;
    let told = place.run(&["status", "--json"]).await;
    let told = told.expect_success().json();
    let running = told["running"].as_array().unwrap();
    assert!(
        running.iter().any(|job| job["id"] == runs.as_str()),
        "{told}"
    );
    // What the engine calls a session is in lists as well.
    assert!(
        told["latestFinished"]["opencodeSessionId"].is_string(),
        "{told}"
    );
    place.run(&["cancel", &runs]).await.expect_success();
}
