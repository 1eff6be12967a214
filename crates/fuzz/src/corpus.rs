//! What fuzzing begins with: every message that real agents were recorded with, and one of each that they were not.

use std::path::Path;

use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};

/// What stands for the session in a stream; the reader and the dispatcher take it as it is.
pub(crate) const SESSION: &str = "$SESSION";

/// Messages of agents, each one line.
#[derive(Debug, Clone)]
pub struct Corpus {
    messages: Vec<Value>,
}

impl Corpus {
    /// Reads the recorded transcripts of the repository, and adds what is not in them.
    pub fn read() -> anyhow::Result<Self> {
        let directory =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/acp/transcripts");
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&directory)? {
            paths.push(entry?.path());
        }
        paths.sort();
        let mut messages = Vec::new();
        for path in paths {
            for line in std::fs::read_to_string(path)?.lines() {
                messages.push(serde_json::from_str(line)?);
            }
        }
        anyhow::ensure!(!messages.is_empty(), "there are no recorded transcripts");
        messages.extend(invented());
        for message in &mut messages {
            if let Some(session) = message.pointer_mut("/params/sessionId") {
                *session = json!(SESSION);
            }
        }
        Ok(Self { messages })
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Any message.
    pub fn pick(&self, dice: &mut StdRng) -> &Value {
        &self.messages[dice.random_range(0..self.messages.len())]
    }
}

/// What the transcripts do not have: questions, every kind of update, every kind of response, and what is refused.
fn invented() -> Vec<Value> {
    let mut messages: Vec<Value> = updates().iter().map(update).collect();
    messages.extend(requests());
    messages.extend(responses());
    messages
}

fn update(update: &Value) -> Value {
    let params = json!({ "sessionId": SESSION, "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
}

fn updates() -> Vec<Value> {
    let words = json!({ "type": "text", "text": "Working on it. " });
    vec![
        json!({ "sessionUpdate": "agent_message_chunk", "messageId": "m1", "content": words }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "resource", "resource": { "uri": "file:///a", "text": "b" } } }),
        json!({ "sessionUpdate": "agent_thought_chunk", "content": words }),
        json!({ "sessionUpdate": "user_message", "content": [words, { "type": "image", "data": "" }] }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c1", "name": "edit", "kind": "edit", "status": "pending",
            "title": "Edit main.rs", "locations": [{ "path": "/srv/work/main.rs", "line": 3 }],
            "content": [{ "type": "diff", "path": "/srv/work/main.rs", "oldText": "a\nb\n", "newText": "a\nc\n" }] }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
            "rawOutput": { "output": "done", "exitCode": 0 } }),
        json!({ "sessionUpdate": "plan", "entries": [
            { "content": "Look", "priority": "high", "status": "completed" },
            { "content": "Change", "priority": "low", "status": "pending" } ] }),
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": [
            { "name": "init", "description": "Begin", "input": { "hint": "where" } } ] }),
        json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }),
        json!({ "sessionUpdate": "config_option_update", "configOptions": [
            { "id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "a",
              "options": [{ "value": "a", "name": "A" }, { "name": "Group", "options": [{ "value": "b" }] }] },
            { "id": "fast", "type": "boolean", "currentValue": true } ] }),
        json!({ "sessionUpdate": "session_info_update", "title": "Fix the build" }),
        json!({ "sessionUpdate": "usage_update", "used": 1200, "size": 200_000, "cost": { "amount": 0.1, "currency": "USD" } }),
        json!({ "sessionUpdate": "notice", "severity": "warning", "title": "Slow", "description": "The model is slow" }),
        json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" }),
    ]
}

fn requests() -> Vec<Value> {
    let request = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let options = json!([
        { "optionId": "yes", "name": "Allow", "kind": "allow_once" },
        { "optionId": "always", "name": "Always", "kind": "allow_always" },
        { "optionId": "no", "name": "Deny", "kind": "reject_once" },
        { "optionId": "never", "name": "Never", "kind": "reject_always" },
    ]);
    let asking = |id: Value, call: Value| {
        let params = json!({ "sessionId": SESSION, "toolCall": call, "options": options });
        request(id, "session/request_permission", params)
    };
    let schema = json!({ "type": "object", "required": ["name", "size"], "properties": {
        "name": { "type": "string", "title": "Name" },
        "size": { "type": "integer", "minimum": 1, "maximum": 9 },
        "ratio": { "type": "number" },
        "sure": { "type": "boolean" },
        "colour": { "type": "string", "oneOf": [{ "const": "r", "title": "Red" }, { "const": "g", "title": "Green" }] },
        "days": { "type": "array", "items": { "type": "string", "enum": ["mon", "tue"] } },
    } });
    vec![
        asking(
            json!(7),
            json!({ "toolCallId": "c2", "kind": "execute", "rawInput": { "command": "cargo test", "cwd": "/srv/work" } }),
        ),
        asking(
            json!("a-7"),
            json!({ "toolCallId": "c3", "name": "shell", "rawInput": { "command": ["rm", "-rf", "a b"] } }),
        ),
        asking(json!(8), json!({ "toolCallId": "c1" })),
        asking(
            json!(9),
            json!({ "toolCallId": "c4", "name": "ExitPlanMode", "rawInput": { "plan": "1. Look" } }),
        ),
        asking(
            json!(10),
            json!({ "toolCallId": "c5", "rawInput": { "questions": [
            { "header": "H", "question": "Which?", "multiSelect": true, "options": [{ "label": "A", "description": "a" }] } ] } }),
        ),
        request(
            json!(null),
            "session/request_permission",
            json!({ "sessionId": SESSION,
            "title": "Run it", "subject": { "type": "command", "command": "make", "cwd": "/srv" }, "options": options }),
        ),
        request(
            json!(11),
            "elicitation/create",
            json!({ "sessionId": SESSION, "mode": "form",
            "message": "Fill this in", "requestedSchema": schema }),
        ),
        request(
            json!(12),
            "elicitation/create",
            json!({ "sessionId": SESSION, "mode": "url",
            "message": "Go there", "url": "https://example.com/" }),
        ),
        request(
            json!(13),
            "fs/read_text_file",
            json!({ "sessionId": SESSION, "path": "/etc/passwd" }),
        ),
        request(
            json!(14),
            "fs/write_text_file",
            json!({ "sessionId": SESSION, "path": "/srv/work/a", "content": "b" }),
        ),
        request(
            json!("t"),
            "terminal/create",
            json!({ "sessionId": SESSION, "command": "true", "args": [] }),
        ),
        request(json!(-1.5), "no/such_method", json!({})),
    ]
}

fn responses() -> Vec<Value> {
    let result = |id: &str, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    vec![
        result(
            "initialize",
            json!({ "protocolVersion": 1, "agentInfo": { "name": "a", "version": "1" },
            "agentCapabilities": { "loadSession": true, "promptCapabilities": { "image": true },
            "sessionCapabilities": { "resume": {}, "list": {} } }, "authMethods": [{ "id": "login", "name": "Log in" }] }),
        ),
        result(
            "initialize",
            json!({ "protocolVersion": 2, "info": { "name": "a", "version": "1" },
            "capabilities": { "session": { "prompt": { "image": {} } } } }),
        ),
        result(
            "session/new",
            json!({ "sessionId": "s", "modes": { "currentModeId": "a",
            "availableModes": [{ "id": "a", "name": "A" }] } }),
        ),
        result(
            "session/list",
            json!({ "sessions": [{ "sessionId": "s", "cwd": "/srv/work",
            "title": "t", "updatedAt": "2026-11-15T18:43:57Z" }], "nextCursor": "c" }),
        ),
        result("prompt", json!({ "stopReason": "end_turn" })),
        result("prompt", json!({ "messageId": "m" })),
        json!({ "jsonrpc": "2.0", "id": "prompt", "error": { "code": -32000, "message": "Sign in", "data": { "a": 1 } } }),
        json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": 7 } }),
    ]
}
