//! `watch`: the lines that monitors read.

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::place::{Place, end_of};

#[tokio::test]
async fn a_watched_job_is_told_line_by_line_up_to_its_result() {
    let place = Place::new().with("OPENCODE_MONITOR_RESULT_CHARS", "12");
    let id = place
        .begin(&[], "RUN echo hello\nSAY one two three four")
        .await;
    let job = place.until(&id, "waiting").await;
    let mut watching = place.command(&["watch", &id]).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let first = lines.next_line().await.unwrap().unwrap();
    assert!(
        first.contains(&format!("demo {id}: waiting/waiting (elapsed ")),
        "{first}"
    );
    assert!(first.contains(" — waiting for you: "), "{first}");
    let ask = job["openAsks"][0].as_str().unwrap();
    place.run(&["allow", ask]).await.expect_success();
    let mut last = first;
    while let Some(line) = lines.next_line().await.unwrap() {
        last = line;
    }
    assert!(
        last.contains(&format!("demo {id} TERMINAL=completed (elapsed ")),
        "{last}"
    );
    assert!(
        last.contains(&format!("more characters: `countersign result {id}`")),
        "{last}"
    );
    end_of(watching, &["watch"]).await.expect_success();

    // What has ended before is told too, once.
    let ended = place.run(&["watch", &id, "--json"]).await;
    let told = ended.expect_success().json();
    assert_eq!(
        (&told["event"], &told["status"]),
        (&"terminal".into(), &"completed".into())
    );
}

#[tokio::test]
async fn at_its_limit_watching_says_so_and_signs_of_life_come_before() {
    let place = Place::new();
    let id = place.begin(&[], "WAIT").await;
    place.until(&id, "running").await;
    let watched = ["watch", &id, "--limit", "3s", "--heartbeat", "1s"];
    let printed = place.run(&watched).await;
    let text = &printed.expect_code(2).stdout;
    assert!(text.contains(": heartbeat — still running/"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.contains(&format!("demo {id} TERMINAL=timeout — ")),
        "{text}"
    );
    place.run(&["watch", "task-nobody"]).await.expect_code(1);
}

#[tokio::test]
async fn who_watches_a_session_starts_no_server_and_hears_of_its_jobs_alone() {
    let place = Place::new();
    let watched = ["watch", "--session", "claude-1", "--limit", "none"];
    let mut watching = place.command(&watched).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut limited = place.command(&["watch", "--limit", "1s"]);
    let limited = end_of(limited.spawn().unwrap(), &["watch"]).await;
    assert!(
        limited
            .expect_code(2)
            .stdout
            .contains("countersign TERMINAL=timeout")
    );
    assert!(place.server().is_none(), "none was started");

    let other = place.begin(&["--session", "claude-2"], "WAIT").await;
    let own = place.begin(&["--session", "claude-1"], "WAIT").await;
    let first = lines.next_line().await.unwrap().unwrap();
    assert!(first.contains(&own), "{first}");
    place.run(&["cancel", &other]).await.expect_success();
    place.run(&["cancel", &own]).await.expect_success();
    let last = eventually(PATIENCE, "the end is told", async || {
        let line = lines.next_line().await.unwrap().unwrap();
        assert!(!line.contains(&other), "{line}");
        line.contains("TERMINAL=").then_some(line)
    })
    .await;
    assert!(
        last.contains(&format!("{own} TERMINAL=cancelled")),
        "{last}"
    );
    watching.kill().await.unwrap();
}
