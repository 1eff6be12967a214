//! The audit: what was done stays known, and what somebody else wrote into the file is not believed.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::fixture;
use crate::server::{By, Server};

fn line(summary: &str, timestamp: i64) -> String {
    let entry = json!({
        "id": "1", "workspaceId": "ws", "actor": { "type": "remote", "tokenHash": "" }, "action": "plugins.add",
        "target": "opencode.json", "summary": summary, "timestamp": timestamp,
    });
    format!("{entry}\n")
}

fn summaries(audit: &Value) -> Vec<&str> {
    let items = audit["items"].as_array().unwrap().iter();
    items
        .map(|item| item["summary"].as_str().unwrap())
        .collect()
}

#[test]
fn old_lines_are_shown_and_forged_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("fixture");
    fixture::build(&root);
    let file = root.join("ws1/.opencode/openwork/audit.jsonl");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(
        &file,
        format!("{}not json\n{}", line("first", 1), line("second", 2)),
    )
    .unwrap();
    let server = Server::start_in(folder, &["--approval", "auto"]);
    assert_eq!(
        summaries(&server.get(&server.path("/audit"))),
        ["second", "first"]
    );
    assert_eq!(server.get(&server.path("/config"))["updatedAt"], 2);

    server.good(
        By::Client,
        "POST",
        &server.path("/plugins"),
        Some(&json!({ "spec": "x" })),
    );
    let mut copy = std::fs::File::options().append(true).open(&file).unwrap();
    copy.write_all(line("forged", i64::MAX).as_bytes()).unwrap();
    let expected = ["Added x", "second", "first"];
    assert_eq!(summaries(&server.get(&server.path("/audit"))), expected);
    let server = server.restart();
    assert_eq!(summaries(&server.get(&server.path("/audit"))), expected);
    let copied = std::fs::read_to_string(&file).unwrap();
    assert!(copied.lines().nth(3).unwrap().contains("Added x"));
}

#[test]
fn a_copy_that_cannot_be_written_does_not_hold_up_a_write() {
    let server = Server::start(&["--approval", "auto"]);
    let outside = server.root().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, server.root().join("ws1/.opencode/openwork")).unwrap();
    server.good(
        By::Client,
        "POST",
        &server.path("/plugins"),
        Some(&json!({ "spec": "x" })),
    );
    assert_eq!(
        std::fs::read_dir(&outside).unwrap().count(),
        0,
        "nothing leaves the workspace"
    );
    assert_eq!(summaries(&server.get(&server.path("/audit"))), ["Added x"]);
}
