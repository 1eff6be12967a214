//! Commands: run without a shell, within their time, and gone with all that they started.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use serde_json::Value;
use tempfile::TempDir;

use crate::scene::Scene;

fn script(directory: &TempDir, text: &str) -> PathBuf {
    let program = directory.path().join("notify.sh");
    std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn command(program: &Path, more: &str) -> String {
    format!(
        "[[notify]]\nname = 'bell'\nkind = 'command'\ncommand = '{}'\nfirst_pause_s = 1\n{more}\n",
        program.display()
    )
}

/// The lines of a file that may not be there yet.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, fields)| !fields.trim_start().starts_with(['Z', 'X']))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_each_notification_on_its_input() {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let program = script(&directory, &format!("cat >> {}", seen.display()));
    let scene = Scene::with(&command(&program, "events = ['ask.opened']")).await;
    let asks = [scene.ask().await, scene.ask().await];
    scene.wait_for("sent", 2).await;
    let told: Vec<Value> = lines(&seen)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let subjects: Vec<_> = told.iter().map(|message| &message["subject"]).collect();
    assert_eq!(subjects, [&asks[0]["id"], &asks[1]["id"]]);
    let test = scene.server.cli(&["notifications", "test", "bell"]).await;
    assert_eq!(test.expect_success().stdout, "bell took it\n");
    assert!(lines(&seen)[2].contains("This is a test"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_command_is_gone_with_all_it_started_and_is_a_dead_letter_with_its_last_words() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let text = format!(
        "trap '' TERM\necho $$ >> {0}\n(trap '' TERM; sh -c 'echo $$ >> {0}; exec sleep 1000') &\n\
         setsid sh -c 'trap \"\" TERM; echo $$ >> {0}; exec sleep 1000' &\n\
         echo I stay; while :; do sleep 1000; done",
        pids.display()
    );
    let program = script(&directory, &text);
    let mut scene = Scene::with(&command(&program, "tries = 1\ntime_limit_s = 6")).await;
    scene.ask().await;
    let dead = scene.wait_for("dead", 1).await;
    let problem = dead[0]["problem"].as_str().unwrap();
    assert!(problem.contains("did not end within 6 s"), "{problem}");
    assert_eq!(dead[0]["output"], "I stay");
    let started = lines(&pids);
    assert_eq!(started.len(), 3, "{started:?}");
    for pid in &started {
        assert!(!is_alive(pid), "{pid} is alive");
    }

    // An orderly stop takes a command along that is being run.
    scene
        .server
        .cli(&["notifications", "retry", "--all"])
        .await
        .expect_success();
    eventually(PATIENCE, "it is run again", async || {
        (lines(&pids).len() == 6).then_some(())
    })
    .await;
    scene.server.stop().await;
    for pid in &lines(&pids) {
        assert!(!is_alive(pid), "{pid} is alive");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_server_left_of_a_command_is_ended_before_it_is_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let text = format!(
        "echo $$ >> {0}\n[ $(wc -l < {0}) -gt 1 ] && exit 0\ntrap '' TERM\nwhile :; do sleep 1000; done",
        pids.display()
    );
    let program = script(&directory, &text);
    let mut scene = Scene::with(&command(&program, "tries = 3\ntime_limit_s = 4")).await;
    scene.ask().await;
    eventually(PATIENCE, "it is run", async || {
        (lines(&pids).len() == 1).then_some(())
    })
    .await;
    scene.kill_and_restart().await;
    scene.wait_for("sent", 1).await;
    let started = lines(&pids);
    assert_eq!(started.len(), 2);
    for pid in &started {
        assert!(!is_alive(pid), "{pid} is alive");
    }
}
