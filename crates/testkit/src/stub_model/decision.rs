//! Decides what the model says next, from the request alone.

use std::time::Duration;

use serde_json::Value;

use super::arguments::shape;
use super::conversation::{last_user_text, offered_tool, offers_tools, tool_results};
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

/// One tool call, its arguments as JSON text.
#[derive(Debug)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// Returns the answer to `request`.
pub(super) fn decide(request: &Value) -> Decision {
    let prompt = last_user_text(request);
    if !offers_tools(request) {
        return Decision::plain(prompt, "Stub title");
    }
    let Some(mut script) = Script::parse(&prompt) else {
        return Decision::plain(prompt, "stub answer");
    };
    let step = script.step_after(tool_results(request).len());
    let due = script.steps.swap_remove(step);
    let calls = due
        .calls
        .into_iter()
        .map(|call| ToolCall::new(call, request));
    let completion = Completion {
        text: due.text,
        calls: calls.collect(),
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
    fn new(call: Call, request: &Value) -> Self {
        let id = format!("call_{:016x}", rand::random::<u64>());
        match call {
            Call::Json { tool, arguments } => Self {
                id,
                name: tool,
                arguments,
            },
            Call::Short { tool, argument } => {
                // A tool that is not on offer is called all the same: models do that too.
                let (name, schema) = offered_tool(request, &tool).unwrap_or((&tool, &Value::Null));
                Self {
                    id,
                    name: name.to_owned(),
                    arguments: shape(name, &argument, schema).to_string(),
                }
            }
        }
    }
}
