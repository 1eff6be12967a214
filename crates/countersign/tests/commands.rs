//! Commands against a real server, and what a person reads when something is wrong.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use countersign_core::audit::{AuditEntry, Verifier};
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// A server whose one workspace has a folder `notes` and no engine of its own.
async fn server() -> TestServer {
    let server = Setup::new(BINARY, Engine::None).start().await;
    std::fs::create_dir(server.workspace().join("notes")).unwrap();
    server
}

/// A session with the demo agent, in which `text` was said.
async fn prompted(server: &TestServer, text: &str) -> String {
    let session = server.api().start_session_with("demo").await;
    server.api().prompt(&session, text).await;
    session
}

/// The id of the ask that follows when `text` is said.
async fn asked(server: &TestServer, text: &str) -> String {
    let session = prompted(server, text).await;
    let ask = server.api().wait_for_ask_of(&session).await;
    ask["id"].as_str().expect("an ask has an id").to_owned()
}

/// Says `text`, and makes sure that what it wants is done without anybody being asked.
async fn done_unasked(server: &TestServer, text: &str) {
    let session = prompted(server, text).await;
    let outcome = server.api().turn_outcome(&session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
}

async fn rules(server: &TestServer) -> Vec<Value> {
    let listed = server.cli(&["rules", "list", "--json"]).await;
    let listed = listed.expect_success().json();
    listed["rules"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_rule_is_made_listed_followed_and_taken_back() {
    let server = server().await;
    let none = server.cli(&["rules", "list"]).await;
    assert!(none.stderr.contains("No rule is in force"), "{none:?}");

    let add = ["rules", "add", "--tool", "edit", "--glob", "notes/**"];
    let added = server.cli(&[&add[..], &["--expires", "8h"]].concat()).await;
    added.expect_success();
    assert!(added.stdout.contains("like notes/**"), "{added:?}");
    let listed = server.cli(&["rules", "list"]).await;
    let row = listed.expect_success().stdout.lines().nth(1).unwrap();
    for word in [
        "allow",
        "workspace",
        "in 7 h",
        "ada",
        "edit",
        "like notes/**",
    ] {
        assert!(row.contains(word), "no `{word}` in {row}");
    }
    done_unasked(&server, "EDIT notes/a.txt one").await;
    let written = std::fs::read_to_string(server.workspace().join("notes/a.txt")).unwrap();
    assert_eq!(written.trim_end(), "one");

    let rule = rules(&server).await[0]["id"].as_str().unwrap().to_owned();
    let short = &rule[rule.len() - 8..];
    let revoked = server.cli(&["rules", "revoke", short]).await;
    assert!(revoked.expect_success().stdout.contains(&rule));
    let none = server.cli(&["rules", "list"]).await;
    assert!(none.stderr.contains("No rule is in force"), "{none:?}");
    let all = server.cli(&["rules", "list", "--all"]).await;
    assert!(all.stdout.contains("revoked"), "{all:?}");
    server.cli(&["rules", "revoke", short]).await.expect_code(5);
    asked(&server, "EDIT notes/a.txt two").await;
}

#[tokio::test]
async fn a_rule_that_cannot_be_is_refused_with_the_reason() {
    let server = server().await;
    let glob = ["rules", "add", "--tool", "bash", "--glob", "git *"];
    let refused = server.cli(&glob).await;
    refused.expect_code(2);
    assert!(refused.stderr.contains("exact text only"), "{refused:?}");
    let neither = server.cli(&["rules", "add", "--tool", "bash"]).await;
    neither.expect_code(2);
    let token = server.token("collaborator").await;
    let token = ("COUNTERSIGN_TOKEN", token.as_str());
    let exact = ["rules", "add", "--tool", "bash", "--exact", "git status"];
    let refused = server.cli_with(&[token], &exact).await;
    refused.expect_code(4);
    assert!(refused.stderr.contains("`administer`"), "{refused:?}");
    assert_eq!(rules(&server).await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_always_with_a_pattern_allows_what_is_like_it() {
    let server = server().await;
    let ask = asked(&server, "EDIT notes/a.txt one").await;
    // It has to be about what is asked.
    let other = ["allow", &ask, "--always", "--glob", "docs/**"];
    let refused = server.cli(&other).await;
    refused.expect_code(1);
    assert!(
        refused.stderr.contains("does not match what is asked here"),
        "{refused:?}"
    );
    server
        .cli(&["allow", &ask, "--glob", "notes/*"])
        .await
        .expect_code(2);
    let allow = [
        "allow",
        &ask,
        "--always",
        "--scope",
        "workspace",
        "--glob",
        "notes/*",
    ];
    let allowed = server.cli(&allow).await;
    allowed.expect_success();
    assert!(
        allowed
            .stdout
            .contains("allowed always for the workspace, everything like notes/*"),
        "{allowed:?}"
    );
    done_unasked(&server, "EDIT notes/b.txt two").await;
    assert!(server.workspace().join("notes/b.txt").is_file());
    asked(&server, "EDIT elsewhere.txt three").await;

    let ask = asked(&server, "RUN echo hello").await;
    let refused = server
        .cli(&["allow", &ask, "--always", "--glob", "echo *"])
        .await;
    refused.expect_code(1);
    assert!(refused.stderr.contains("exact text only"), "{refused:?}");
}

#[tokio::test]
async fn the_audit_is_listed_page_by_page_and_exported_whole() {
    let server = server().await;
    let ask = asked(&server, "RUN echo hello").await;
    server.cli(&["allow", &ask]).await.expect_success();
    server
        .cli(&["rules", "add", "--tool", "bash", "--exact", "ls"])
        .await
        .expect_success();

    let listed = server.cli(&["audit", "list"]).await;
    listed.expect_success();
    for action in ["ask.open", "ask.answer", "rule.make"] {
        assert!(listed.stdout.contains(action), "no {action} in {listed:?}");
    }
    assert!(listed.stdout.contains("person ada"), "{listed:?}");
    let page = server.cli(&["audit", "list", "--limit", "2"]).await;
    assert_eq!(page.expect_success().stdout.lines().count(), 3, "{page:?}");
    assert!(page.stderr.contains("--after 2"), "{page:?}");
    let rest = server
        .cli(&["audit", "list", "--after", "2", "--json"])
        .await;
    let rest = rest.expect_success().json();
    assert_eq!(rest["entries"][0]["seq"], 3, "{rest}");

    let verdict = server.cli(&["audit", "verify"]).await;
    assert!(
        verdict.expect_success().stdout.contains("whole"),
        "{verdict:?}"
    );
    let export = server.cli(&["audit", "export"]).await;
    let mut entries = 0;
    let mut chain = Verifier::default();
    for line in export.expect_success().stdout.lines() {
        let entry: AuditEntry = serde_json::from_str(line).unwrap();
        chain.check(&entry).expect("what is exported proves itself");
        entries += 1;
    }
    assert!(
        verdict.stdout.contains(&format!("{entries} entries")),
        "{entries} of {verdict:?}"
    );

    let token = server.token("collaborator").await;
    let token = ("COUNTERSIGN_TOKEN", token.as_str());
    for action in ["list", "verify", "export"] {
        let refused = server.cli_with(&[token], &["audit", action]).await;
        refused.expect_code(4);
    }
}

#[test]
fn each_shell_gets_completions_that_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let printed = Command::new(BINARY).args(["completions", shell]).output();
        let printed = printed.expect("the program can be started");
        assert!(printed.status.success(), "{shell}");
        let script = String::from_utf8(printed.stdout).unwrap();
        for word in ["allow", "doctor", "always", "rules"] {
            assert!(script.contains(word), "no `{word}` for {shell}");
        }
    }
    // The shell that is always there takes them.
    let completed = Command::new("bash")
        .args([
            "-c",
            "source <(\"$0\" completions bash) && COMP_WORDS=(countersign doc) COMP_CWORD=1 && \
             _countersign countersign doc countersign && echo \"${COMPREPLY[*]}\"",
            BINARY,
        ])
        .output()
        .expect("bash can be started");
    let completed = String::from_utf8_lossy(&completed.stdout).into_owned();
    assert_eq!(completed.trim(), "doctor");
}

fn program(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_engines_of_this_machine_are_listed_without_a_server() {
    let home = tempfile::tempdir().unwrap();
    let [programs, config] = ["programs", ".config/countersign"].map(|it| home.path().join(it));
    for folder in [&programs, &config] {
        std::fs::create_dir_all(folder).unwrap();
    }
    for name in ["opencode", "claude-agent-acp", "mine"] {
        program(&programs, name, "exit 1");
    }
    let mine = "[[agents]]\nname = 'mine'\ncommand = 'mine'\n";
    std::fs::write(config.join("config.toml"), mine).unwrap();
    let engines = |more: &[&str]| {
        let called = Command::new(BINARY)
            .args(["engines", "--json"])
            .args(more)
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", &programs)
            .env("COUNTERSIGN_TOKEN", "cs_0123456789")
            .output();
        called.expect("it can be started")
    };
    let listed = engines(&[]);
    assert!(listed.status.success(), "{listed:?}");
    let said = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(said.contains("No server is running here"), "{said}");
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let listed = listed["engines"].as_array().unwrap();
    let found = |name: &str| {
        let engine = listed.iter().find(|engine| engine["name"] == name);
        let program = &engine.unwrap_or_else(|| panic!("no {name}"))["program"];
        program.as_str().map(Path::new)
    };
    for name in ["opencode", "opencode-acp"] {
        assert_eq!(found(name), Some(programs.join("opencode").as_path()));
    }
    assert_eq!(
        found("claude"),
        Some(programs.join("claude-agent-acp").as_path())
    );
    assert_eq!(found("mine"), Some(programs.join("mine").as_path()));
    assert_eq!(found("demo"), Some(Path::new(BINARY)));
    assert_eq!(found("gemini"), None);

    // What a server elsewhere would find nobody knows here.
    let elsewhere = engines(&["--url", "http://127.0.0.1:1"]);
    assert_eq!(elsewhere.status.code(), Some(7), "{elsewhere:?}");
}

#[tokio::test]
async fn the_doctor_shows_no_secret_to_the_programs_that_it_looks_at() {
    let server = server().await;
    let folder = tempfile::tempdir().unwrap();
    for name in ["opencode", "node"] {
        let seen = folder.path().join(format!("{name}.env"));
        let script = format!("/usr/bin/env > '{}'; echo 1.18.33", seen.display());
        program(folder.path(), name, &script);
    }
    let path = folder.path().to_str().unwrap();
    let variables = [
        ("PATH", path),
        ("COUNTERSIGN_TOKEN", "cs_0123456789"),
        ("OPENCODE_SERVER_PASSWORD", "cs_0123456789"),
        ("DATABASE_URL", "postgres://ada:cs_0123456789@db"),
    ];
    let told = server.cli_with(&variables, &["doctor"]).await;
    assert!(told.stdout.contains("1.18.33 at "), "{told:?}");
    for name in ["opencode", "node"] {
        let seen = std::fs::read_to_string(folder.path().join(format!("{name}.env"))).unwrap();
        let seen: BTreeMap<&str, &str> = seen
            .lines()
            .filter_map(|line| line.split_once('='))
            .collect();
        assert_eq!(
            seen.get("PATH"),
            Some(&path),
            "{name} can find its own parts"
        );
        assert!(
            seen.values().all(|value| !value.contains("cs_")),
            "{seen:?}"
        );
        assert!(
            seen.keys().all(|name| !name.starts_with("COUNTERSIGN_")),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn a_workspace_that_cannot_be_used_is_told_with_what_to_do() {
    let server = server().await;
    let data = server.data().with_file_name("other-data");
    let data = ("COUNTERSIGN_DATA", data.to_str().unwrap());
    let file = server.workspace().join("file");
    std::fs::write(&file, "").unwrap();
    for (workspace, wrong, remedy) in [
        ("/nonexistent/folder", "is not there", "Check the path"),
        (file.to_str().unwrap(), "is not a folder", "Name the folder"),
    ] {
        let serve = ["serve", "--no-engine", "--workspace", workspace];
        let refused = server.cli_with(&[data], &serve).await;
        refused.expect_code(1);
        let said = &refused.stderr;
        assert!(said.contains(&format!("`{workspace}`")), "{said}");
        assert!(said.contains(wrong) && said.contains(remedy), "{said}");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_told_with_what_to_do() {
    let server = server().await;
    let data = server.data().with_file_name("other-data");
    let data = ("COUNTERSIGN_DATA", data.to_str().unwrap());
    let url = server.url();
    let (_, port) = url.rsplit_once(':').unwrap();
    let serve = ["serve", "--no-engine", "--port", port];
    let refused = server.cli_with(&[data], &serve).await;
    refused.expect_code(1);
    assert!(
        refused.stderr.contains(&format!(
            "port {port} is taken by another program. Choose another with `--port`"
        )),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_opencode_that_is_missing_is_told_with_what_to_do() {
    let server = Setup::new(BINARY, Engine::Missing).start().await;
    let engine = eventually(PATIENCE, "the engine is looked for", async || {
        let listed = server.api().get("/api/v1/workspaces").await;
        let engine = listed["workspaces"][0]["engine"].clone();
        (engine["state"] == "absent").then_some(engine)
    })
    .await;
    assert_eq!(
        engine["message"],
        "opencode was not found on the PATH. Install it with `npm install -g opencode-ai`; it is then found by itself."
    );
    let wanted = ["prompt", "--detach", "--engine", "opencode", "hello"];
    let refused = server.cli(&wanted).await;
    assert_ne!(refused.code, 0);
    assert!(
        refused.stderr.contains("`npm install -g opencode-ai`"),
        "{refused:?}"
    );
}
