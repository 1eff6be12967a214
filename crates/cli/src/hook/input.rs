//! What Claude Code tells a hook, as far as it matters here. What is missing is empty: other versions tell less.

use serde::Deserialize;
use serde_json::Value;

/// What a hook is told.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    /// The session.
    pub(super) session_id: String,
    /// Where it works.
    pub(super) cwd: String,
    /// What happened, by Claude Code's name for it.
    pub(super) hook_event_name: String,
    /// Why the session began: `startup`, `resume`, `clear`, `compact`.
    pub(super) source: String,
    /// Whether the session goes on only because a hook held it up before.
    pub(super) stop_hook_active: bool,
    /// The last words before a stop.
    pub(super) last_assistant_message: Option<String>,
    /// What goes on beside the session: sub-agents, commands.
    pub(super) background_tasks: Vec<Value>,
    /// Which kind of sub-agent it is about, if it is about one.
    pub(super) agent_type: Option<String>,
    /// Which sub-agent it is about.
    pub(super) agent_id: String,
    /// Where the sub-agent's conversation is written.
    pub(super) agent_transcript_path: Option<String>,
    /// The tool that was used.
    pub(super) tool_name: String,
    /// What it was used with.
    #[serde(rename = "tool_input")]
    pub(super) used_with: Value,
    /// What came of it.
    pub(super) tool_response: Value,
    /// How it failed, if it did.
    pub(super) error: Option<String>,
}

impl Input {
    /// Reads what a hook was told; nothing if it cannot be understood.
    pub(super) fn read(text: &str) -> Option<Self> {
        let told: Value = serde_json::from_str(text).ok()?;
        // A list would be read as the fields in their order.
        told.as_object()?;
        serde_json::from_value(told).ok()
    }

    /// The texts that came of a tool, one a line where it told several.
    pub(super) fn tool_text(&self) -> String {
        let mut texts = Vec::new();
        gather(&self.tool_response, &mut texts);
        texts.extend(self.error.as_deref());
        texts.join("\n")
    }
}

/// Collects the texts that a tool gave back, and not those that it was called with.
fn gather<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| gather(value, texts)),
        Value::Object(fields) => {
            let told = fields.iter().filter(|(name, _)| *name != "prompt");
            told.for_each(|(_, value)| gather(value, texts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_is_empty_and_what_is_unknown_is_passed_over() {
        let input = Input::read(r#"{"session_id": "s", "effort": {"level": "high"}}"#).unwrap();
        assert_eq!(input.session_id, "s");
        assert!(!input.stop_hook_active && input.background_tasks.is_empty());
        assert!(Input::read("[]").is_none());
        assert!(Input::read(r#"{"session_id": 1}"#).is_none());
    }

    #[test]
    fn the_texts_of_a_tool_are_found_wherever_it_puts_them() {
        let input = Input {
            tool_response: json!({
                "stdout": "one", "prompt": "not this", "content": [{"type": "text", "text": "two"}],
            }),
            error: Some("three".to_owned()),
            ..Input::default()
        };
        let text = input.tool_text();
        for part in ["one", "two", "three"] {
            assert!(text.lines().any(|line| line == part), "{text}");
        }
        assert!(!text.contains("not this"));
    }
}
