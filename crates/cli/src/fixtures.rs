//! Asks for the tests.

use countersign_api::AskView;
use serde_json::{Value, json};

use countersign_core::time::Timestamp;

/// Two minutes after the asks were opened.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_800_000_120_000_000);

/// An open ask about `subject`, with `changes` made to its JSON.
pub(crate) fn ask(subject: &Value, summary: &str, changes: &Value) -> AskView {
    let mut view = json!({
        "id": "ask_01jc0000000000000000k3v9qa",
        "workspace": "ws_01jc0000000000000000000001",
        "door": "opencode",
        "run": "run_01jc0000000000000000000001",
        "session": "session_01jc0000000000000000000001",
        "requester": "build",
        "directory": "/srv/proj",
        "subject": subject,
        "summary": summary,
        "raw": {},
        "options": [],
        "opened_at": "2027-01-15T08:00:00.000000Z",
        "digest": "ab".repeat(32),
        "likeness": "cd".repeat(32),
        "state": "open",
        "siblings": [],
        "may_answer": true,
    });
    for (key, value) in changes.as_object().unwrap() {
        view[key] = value.clone();
    }
    serde_json::from_value(view).unwrap()
}

/// An ask for leave to run `command`.
pub(crate) fn bash(command: &str, changes: &Value) -> AskView {
    let subject = json!({
        "kind": "permission",
        "tool": "bash",
        "targets": [command],
        "shown": [{"kind": "command", "text": command}],
    });
    ask(&subject, command, changes)
}

/// What ada said, one minute before [`NOW`].
pub(crate) fn answer_by_ada(choice: &Value) -> Value {
    let mut answer = json!({
        "by": {"id": "actor_01jc0000000000000000000001", "kind": "person", "name": "ada"},
        "surface": "web",
        "at": "2027-01-15T08:01:00.000000Z",
    });
    for (key, value) in choice.as_object().unwrap() {
        answer[key] = value.clone();
    }
    answer
}
