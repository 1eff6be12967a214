//! The program as the plugin's hooks call it: fast, silent where there is nothing to say, and never in anybody's way.

use std::path::Path;
use std::process::{Output, Stdio};

use countersign_testkit::eventually;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::stage::{BINARY, PATIENCE, repository};

/// A program that knows this data directory and these variables, and nothing else.
fn program(data: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut program = Command::new(BINARY);
    program
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("COUNTERSIGN_DATA", data)
        .envs(variables.iter().copied())
        .current_dir(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    program
}

/// What a hook says that is told `input`.
async fn hook(data: &Path, variables: &[(&str, &str)], event: &str, input: &[u8]) -> Output {
    let hook = program(data, variables, &["hook", event]).spawn();
    let mut hook = hook.expect("it can be started");
    let mut stdin = hook.stdin.take().expect("it is a pipe");
    // Who is told too much does not read it all.
    drop(stdin.write_all(input).await);
    drop(stdin);
    let ended = tokio::time::timeout(PATIENCE, hook.wait_with_output());
    let output = ended.await.expect("it ends").expect("it can be read");
    assert!(output.status.success(), "{output:?}");
    output
}

fn session(id: &str, directory: &Path) -> Vec<u8> {
    let told = json!({"session_id": id, "cwd": directory, "hook_event_name": "SessionStart", "source": "clear"});
    told.to_string().into_bytes()
}

#[tokio::test]
async fn what_a_hook_cannot_understand_it_passes_over() {
    let data = tempfile::tempdir().unwrap();
    let long = vec![b' '; 5 << 20];
    let events = [
        "session-start",
        "session-end",
        "post-tool-use",
        "subagent-stop",
        "stop",
    ];
    for event in events {
        for input in [&b""[..], b"{", b"[]", b"{}", b"\xff", &long] {
            let output = hook(data.path(), &[], event, input).await;
            assert!(output.stdout.is_empty(), "{event}: {output:?}");
        }
        // Whoever never ends what it says is not waited for.
        let mut stalled = program(data.path(), &[], &["hook", event]).spawn().unwrap();
        let ended = tokio::time::timeout(PATIENCE, stalled.wait()).await;
        assert!(ended.expect("it ends").unwrap().success());
    }
    // Nothing was kept, and no server was started.
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_cleared_session_goes_on_as_the_one_that_its_monitor_watches() {
    let data = tempfile::tempdir().unwrap();
    let pid = std::process::id().to_string();
    let file = data.path().join("environment.sh");
    let variables = [
        ("CLAUDE_PID", pid.as_str()),
        ("CLAUDE_ENV_FILE", file.to_str().unwrap()),
    ];
    for id in ["first-1", "first-1", "second-2"] {
        assert!(!file.exists(), "{id}");
        hook(
            data.path(),
            &variables,
            "session-start",
            &session(id, data.path()),
        )
        .await;
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written, "export COUNTERSIGN_SESSION_ID=first-1\n");
    // What a shell would read as more than a word is never written.
    hook(
        data.path(),
        &variables,
        "session-start",
        &session("x; touch y", data.path()),
    )
    .await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
}

#[tokio::test]
async fn a_server_that_a_session_started_knows_nothing_of_it() {
    let data = tempfile::tempdir().unwrap();
    let variables = [
        ("CLAUDE_CODE_MESSAGING_TOKEN", "not-for-others"),
        ("CLAUDE_CODE_SESSION_ID", "not-for-others"),
        ("COUNTERSIGN_SESSION_ID", "not-for-others"),
        ("ANTHROPIC_API_KEY", "for-agents"),
        ("COUNTERSIGN_IDLE_EXIT_S", "1"),
    ];
    let home = ("HOME", data.path().to_str().unwrap());
    let variables: Vec<_> = variables.into_iter().chain([home]).collect();
    let status = program(data.path(), &variables, &["status", "--json"]).output();
    let status = status.await.unwrap();
    assert!(status.status.success(), "{status:?}");
    let server = std::fs::read(data.path().join("server.json")).unwrap();
    let server: Value = serde_json::from_slice(&server).unwrap();
    let process = format!("/proc/{}", server["pid"]);
    let environment = std::fs::read(format!("{process}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(
        environment.contains("ANTHROPIC_API_KEY=for-agents"),
        "{environment}"
    );
    assert!(!environment.contains("not-for-others"), "{environment}");
    eventually(PATIENCE, "the server ends by itself", async || {
        (!Path::new(&process).exists()).then_some(())
    })
    .await;
}

/// Without the program, or with one that knows no hooks, nothing is refused and nobody is held up.
#[tokio::test]
async fn without_a_program_that_works_the_hooks_let_everything_pass() {
    let home = tempfile::tempdir().unwrap();
    let script = repository().join("plugins/claude-code/bin/countersign");
    let run = async |variables: &[(&str, &str)], arguments: &[&str]| {
        Command::new(&script)
            .args(arguments)
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", "/usr/bin:/bin")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap()
    };
    for variables in [&[][..], &[("COUNTERSIGN_BINARY", "/bin/false")]] {
        let start = run(variables, &["hook", "session-start"]).await;
        assert!(start.status.success());
        let said: Value = serde_json::from_slice(&start.stdout).unwrap();
        assert!(said["systemMessage"].is_string(), "{said}");
        for event in ["stop", "post-tool-use", "subagent-stop", "session-end"] {
            let output = run(variables, &["hook", event]).await;
            assert!(
                output.status.success() && output.stdout.is_empty(),
                "{event}: {output:?}"
            );
        }
    }
    assert_eq!(run(&[], &["status"]).await.status.code(), Some(127));
    // With the program, what it prints and how it ends is what comes back. A plugin's own script is never called for it.
    let own = script.parent().unwrap().to_str().unwrap();
    let folder = Path::new(BINARY).parent().unwrap().to_str().unwrap();
    let path = format!("{own}:{folder}:/usr/bin:/bin");
    let output = run(&[("PATH", &path)], &["--version"]).await;
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("countersign "));
    assert_eq!(
        run(&[("PATH", &path)], &["wait-and-result"])
            .await
            .status
            .code(),
        Some(1)
    );
}
