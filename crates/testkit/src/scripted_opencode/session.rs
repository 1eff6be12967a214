//! One session of the scripted opencode: the turn that is running, and the prompts behind it.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::VERSION;
use super::event_stream::Events;
use super::transcript::Transcript;
use super::wire::{new_id, no_tokens, now};

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) directory: String,
    pub(super) turn: Option<Turn>,
    pub(super) transcript: Transcript,
    information: Value,
    queued: VecDeque<Prompt>,
    events: Events,
}

/// What runs between a prompt and idleness.
#[derive(Debug)]
pub(super) struct Turn {
    /// The user message that it answers.
    prompt: String,
    /// Whether a plain rejection has ended it.
    pub(super) is_stopped: bool,
    /// Whether it goes on until it is aborted.
    pub(super) is_held: bool,
}

/// A prompt as it came in.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub(super) message_id: String,
    pub(super) parts: Vec<Value>,
}

impl Prompt {
    /// Returns its text, one part after the other.
    pub(super) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| part["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Session {
    /// Creates a session from the body of `POST /session`, in which a test can also name its id.
    pub(super) fn create(body: &Value, directory: &str, events: Events) -> Self {
        let id = body["id"]
            .as_str()
            .map_or_else(|| new_id("ses"), str::to_owned);
        let mut information = json!({
            "id": id,
            "slug": "scripted-session",
            "projectID": "global",
            "directory": directory,
            "path": directory.trim_start_matches('/'),
            "cost": 0,
            "tokens": no_tokens(),
            "title": body["title"].as_str().unwrap_or("New session"),
            "version": VERSION,
            "time": {"created": now(), "updated": now()},
        });
        for key in ["parentID", "permission", "agent", "model", "metadata"] {
            if let Some(value) = body.get(key) {
                information[key] = value.clone();
            }
        }
        let session = Self {
            transcript: Transcript::new(&id, directory, events.clone()),
            id,
            directory: directory.to_owned(),
            turn: None,
            information,
            queued: VecDeque::new(),
            events,
        };
        session.publish_information("session.created");
        session
    }

    /// Returns what `GET /session/:id` says.
    pub(super) fn information(&self) -> &Value {
        &self.information
    }

    /// Appends rules, as `PATCH /session/:id` does.
    pub(super) fn append_rules(&mut self, rules: &[Value]) {
        let existing = self.information.get_mut("permission");
        match existing.and_then(Value::as_array_mut) {
            Some(existing) => existing.extend_from_slice(rules),
            None => self.information["permission"] = json!(rules),
        }
        self.publish_information("session.updated");
    }

    /// Takes a prompt in, and returns it when its turn is to begin now. One that is known already changes nothing.
    pub(super) fn accept(&mut self, prompt: Prompt) -> Option<Prompt> {
        if self.transcript.has_message(&prompt.message_id) {
            return None;
        }
        self.transcript
            .add_user_message(&prompt.message_id, &prompt.parts);
        if self.turn.is_some() {
            self.queued.push_back(prompt);
            return None;
        }
        Some(prompt)
    }

    /// Begins the turn of a prompt that was accepted.
    pub(super) fn begin(&mut self, prompt: &str) {
        self.turn = Some(Turn {
            prompt: prompt.to_owned(),
            is_stopped: false,
            is_held: false,
        });
        self.publish_status(&json!({"type": "busy"}));
        self.transcript.add_assistant_message(prompt);
    }

    /// Ends the turn, and returns the prompt that was queued behind it. Closing words come first, unless a
    /// rejection has stopped it.
    pub(super) fn finish_turn(&mut self) -> Option<Prompt> {
        let turn = self.turn.take()?;
        let has_tools = self.transcript.ends_with_tools();
        if has_tools {
            self.transcript.complete_message("tool-calls");
        }
        if !turn.is_stopped {
            if has_tools {
                self.transcript.add_assistant_message(&turn.prompt);
            }
            self.transcript.say("DONE");
            self.transcript.complete_message("stop");
        }
        let queued = self.queued.pop_front();
        if queued.is_none() {
            self.publish_idle();
        }
        queued
    }

    /// Aborts the turn and forgets what was queued. What was asked stays asked: opencode does not clean up.
    pub(super) fn abort(&mut self) {
        if self.turn.take().is_none() {
            self.publish_idle();
            return;
        }
        self.queued.clear();
        let error = json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}});
        let properties = json!({"sessionID": self.id, "error": error});
        self.events
            .publish(&self.directory, "session.error", properties);
        self.publish_idle();
        self.transcript.abort_message(error);
        // The second announcement is opencode's own.
        self.publish_idle();
    }

    fn publish_information(&self, kind: &str) {
        let properties = json!({"sessionID": self.id, "info": self.information});
        self.events.publish(&self.directory, kind, properties);
    }

    fn publish_idle(&self) {
        self.publish_status(&json!({"type": "idle"}));
        let properties = json!({"sessionID": self.id});
        self.events
            .publish(&self.directory, "session.idle", properties);
    }

    fn publish_status(&self, status: &Value) {
        let properties = json!({"sessionID": self.id, "status": status});
        self.events
            .publish(&self.directory, "session.status", properties);
    }
}
