//! Decides what the model says next, from the request alone.

use std::time::Duration;

use serde_json::Value;

use super::arguments::{shape, unescape};
use super::conversation::{Conversation, Input};
use super::script::{Call, Fault, Script};

/// What to answer, and which place in which script it comes from.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) completion: Completion,
    pub(super) prompt: String,
    pub(super) step: usize,
}

/// One assistant message, ready to be written.
#[derive(Debug, Default)]
pub(super) struct Completion {
    pub(super) text: Option<String>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) fault: Option<Fault>,
    pub(super) pause: Duration,
}

/// One tool call.
#[derive(Debug)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Arguments,
}

/// What a tool is called with.
#[derive(Debug)]
pub(super) enum Arguments {
    /// An object as JSON text: what was asked for, also if it is none.
    Json(String),
    /// The plain text that a freeform tool takes.
    Text(String),
}

/// Returns what to say in `conversation`.
pub(super) fn decide(conversation: &Conversation) -> Decision {
    let prompt = conversation.prompt.clone();
    // Without a tool it is a chore such as finding a title.
    if conversation.tools.is_empty() {
        return Decision::plain(prompt, "Stub title");
    }
    let Some(mut script) = Script::parse(&prompt) else {
        return Decision::plain(prompt, "stub answer");
    };
    let step = script.step_after(conversation.results.len());
    let mut due = script.steps.swap_remove(step);
    if script.echoes && due.calls.is_empty() {
        due.text = conversation.results.last().cloned().or(due.text);
    }
    let calls = due.calls.into_iter();
    let completion = Completion {
        text: due.text,
        calls: calls
            .map(|call| ToolCall::new(call, conversation))
            .collect(),
        fault: due.fault,
        pause: script.pause,
    };
    Decision {
        completion,
        prompt,
        step,
    }
}

impl Decision {
    fn plain(prompt: String, text: &str) -> Self {
        let completion = Completion {
            text: Some(text.to_owned()),
            ..Completion::default()
        };
        Self {
            completion,
            prompt,
            step: 0,
        }
    }
}

impl ToolCall {
    fn new(call: Call, conversation: &Conversation) -> Self {
        let id = format!("call_{:016x}", rand::random::<u64>());
        // A tool that is not on offer is called all the same: models do that too.
        let (name, arguments) = match call {
            Call::Json { tool, arguments } => {
                let input = conversation.tool_named(&tool).map(|tool| &tool.input);
                let arguments = match input {
                    Some(Input::Freeform) => Arguments::Text(freeform(&arguments)),
                    Some(Input::Schema(_)) | None => Arguments::Json(arguments),
                };
                (tool, arguments)
            }
            Call::Short { tool, argument } => {
                let offered = conversation.tool(&tool);
                let name = offered.map_or(tool, |tool| tool.name.clone());
                let shaped = |schema| Arguments::Json(shape(&name, &argument, schema).to_string());
                let arguments = match offered.map(|tool| &tool.input) {
                    Some(Input::Freeform) => Arguments::Text(unescape(&argument)),
                    Some(Input::Schema(schema)) => shaped(schema),
                    None => shaped(&Value::Null),
                };
                (name, arguments)
            }
        };
        Self {
            id,
            name,
            arguments,
        }
    }
}

impl Arguments {
    /// Returns the arguments as they are written.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Json(text) | Self::Text(text) => text,
        }
    }

    /// Returns the arguments for an API that has no room for broken ones.
    pub(super) fn to_json(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_else(|_| Value::String(self.text().to_owned()))
    }
}

/// Returns the text in an object that stands for the arguments of a freeform tool.
fn freeform(arguments: &str) -> String {
    let object: Value = serde_json::from_str(arguments).unwrap_or_default();
    let text = object["input"].as_str();
    text.unwrap_or(arguments).to_owned()
}
