//! The messages of one session and their parts. Every change is told of, as opencode tells it.

use serde::Serialize;
use serde_json::{Value, json};

use super::event_stream::Events;
use super::wire::{new_id, no_tokens, now, some_tokens};

#[derive(Debug)]
pub(super) struct Transcript {
    session: String,
    directory: String,
    messages: Vec<Message>,
    events: Events,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Message {
    info: Value,
    parts: Vec<Value>,
}

/// The tool call that an ask belongs to.
#[derive(Debug, Clone)]
pub(super) struct ToolCall {
    pub(super) message_id: String,
    pub(super) call_id: String,
}

/// How a tool call came out.
#[derive(Debug, Clone, Copy)]
pub(super) enum ToolEnd<'a> {
    Completed,
    Rejected { feedback: Option<&'a str> },
    Dismissed,
    Aborted,
}

impl Transcript {
    pub(super) fn new(session: &str, directory: &str, events: Events) -> Self {
        Self {
            session: session.to_owned(),
            directory: directory.to_owned(),
            messages: Vec::new(),
            events,
        }
    }

    /// Returns what `GET /session/:id/message` says, oldest first.
    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns what `GET /session/:id/message/:message` says.
    pub(super) fn message(&self, id: &str) -> Option<&Message> {
        self.messages
            .iter()
            .find(|message| message.info["id"] == id)
    }

    pub(super) fn has_message(&self, id: &str) -> bool {
        self.messages.iter().any(|message| message.info["id"] == id)
    }

    /// Returns whether the last message has called a tool.
    pub(super) fn ends_with_tools(&self) -> bool {
        let last = self.messages.last();
        last.is_some_and(|message| message.parts.iter().any(|part| part["type"] == "tool"))
    }

    pub(super) fn add_user_message(&mut self, id: &str, parts: &[Value]) {
        self.add_message(json!({
            "id": id,
            "sessionID": self.session,
            "role": "user",
            "time": {"created": now()},
            "agent": "build",
            "model": {"providerID": "stub", "modelID": "stub"},
        }));
        for part in parts {
            let mut part = part.clone();
            if part.get("id").is_none() {
                part["id"] = json!(new_id("prt"));
            }
            self.add_part(part);
        }
    }

    pub(super) fn add_assistant_message(&mut self, prompt: &str) {
        self.add_message(json!({
            "id": new_id("msg"),
            "sessionID": self.session,
            "parentID": prompt,
            "role": "assistant",
            "mode": "build",
            "agent": "build",
            "path": {"cwd": self.directory, "root": "/"},
            "cost": 0,
            "tokens": no_tokens(),
            "modelID": "stub",
            "providerID": "stub",
            "time": {"created": now()},
        }));
        self.add_part(json!({"id": new_id("prt"), "type": "step-start"}));
    }

    /// Streams a text.
    pub(super) fn say(&mut self, text: &str) {
        let part_id = new_id("prt");
        let start = json!({"start": now()});
        self.add_part(json!({"id": part_id, "type": "text", "text": "", "time": start}));
        let delta = json!({
            "sessionID": self.session,
            "messageID": self.last_message_id(),
            "partID": part_id,
            "field": "text",
            "delta": text,
        });
        self.publish("message.part.delta", delta);
        self.change_part("id", &part_id, |part| {
            part["text"] = json!(text);
            part["time"]["end"] = json!(now());
        });
    }

    /// Completes the last message; `finish` is `stop` or `tool-calls`.
    pub(super) fn complete_message(&mut self, finish: &str) {
        self.add_part(json!({
            "id": new_id("prt"),
            "type": "step-finish",
            "reason": finish,
            "tokens": some_tokens(),
            "cost": 0,
        }));
        self.change_message(|information| {
            information["finish"] = json!(finish);
            information["tokens"] = some_tokens();
            information["time"]["completed"] = json!(now());
        });
    }

    /// Breaks the last message off, and every tool that was running.
    pub(super) fn abort_message(&mut self, error: Value) {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        let open = parts.filter(|part| {
            matches!(
                part["state"]["status"].as_str(),
                Some("pending" | "running")
            )
        });
        let open: Vec<String> = open
            .filter_map(|part| part["callID"].as_str().map(str::to_owned))
            .collect();
        for call_id in open {
            self.end_tool(&call_id, ToolEnd::Aborted);
        }
        self.change_message(|information| {
            information["error"] = error;
            information["time"]["completed"] = json!(now());
        });
    }

    /// Shows the first sign of a tool call, which does not tell its input yet.
    pub(super) fn announce_tool(&mut self, tool: &str) -> ToolCall {
        let call = ToolCall {
            message_id: self.last_message_id(),
            call_id: new_id("call"),
        };
        self.add_part(json!({
            "id": new_id("prt"),
            "type": "tool",
            "tool": tool,
            "callID": call.call_id,
            "state": {"status": "pending", "input": {}, "raw": ""},
        }));
        call
    }

    /// Shows with which input a tool runs.
    pub(super) fn run_tool(&mut self, call_id: &str, input: &Value) {
        let running = json!({"status": "running", "input": input, "time": {"start": now()}});
        self.change_part("callID", call_id, |part| part["state"] = running);
    }

    /// Ends a tool call.
    pub(super) fn end_tool(&mut self, call_id: &str, end: ToolEnd<'_>) {
        self.change_part("callID", call_id, |part| {
            part["state"] = ended(&part["state"], end);
        });
    }

    /// Removes a tool call as if it had never been.
    pub(super) fn forget_tool(&mut self, call_id: &str) {
        for message in &mut self.messages {
            message.parts.retain(|part| part["callID"] != call_id);
        }
    }

    fn add_message(&mut self, information: Value) {
        self.messages.push(Message {
            info: information,
            parts: Vec::new(),
        });
        self.change_message(|_| {});
    }

    fn last_message_id(&self) -> String {
        let id = self
            .messages
            .last()
            .and_then(|message| message.info["id"].as_str());
        id.unwrap_or_default().to_owned()
    }

    /// Changes the last message and tells of it.
    fn change_message(&mut self, change: impl FnOnce(&mut Value)) {
        if let Some(message) = self.messages.last_mut() {
            change(&mut message.info);
            let properties = json!({"sessionID": self.session, "info": message.info});
            self.publish("message.updated", properties);
        }
    }

    /// Adds a part to the last message and tells of it.
    fn add_part(&mut self, mut part: Value) {
        part["sessionID"] = json!(self.session);
        part["messageID"] = json!(self.last_message_id());
        self.publish_part(&part);
        if let Some(message) = self.messages.last_mut() {
            message.parts.push(part);
        }
    }

    fn change_part(&mut self, key: &str, value: &str, change: impl FnOnce(&mut Value)) {
        let mut parts = self
            .messages
            .iter_mut()
            .flat_map(|message| &mut message.parts);
        if let Some(part) = parts.find(|part| part[key] == value) {
            change(part);
            let part = part.clone();
            self.publish_part(&part);
        }
    }

    fn publish_part(&self, part: &Value) {
        let properties = json!({"sessionID": self.session, "part": part, "time": now()});
        self.publish("message.part.updated", properties);
    }

    fn publish(&self, kind: &str, properties: Value) {
        self.events.publish(&self.directory, kind, properties);
    }
}

/// Returns the state of a tool call after its end.
fn ended(before: &Value, end: ToolEnd<'_>) -> Value {
    let input = &before["input"];
    let time = json!({"start": before["time"]["start"], "end": now()});
    let failed =
        |error: &str| json!({"status": "error", "input": input, "error": error, "time": time});
    let rejected = "The user rejected permission to use this specific tool call";
    match end {
        ToolEnd::Completed => json!({
            "status": "completed",
            "input": input,
            "output": "(no output)",
            "title": input["command"].as_str().unwrap_or_default(),
            "metadata": {"output": "(no output)", "exit": 0, "truncated": false},
            "time": time,
        }),
        ToolEnd::Rejected { feedback: None } => failed(&format!("{rejected}.")),
        ToolEnd::Rejected {
            feedback: Some(feedback),
        } => failed(&format!(
            "{rejected} with the following feedback: {feedback}"
        )),
        ToolEnd::Dismissed => failed("The user dismissed this question"),
        ToolEnd::Aborted => {
            let mut state = failed("Tool execution aborted");
            state["metadata"] = json!({"interrupted": true});
            state
        }
    }
}
