use proptest::prelude::*;
use serde_json::json;

use super::*;

fn change(fields: &Value) -> ToolCallChange {
    ToolCallChange::read(&Fields::read(&fields.to_string())).unwrap()
}

#[test]
fn pieces_are_joined_and_later_ones_win() {
    let mut calls = ToolCalls::default();
    calls.take(change(&json!({
        "toolCallId": "a", "_meta": { "claudeCode": { "toolName": "Bash" } },
        "title": "Terminal", "kind": "execute", "status": "pending", "rawInput": {}, "content": [],
    })));
    calls.take(change(
        &json!({ "toolCallId": "a", "title": "ls", "rawInput": { "command": "ls" } }),
    ));
    let call = calls.take(change(
        &json!({ "toolCallId": "a", "rawInput": {}, "status": "completed" }),
    ));
    assert_eq!(call.name.as_deref(), Some("Bash"));
    assert_eq!((call.title.as_str(), call.kind.as_str()), ("ls", "execute"));
    assert_eq!(call.known_input(), Some(json!({ "command": "ls" })));
    assert_eq!(call.standing(), ToolStatus::Completed);
}

#[test]
fn a_call_that_nobody_heard_of_begins_with_its_update() {
    let mut calls = ToolCalls::default();
    let call = calls.take(change(
        &json!({ "toolCallId": "late", "status": "in_progress" }),
    ));
    assert_eq!(call.standing(), ToolStatus::Running);
    assert_eq!(calls.unfinished().count(), 1);
}

#[test]
fn what_is_shown_is_read_whatever_it_is() {
    let mut calls = ToolCalls::default();
    let call = calls.take(change(&json!({
        "toolCallId": "a",
        "content": [
            { "type": "diff", "path": "/srv/a", "oldText": null, "newText": "x" },
            { "type": "diff", "path": "/srv/a" },
            { "type": "content", "content": { "type": "text", "text": "words" } },
            { "type": "hologram" },
            7,
        ],
        "locations": [{ "path": "/srv/a", "line": 3 }, {}],
        "rawOutput": { "output": "done" },
    })));
    assert_eq!(call.changes().count(), 1);
    assert_eq!(call.words().collect::<Vec<_>>(), ["words"]);
    assert_eq!(call.locations, ["/srv/a"]);
    assert_eq!(call.content.len(), 5);
}

#[test]
fn a_call_becomes_an_item_of_the_transcript() {
    let mut calls = ToolCalls::default();
    let call = calls.take(change(&json!({
        "toolCallId": "a", "name": "exec_command", "status": "failed", "rawInput": { "command": "ls" },
        "rawOutput": { "stdout": "no such file" },
    })));
    assert_eq!(
        call.item(),
        Item::Tool {
            tool: "exec_command".to_owned(),
            status: ToolStatus::Failed,
            input: json!({ "command": "ls" }),
            output: "no such file".to_owned(),
            changes: Vec::new(),
            child: None,
        }
    );
}

#[test]
fn memory_is_bounded_and_calls_that_go_on_are_kept_longest() {
    let mut calls = ToolCalls::default();
    calls.take(change(
        &json!({ "toolCallId": "open", "status": "in_progress" }),
    ));
    for number in 0..2_000 {
        let id = format!("call {number}");
        calls.take(change(&json!({ "toolCallId": id, "status": "completed" })));
    }
    assert_eq!(calls.calls.len(), CALLS);
    assert!(calls.get("open").is_some());
    for number in 0..20 {
        let id = format!("big {number}");
        let text = "x".repeat(WEIGHT / 4);
        calls.take(change(
            &json!({ "toolCallId": id, "rawInput": { "text": text } }),
        ));
        assert!(calls.weight <= WEIGHT);
        assert!(calls.get(&id).is_some());
    }
}

proptest! {
    #[test]
    fn the_weight_is_always_that_of_what_is_kept(
        news in proptest::collection::vec((0_u8..6, any::<bool>(), 0_usize..400), 0..24)
    ) {
        let mut calls = ToolCalls::within(4, 1000);
        for (id, ended, size) in news {
            let status = if ended { "completed" } else { "pending" };
            calls.take(change(&json!({
                "toolCallId": id.to_string(), "status": status, "rawInput": "x".repeat(size),
            })));
            prop_assert_eq!(calls.weight, calls.calls.values().map(ToolCall::weight).sum::<usize>());
            prop_assert_eq!(calls.order.len(), calls.calls.len());
        }
    }
}
