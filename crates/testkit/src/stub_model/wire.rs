//! The APIs that the model is reached by: each module reads requests and writes answers, and decides nothing.

use serde_json::{Value, json};

use super::conversation::Conversation;
use super::decision::Completion;

mod chat;
mod gemini;
mod messages;
mod responses;

/// An API of a model vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// `OpenAI`'s chat completions, which most others speak too.
    Chat,
    /// `OpenAI`'s responses: codex.
    Responses,
    /// Anthropic's messages: claude.
    Messages,
    /// Google's generated content: gemini.
    Gemini,
}

/// A streamed answer, as server-sent events.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Up to the last word that is said: this much is sent before a fault.
    pub(super) said: Vec<String>,
    /// The calls and the end.
    pub(super) rest: Vec<String>,
}

impl Wire {
    /// Returns what a request says.
    pub(super) fn conversation(self, request: &Value) -> Conversation {
        match self {
            Self::Chat => chat::conversation(request),
            Self::Responses => responses::conversation(request),
            Self::Messages => messages::conversation(request),
            Self::Gemini => gemini::conversation(request),
        }
    }

    /// Returns an answer as a stream.
    pub(super) fn frames(self, completion: &Completion) -> Frames {
        match self {
            Self::Chat => chat::frames(completion),
            Self::Responses => responses::frames(completion),
            Self::Messages => messages::frames(completion),
            Self::Gemini => gemini::frames(completion),
        }
    }

    /// Returns an answer in one piece.
    pub(super) fn whole(self, completion: &Completion) -> Value {
        match self {
            Self::Chat => chat::whole(completion),
            Self::Responses => responses::whole(completion),
            Self::Messages => messages::whole(completion),
            Self::Gemini => gemini::whole(completion),
        }
    }

    /// Returns the body that goes with an error status.
    pub(super) fn refusal(self, code: u16) -> Value {
        let message = format!("stub error {code}");
        match self {
            Self::Chat | Self::Responses => {
                json!({"error": {"message": message, "type": "stub_error", "code": code}})
            }
            Self::Messages => {
                json!({"type": "error", "error": {"type": "api_error", "message": message}})
            }
            Self::Gemini => {
                json!({"error": {"code": code, "message": message, "status": "INTERNAL"}})
            }
        }
    }
}

/// Writes an event that has no name.
fn unnamed(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Writes an event that is named as the `type` in it.
fn named(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or("message");
    format!("event: {name}\ndata: {data}\n\n")
}

/// Returns the pieces in which a text is said.
fn words(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.into_iter().flat_map(|text| text.split_inclusive(' '))
}

/// Cuts a text in two, as the arguments of a call come from real models.
fn halves(text: &str) -> [&str; 2] {
    let (start, rest) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [start, rest]
}

/// Returns a fresh id.
fn fresh_id(prefix: &str) -> String {
    format!("{prefix}{:016x}", rand::random::<u64>())
}
