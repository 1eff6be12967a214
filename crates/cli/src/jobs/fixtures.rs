//! Jobs for the tests.

use countersign_api::JobView;
use countersign_core::time::Timestamp;
use serde_json::{Value, json};

/// Two minutes after the jobs were handed in.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_800_000_120_000_000);

/// A queued job, with `changes` made to its JSON.
pub(crate) fn view(changes: &Value) -> JobView {
    let mut view = json!({
        "id": "task-mi0jqlw9-abc123", "kind": "task", "state": "queued", "phase": "queued",
        "by": {"id": "actor_01jc0000000000000000000001", "kind": "person", "name": "ada"},
        "workspace": "ws_01jc0000000000000000000001", "workspace_path": "/srv/proj",
        "directory": "/srv/proj", "engine": "opencode", "on_ask": "wait", "access": "write",
        "title": "make the tests pass", "prompt": "make the tests pass", "priority": 0,
        "created_at": "2027-01-15T08:00:00Z", "changed_at": "2027-01-15T08:00:00Z",
        "idle_limit_seconds": 3600, "ask_expires_seconds": 1800, "open_asks": [],
        "may_cancel": true,
    });
    for (key, value) in changes.as_object().unwrap() {
        view[key] = value.clone();
    }
    serde_json::from_value(view).unwrap()
}
