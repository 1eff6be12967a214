//! `task`: what reaches the agent, who waits for it, and what becomes of its asks.

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::place::{Place, end_of, signal};

/// The prompt of the newest job, and the task that it was made of.
async fn newest_prompt(place: &Place) -> (String, String) {
    let told = place.run(&["result", "--json"]).await;
    let told = told.expect_success().json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        text(&told["storedJob"]["prompt"]),
        text(&told["job"]["request"]["taskText"]),
    )
}

#[tokio::test]
async fn a_task_ends_with_the_report_on_standard_output_and_progress_beside_it() {
    let place = Place::new();
    let done = place
        .run(&["task", "--engine", "demo", "SAY the tests pass"])
        .await;
    assert_eq!(done.expect_success().stdout, "the tests pass\n");
    assert!(done.stderr.contains("] [queued] queued"), "{done:?}");
    assert!(done.stderr.contains("] [completed] completed"), "{done:?}");
    assert!(!done.stdout.contains('\u{1b}') && !done.stderr.contains('\u{1b}'));
    let told = place
        .run(&["task", "--engine", "demo", "--json", "SAY again"])
        .await;
    let told = told.expect_success().json();
    assert_eq!(told["job"]["status"], "completed");
    assert_eq!(told["job"]["result"].as_str().unwrap().trim(), "again");

    let begun = place
        .run(&["task", "--engine", "demo", "--background", "SAY later"])
        .await;
    let first = begun.expect_success().stdout.lines().next().unwrap();
    let (words, id) = first.split_once(": ").unwrap();
    assert_eq!(words, "demo task started in background");
    assert!(
        id.starts_with("task-") && id.split('-').count() == 3,
        "{id}"
    );
    let told = place
        .run(&[
            "task",
            "--engine",
            "demo",
            "--background",
            "--json",
            "SAY later",
        ])
        .await;
    let told = told.expect_success().json();
    assert_eq!(
        (&told["status"], &told["title"]),
        (&"queued".into(), &"SAY later".into())
    );
    for name in ["jobId", "summary", "logFile"] {
        assert!(told.get(name).is_some(), "no {name} in {told}");
    }
}

#[tokio::test]
async fn a_prompt_arrives_as_it_was_written_behind_the_header() {
    let place = Place::new();
    let task = ["task", "--engine", "demo"];
    let file = place.path("prompt.md");
    std::fs::write(&file, "SAY from $HOME `file`\n--background\n").unwrap();
    let file = file.to_str().unwrap();
    for (arguments, expected) in [
        (
            &["SAY", "run", "git", "log", "--oneline", "--json"][..],
            "SAY run git log --oneline --json",
        ),
        (
            &["--", "--background", "is\nSAY", "a", "flag"],
            "--background is\nSAY a flag",
        ),
        (
            &["--prompt-file", file],
            "SAY from $HOME `file`\n--background\n",
        ),
    ] {
        place
            .run(&[&task, arguments].concat())
            .await
            .expect_success();
        let (prompt, said) = newest_prompt(&place).await;
        assert_eq!(said, expected);
        assert!(prompt.starts_with("[Countersign job]\n"), "{prompt}");
        assert!(prompt.ends_with(expected), "{prompt}");
    }
    // As a plugin passes it: one argument for everything.
    let raw = "--engine demo --wait SAY don't  eat --background or \"quotes\"";
    place.run(&["task", raw]).await.expect_success();
    let (_, said) = newest_prompt(&place).await;
    assert_eq!(said, "SAY don't  eat --background or \"quotes\"");
    let read = place.run_reading("SAY from standard input\n", &task).await;
    assert_eq!(read.expect_success().stdout, "from standard input\n");

    let empty = place.run_reading("", &task).await;
    empty.expect_code(1);
    assert!(empty.stderr.contains("No task text provided"), "{empty:?}");
    let stray = place
        .run(&["task", "--engine", "demo", "SAY", "hello", "--background"])
        .await;
    assert!(
        stray.expect_success().stderr.contains("is part of it"),
        "{stray:?}"
    );
    place
        .run(&["task", "--nonsense", "SAY"])
        .await
        .expect_code(1);
}

#[tokio::test]
async fn a_headless_ask_waits_and_is_answered_from_elsewhere_denied_or_allowed() {
    let place = Place::new();
    let id = place.begin(&[], "RUN touch made").await;
    let job = place.until(&id, "waiting").await;
    let ask = job["openAsks"][0].as_str().unwrap().to_owned();
    assert!(!place.path("repo/made").exists());
    place.run(&["allow", &ask]).await.expect_success();
    place.run(&["wait-and-result", &id]).await.expect_success();
    assert!(place.path("repo/made").exists());

    for (flags, file, done) in [
        (&["--on-ask", "deny"][..], "denied", false),
        (&["--on-ask", "allow"], "allowed", true),
        (&["--read-only"], "unread", false),
    ] {
        let id = place.begin(flags, &format!("RUN touch {file}")).await;
        place.run(&["wait-and-result", &id]).await.expect_success();
        assert_eq!(place.path("repo").join(file).exists(), done, "{flags:?}");
    }
}

#[tokio::test]
async fn attaching_shows_what_goes_on_and_what_is_asked_until_the_end() {
    let place = Place::new();
    let id = place.begin(&[], "SAY so it begins\nRUN echo hello").await;
    let job = place.until(&id, "waiting").await;
    let attached = place.command(&["attach", &id]).spawn().unwrap();
    let ask = job["openAsks"][0].as_str().unwrap();
    place.run(&["allow", ask]).await.expect_success();
    let seen = end_of(attached, &["attach", &id]).await;
    seen.expect_success();
    assert!(seen.stdout.contains("so it begins"), "{seen:?}");
    assert!(seen.stderr.contains("echo hello"), "{seen:?}");
    assert!(
        seen.stderr.contains(&format!("Job {id} completed")),
        "{seen:?}"
    );
    // One that has ended is shown and left.
    let again = place.run(&["attach", &id]).await;
    assert!(
        again.expect_success().stdout.contains("so it begins"),
        "{again:?}"
    );
}

#[tokio::test]
async fn at_a_terminal_an_attached_persons_key_answers_the_ask() {
    let place = Place::new();
    let id = place.begin(&[], "RUN touch made").await;
    place.until(&id, "waiting").await;
    // `script` gives the command a terminal, and passes on what is typed.
    let attach = format!("{} attach {id}", env!("CARGO_BIN_EXE_countersign"));
    let mut at_terminal = place
        .command_of("script", &["-qefc", &attach, "/dev/null"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut keyboard = at_terminal.stdin.take().unwrap();
    let mut screen = at_terminal.stdout.take().unwrap();
    let mut seen = Vec::new();
    eventually(PATIENCE, "a key is asked for", async || {
        let mut bytes = [0; 4_096];
        let count = screen.read(&mut bytes).await.unwrap();
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&bytes[..count]);
        let shown = String::from_utf8_lossy(&seen);
        shown.contains("[a] allow once").then_some(())
    })
    .await;
    // Typed before the terminal reads single keys, it would be thrown away: so until it is answered.
    let typing = async {
        loop {
            // The command may have ended already.
            if keyboard.write_all(b"a").await.is_err() {
                std::future::pending::<()>().await;
            }
            place.run(&["status", &id]).await.expect_success();
        }
    };
    tokio::select! {
        () = typing => {}
        job = place.until(&id, "completed") => assert_eq!(job["openAsks"], serde_json::json!([])),
    }
    screen.read_to_end(&mut seen).await.unwrap();
    let ended = at_terminal.wait().await.unwrap();
    let shown = String::from_utf8_lossy(&seen);
    assert!(ended.success(), "{shown}");
    assert!(
        shown.contains("allowed once by ada at the command line"),
        "{shown}"
    );
    assert!(shown.contains(&format!("Job {id} completed")), "{shown}");
    assert!(place.path("repo/made").exists());
}

#[tokio::test]
async fn ctrl_c_cancels_a_task_that_somebody_waits_for_and_says_so() {
    let place = Place::new();
    // So that starting one takes no part in it.
    place.run(&["status"]).await.expect_success();
    let waiting = place
        .command(&["task", "--engine", "demo", "WAIT"])
        .spawn()
        .unwrap();
    let pid = waiting.id().unwrap();
    let id = eventually(PATIENCE, "the job runs", async || {
        let told = place.run(&["status", "--json"]).await.json();
        let job = &told["running"][0];
        (job["status"] == "running").then(|| job["id"].as_str().unwrap().to_owned())
    })
    .await;
    signal(pid, Signal::INT);
    let ended = end_of(waiting, &["task"]).await;
    ended.expect_code(1);
    assert!(
        ended.stderr.contains(&format!("Cancelling {id}")),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("Cancelled: Canceled by ada"),
        "{ended:?}"
    );
    assert_eq!(place.job(&id).await["status"], "cancelled");
}

#[tokio::test]
async fn a_failure_says_which_limit_it_was_and_what_to_do() {
    let place = Place::new();
    let late = ["task", "--engine", "demo", "--deadline", "1s", "WAIT"];
    let late = place.run(&late).await;
    late.expect_code(1);
    assert!(late.stderr.contains("Task failed: "), "{late:?}");
    assert!(late.stderr.contains("deadline"), "{late:?}");
    assert!(late.stderr.contains('→'), "{late:?}");
    let told = place.run(&["result", "--json"]).await.json();
    assert_eq!(told["job"]["status"], "failed");
    assert_eq!(told["job"]["failure"]["code"], "deadline");
    assert!(told["job"]["errorMessage"].is_string(), "{told}");
    // A variable of the companion's means the same.
    let place = Place::new().with("OPENCODE_PROMPT_TIMEOUT_MS", "900");
    let late = place.run(&["task", "--engine", "demo", "WAIT"]).await;
    late.expect_code(1);
    assert!(late.stderr.contains("deadline"), "{late:?}");

    let missing = place.run(&["task", "--engine", "nobody", "SAY"]).await;
    missing.expect_code(1);
    assert!(missing.stderr.contains("nobody"), "{missing:?}");
}

#[tokio::test]
async fn what_is_gone_on_with_is_never_a_job_that_ended_before_it_had_a_session() {
    let place = Place::new();
    let said = ["task", "--engine", "demo", "--json", "SAY one"];
    let first = place.run_in("elsewhere", &said).await;
    let first = first.expect_success().json();
    // There is no repository, so there is no worktree either.
    let failed = ["task", "--engine", "demo", "--worktree", "SAY two"];
    let failed = place.run_in("elsewhere", &failed).await;
    failed.expect_code(1);
    let again = [
        "task",
        "--engine",
        "demo",
        "--json",
        "--resume",
        "last",
        "SAY three",
    ];
    let resumed = place.run_in("elsewhere", &again).await;
    let resumed = resumed.expect_success().json();
    assert_eq!(resumed["job"]["session"], first["job"]["session"]);
    assert_eq!(resumed["job"]["resumeSessionId"], first["job"]["id"]);
}
