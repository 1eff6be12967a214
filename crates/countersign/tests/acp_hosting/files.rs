//! Files that agents have their host read and write: within the workspace, and written only with leave.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::stage::{DENIED, INVALID, NOT_FOUND, Stage, code};

#[tokio::test]
async fn a_file_is_read_whole_and_in_parts_and_the_transcript_says_so() {
    let mut stage = Stage::set().await;
    let path = stage.path("notes.txt");
    let whole = stage.read(1, json!({ "path": path })).await;
    assert_eq!(whole["result"]["content"], "one\ntwo\nthree\n");
    let part = stage
        .read(2, json!({ "path": path, "line": 2, "limit": 1 }))
        .await;
    assert_eq!(part["result"]["content"], "two\n");
    let missing = stage
        .read(3, json!({ "path": stage.path("none.txt") }))
        .await;
    assert_eq!(code(&missing), NOT_FOUND);
    symlink("/etc", stage.path("out")).expect("a link can be made");
    for (id, wrong) in [
        (4, json!({ "path": "notes.txt" })),
        (5, json!({ "path": "/etc/passwd" })),
        (6, json!({ "path": stage.path("out/passwd") })),
        (7, json!({ "path": stage.path("../config.toml") })),
        (8, json!({ "path": stage.path(".") })),
        (9, json!({ "path": 7 })),
        (10, json!({})),
    ] {
        let refused = stage.read(id, wrong.clone()).await;
        assert_eq!(code(&refused), INVALID, "{wrong}: {refused}");
    }
    stage.no_ask().await;
    let items = stage.items("fs/read_text_file").await;
    assert_eq!(items.len(), 8, "{items:#?}");
    assert_eq!(items[0]["status"], "completed");
    assert_eq!(items[2]["status"], "failed");
    stage.end().await;
}

#[tokio::test]
async fn a_write_that_nobody_was_asked_about_is_an_ask_with_the_whole_change() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "notes.txt", "one\n2\nthree\n").await;
    let ask = stage.asked().await;
    assert_eq!(ask["subject"]["tool"], "edit", "{ask}");
    assert_eq!(ask["subject"]["targets"], json!(["notes.txt"]));
    let patch = ask["subject"]["shown"][0]["patch"]
        .as_str()
        .unwrap_or_default();
    assert!(patch.contains("-two\n+2\n"), "{patch}");
    // Whatever waits, other things go on.
    let read = stage
        .read(2, json!({ "path": stage.path("notes.txt") }))
        .await;
    assert_eq!(read["result"]["content"], "one\ntwo\nthree\n");
    let settled = stage.allow(&ask).await;
    assert_eq!(settled["delivery"]["evidence"]["kind"], "written");
    let response = stage.puppet.response(1).await;
    assert!(
        response["result"].is_object() || response["result"].is_null(),
        "{response}"
    );
    assert!(response.get("error").is_none());
    assert_eq!(stage.content("notes.txt"), "one\n2\nthree\n");
    // What is there already needs no leave.
    stage.want_write(3, "notes.txt", "one\n2\nthree\n").await;
    assert!(stage.puppet.response(3).await.get("error").is_none());
    stage.no_ask().await;
    let items = stage.items("fs/write_text_file").await;
    assert_eq!(items.len(), 2, "{items:#?}");
    stage.end().await;
}

#[tokio::test]
async fn a_denied_write_gets_an_error_with_the_reason_and_nothing_is_written() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "new/file.txt", "mine").await;
    let ask = stage.asked().await;
    let answer = json!({ "answer": "deny", "reason": "not in this folder" });
    stage.answer(&ask, answer).await;
    let denied = stage.puppet.response(1).await;
    assert_eq!(code(&denied), DENIED);
    let message = denied["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("not in this folder"), "{message}");
    assert!(!stage.path("new").exists());
    // The reason was told; it does not follow as a prompt.
    let turn = stage.turn.clone();
    stage.puppet.end_turn(&turn, "end_turn").await;
    stage.server.api().turn_outcome(&stage.session).await;
    let items = stage.server.api().items(&stage.session).await;
    let prompts = items.iter().filter(|item| item["kind"] == "prompt").count();
    assert_eq!(prompts, 1, "{items:#?}");
    stage.server.stop().await;
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_asked_for_is_not_written() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "notes.txt", "mine").await;
    let ask = stage.asked().await;
    std::fs::write(stage.path("notes.txt"), "somebody else's").expect("it can be written");
    stage.allow(&ask).await;
    let failed = stage.puppet.response(1).await;
    let message = failed["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("has changed"), "{failed}");
    assert_eq!(stage.content("notes.txt"), "somebody else's");
    // Nor one that becomes a link while it is asked for.
    stage.want_write(2, "notes.txt", "mine").await;
    let ask = stage.asked().await;
    let outside = stage.path("../outside.txt");
    std::fs::write(&outside, "somebody else's").expect("it can be written");
    std::fs::remove_file(stage.path("notes.txt")).expect("it can be removed");
    symlink(&outside, stage.path("notes.txt")).expect("a link can be made");
    stage.allow(&ask).await;
    assert_ne!(code(&stage.puppet.response(2).await), 0);
    assert_eq!(
        std::fs::read_to_string(&outside).expect("it can be read"),
        "somebody else's"
    );
    stage.end().await;
}

#[tokio::test]
async fn what_was_just_allowed_is_written_without_a_second_ask_and_once() {
    let mut stage = Stage::set().await;
    stage.allowed_edit(100, "notes.txt", "two", "2").await;
    stage.want_write(1, "notes.txt", "one\n2\nthree\n").await;
    assert!(stage.puppet.response(1).await.get("error").is_none());
    assert_eq!(stage.content("notes.txt"), "one\n2\nthree\n");
    stage.no_ask().await;
    // A second write of the same file.
    stage.want_write(2, "notes.txt", "one\ntwo\nthree\n").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(2).await), DENIED);
    assert_eq!(stage.content("notes.txt"), "one\n2\nthree\n");
    stage.end().await;
}

#[tokio::test]
async fn what_is_only_nearly_what_was_allowed_is_asked() {
    let mut stage = Stage::set().await;
    std::fs::write(stage.path("other.txt"), "one\ntwo\nthree\n").expect("it can be written");
    stage.allowed_edit(100, "notes.txt", "two", "2").await;
    let near = [
        ("other.txt", "one\n2\nthree\n"),
        ("notes.txt", "one\n2\nthree\nand more\n"),
        ("notes.txt", "2"),
    ];
    for (id, (name, content)) in (1..).zip(near) {
        stage.want_write(id, name, content).await;
        let ask = stage.asked().await;
        stage.answer(&ask, json!({ "answer": "deny" })).await;
        assert_eq!(code(&stage.puppet.response(id).await), DENIED);
    }
    // The file is swapped for a link to another one.
    std::fs::rename(stage.path("notes.txt"), stage.path("moved.txt")).expect("it can be moved");
    symlink("other.txt", stage.path("notes.txt")).expect("a link can be made");
    stage.want_write(10, "notes.txt", "one\n2\nthree\n").await;
    let ask = stage.asked().await;
    assert_eq!(ask["subject"]["targets"], json!(["other.txt"]), "{ask}");
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(10).await), DENIED);
    std::fs::remove_file(stage.path("notes.txt")).expect("it can be removed");
    std::fs::rename(stage.path("moved.txt"), stage.path("notes.txt")).expect("it can be moved");
    // The tool call ends, and begins again.
    for (id, status) in [(11, "completed"), (12, "in_progress")] {
        let told = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call-100", "status": status,
        });
        stage.puppet.update(&told).await;
        stage.want_write(id, "notes.txt", "one\n2\nthree\n").await;
        let ask = stage.asked().await;
        stage.answer(&ask, json!({ "answer": "deny" })).await;
        assert_eq!(code(&stage.puppet.response(id).await), DENIED);
    }
    assert_eq!(stage.content("notes.txt"), "one\ntwo\nthree\n");
    assert_eq!(stage.content("other.txt"), "one\ntwo\nthree\n");
    stage.end().await;
}

#[tokio::test]
async fn what_was_denied_or_allowed_in_another_turn_is_asked_again() {
    let mut stage = Stage::set().await;
    let edit = stage.edit("c1", "notes.txt", "two", "2");
    let ask = stage.ask_leave(100, &edit).await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    stage.puppet.response(100).await;
    stage.want_write(1, "notes.txt", "one\n2\nthree\n").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(1).await), DENIED);
    stage.allowed_edit(101, "notes.txt", "two", "2").await;
    let turn = stage.turn.clone();
    stage.puppet.end_turn(&turn, "end_turn").await;
    stage.server.api().turn_outcome(&stage.session).await;
    stage.server.api().prompt(&stage.session, "Again.").await;
    stage.turn = stage.puppet.prompted().await;
    stage.want_write(2, "notes.txt", "one\n2\nthree\n").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    assert_eq!(code(&stage.puppet.response(2).await), DENIED);
    assert_eq!(stage.content("notes.txt"), "one\ntwo\nthree\n");
    stage.end().await;
}

#[tokio::test]
async fn a_rule_for_edits_answers_a_write_as_any_edit() {
    let mut stage = Stage::set().await;
    stage.want_write(1, "notes.txt", "first").await;
    let ask = stage.asked().await;
    let always = json!({ "answer": "allow_always", "scope": "session" });
    stage.answer(&ask, always).await;
    stage.puppet.response(1).await;
    stage.want_write(2, "notes.txt", "second").await;
    assert!(stage.puppet.response(2).await.get("error").is_none());
    assert_eq!(stage.content("notes.txt"), "second");
    stage.want_write(3, "other.txt", "third").await;
    let ask = stage.asked().await;
    stage.answer(&ask, json!({ "answer": "deny" })).await;
    stage.puppet.response(3).await;
    stage.end().await;
}
