//! Reads what a completion request says: the prompt, the results since, the tools on offer.

use serde_json::Value;

/// Returns the text of the last user message of a completion request.
pub fn last_user_text(request: &Value) -> String {
    let messages = messages(request);
    messages
        .iter()
        .rev()
        .find(|message| message["role"] == "user")
        .map(|message| text(&message["content"]))
        .unwrap_or_default()
}

/// Returns the results of tool calls since the last user message, oldest first. Denials are among them.
pub fn tool_results(request: &Value) -> Vec<String> {
    let messages = messages(request);
    let prompt = messages
        .iter()
        .rposition(|message| message["role"] == "user");
    let since = prompt.map_or(messages, |at| &messages[at..]);
    since
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| text(&message["content"]))
        .collect()
}

/// Returns the tool of this name on offer, in whatever case: its exact name and the schema of its parameters.
pub(super) fn offered_tool<'a>(request: &'a Value, name: &str) -> Option<(&'a str, &'a Value)> {
    tools(request)
        .iter()
        .map(|tool| &tool["function"])
        .filter_map(|function| Some((function["name"].as_str()?, &function["parameters"])))
        .find(|(offered, _)| offered.eq_ignore_ascii_case(name))
}

/// Returns whether any tool is on offer. Without one it is a chore such as finding a title.
pub(super) fn offers_tools(request: &Value) -> bool {
    !tools(request).is_empty()
}

fn tools(request: &Value) -> &[Value] {
    request["tools"].as_array().map_or(&[], Vec::as_slice)
}

fn messages(request: &Value) -> &[Value] {
    request["messages"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns content as one text; it comes as a string or as a list of parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
