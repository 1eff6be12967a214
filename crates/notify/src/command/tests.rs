//! Commands as they are, and as they should not be.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use countersign_core::id::NotificationId;
use countersign_core::time::Timestamp;
use countersign_engine::process::tree::started_with;
use tempfile::TempDir;

use super::*;

const LIMIT: Duration = Duration::from_secs(30);

fn message() -> Message {
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    Message::test(NotificationId::generate(now), now)
}

fn script(directory: &TempDir, text: &str) -> CommandTarget {
    let program = directory.path().join("notify.sh");
    std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    CommandTarget {
        program,
        arguments: vec!["$HOME; rm -rf /nothing".to_owned()],
        inherit: Vec::new(),
    }
}

fn surroundings() -> Surroundings {
    Surroundings {
        own_environment: [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/home/ada"),
            ("COUNTERSIGN_TOKEN", "cs_secret"),
            ("UNRELATED", "x"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into(),
        workspaces: Vec::new(),
    }
}

async fn run(command: &CommandTarget, message: &Message, limit: Duration) -> Attempt {
    let ending = CancellationToken::new();
    command.run(message, &surroundings(), limit, &ending).await
}

fn failure(attempt: Attempt) -> Failure {
    match attempt {
        Attempt::Failed(failure) => failure,
        Attempt::Sent | Attempt::Gone(_) | Attempt::BrokenOff => panic!("{attempt:?}"),
    }
}

#[tokio::test]
async fn it_gets_the_message_on_its_input_and_its_arguments_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let text = format!(
        "{{ cat; echo \"$1\"; echo \"token=$COUNTERSIGN_TOKEN unrelated=$UNRELATED home=$HOME\"; pwd; }} > {}",
        seen.display()
    );
    let message = message();
    let attempt = run(&script(&directory, &text), &message, LIMIT).await;
    assert!(matches!(attempt, Attempt::Sent), "{attempt:?}");
    let seen = std::fs::read_to_string(seen).unwrap();
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(serde_json::from_str::<Message>(lines[0]).unwrap(), message);
    assert_eq!(
        lines[1..],
        [
            "$HOME; rm -rf /nothing",
            "token= unrelated= home=/home/ada",
            "/"
        ]
    );
}

#[tokio::test]
async fn what_it_printed_is_kept_by_its_end_when_it_fails() {
    let directory = tempfile::tempdir().unwrap();
    let text = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; printf 'the \\033[2Kend' >&2; exit 3";
    let failed = failure(run(&script(&directory, text), &message(), LIMIT).await);
    assert!(failed.problem.contains("exit status: 3"), "{failed:?}");
    assert!(!failed.lasting);
    let output = failed.output.unwrap();
    assert!(output.contains("the ⟨U+001B⟩[2Kend"), "{output}");
    assert!(output.contains("line 2999") && !output.contains("line 0\n"));
    assert!(output.len() <= 5_000);
}

#[tokio::test]
async fn one_that_ignores_the_request_to_end_and_detaches_others_is_gone_when_its_time_is_up() {
    let directory = tempfile::tempdir().unwrap();
    let text = "trap '' TERM; (trap '' TERM; sleep 1000) & setsid sh -c 'trap \"\" TERM; sleep 1000' & \
                echo started; while :; do sleep 1000; done";
    let message = message();
    let limit = Duration::from_secs(1);
    let begun = Instant::now();
    let failed = failure(run(&script(&directory, text), &message, limit).await);
    assert!(begun.elapsed() < Duration::from_secs(25));
    assert!(
        failed.problem.contains("did not end within 1 s"),
        "{failed:?}"
    );
    assert_eq!(failed.output.as_deref(), Some("started"));
    let left = started_with("COUNTERSIGN_NOTIFICATION", &message.id.to_string()).unwrap();
    assert_eq!(left, []);
}

#[tokio::test]
async fn what_one_leaves_running_when_it_ends_well_is_ended_too() {
    let directory = tempfile::tempdir().unwrap();
    let text = "setsid sleep 1000 & sleep 1000 & exit 0";
    let message = message();
    let attempt = run(&script(&directory, text), &message, LIMIT).await;
    assert!(matches!(attempt, Attempt::Sent), "{attempt:?}");
    let left = started_with("COUNTERSIGN_NOTIFICATION", &message.id.to_string()).unwrap();
    assert_eq!(left, []);
}

#[tokio::test]
async fn a_server_that_ends_takes_it_along() {
    let directory = tempfile::tempdir().unwrap();
    let command = script(&directory, "trap '' TERM; sleep 1000");
    let message = message();
    let ending = CancellationToken::new();
    ending.cancel();
    let attempt = command.run(&message, &surroundings(), LIMIT, &ending).await;
    assert!(matches!(attempt, Attempt::BrokenOff), "{attempt:?}");
    let left = started_with("COUNTERSIGN_NOTIFICATION", &message.id.to_string()).unwrap();
    assert_eq!(left, []);
}

#[tokio::test]
async fn what_an_agent_can_replace_is_never_run() {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let inside = script(&directory, &format!("touch {}", seen.display()));
    let outside = tempfile::tempdir().unwrap();
    let link = outside.path().join("link");
    std::os::unix::fs::symlink(&inside.program, &link).unwrap();
    let surroundings = Surroundings {
        workspaces: vec![directory.path().canonicalize().unwrap()],
        ..surroundings()
    };
    for program in [
        inside.program.as_path(),
        link.as_path(),
        Path::new("bin/notify.sh"),
    ] {
        let command = CommandTarget {
            program: program.to_owned(),
            ..inside.clone()
        };
        let ending = CancellationToken::new();
        let attempt = command.run(&message(), &surroundings, LIMIT, &ending).await;
        let failed = failure(attempt);
        assert!(failed.lasting, "{failed:?}");
        assert!(!seen.exists());
    }
    let missing = CommandTarget {
        program: "/nonexistent/notify".into(),
        ..inside
    };
    let failed = failure(run(&missing, &message(), LIMIT).await);
    assert!(!failed.lasting, "it may come back: {failed:?}");
}
