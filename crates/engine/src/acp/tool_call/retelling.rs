//! What is known of a tool call, told again in the protocol's own words: for somebody who did not hear the agent say it.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::acp::fields::Fields;
use crate::acp::tool_call::{FileChange, ToolCall, ToolCallChange, ToolContent};

#[derive(Serialize)]
struct Retelling<'a> {
    #[serde(rename = "toolCallId")]
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    title: &'a str,
    kind: &'a str,
    status: &'a str,
    #[serde(rename = "rawInput", skip_serializing_if = "Option::is_none")]
    input: Option<&'a RawValue>,
    content: Vec<Value>,
    locations: Vec<Value>,
}

impl ToolCall {
    /// All that is known of it before it runs, as the fields of an update.
    ///
    /// What it is given stays the very text that the agent wrote. What it gave back is left out: that is of no use to
    /// whoever decides whether it may run.
    pub fn retelling(&self) -> String {
        let content: Vec<Value> = self.content.iter().map(retell).collect();
        let locations: Vec<Value> = self
            .locations
            .iter()
            .map(|path| json!({ "path": path }))
            .collect();
        let told = Retelling {
            id: &self.id,
            name: self.name.as_deref(),
            title: &self.title,
            kind: &self.kind,
            status: &self.status,
            input: self.input.as_deref(),
            content,
            locations,
        };
        serde_json::to_string(&told).expect("what was read from JSON can be written as JSON")
    }
}

impl ToolCallChange {
    /// Reads what [`ToolCall::retelling`] wrote; nothing if it names no call.
    pub fn retold(text: &str) -> Option<Self> {
        Self::read(&Fields::read(text))
    }
}

fn retell(content: &ToolContent) -> Value {
    match content {
        ToolContent::Text(text) => {
            json!({ "type": "content", "content": { "type": "text", "text": text } })
        }
        ToolContent::Diff(FileChange { path, old, new }) => {
            json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
        }
        ToolContent::Terminal(id) => json!({ "type": "terminal", "terminalId": id }),
        ToolContent::Other(kind) => json!({ "type": kind }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::tool_call::ToolCalls;

    #[test]
    fn a_call_that_is_told_again_is_the_same_call() {
        let said = r#"{"toolCallId":"a","_meta":{"claudeCode":{"toolName":"Edit"}},"title":"T","kind":"edit",
            "status":"pending","rawInput":{"n":1.10,"n":2e400},"locations":[{"path":"/a"}],
            "content":[{"type":"diff","path":"/a","oldText":null,"newText":"x"},
                {"type":"content","content":{"type":"text","text":"words"}},
                {"type":"terminal","terminalId":"t"},{"type":"hologram"}]}"#;
        let (mut first, mut second) = (ToolCalls::default(), ToolCalls::default());
        let told = first.take(ToolCallChange::retold(said).unwrap());
        let again = second.take(ToolCallChange::retold(&told.retelling()).unwrap());
        assert_eq!(again.record(), told.record());
        assert_eq!(again.content, told.content);
        let input = again.input.as_ref().map(|input| input.get().to_owned());
        assert_eq!(input.as_deref(), Some(r#"{"n":1.10,"n":2e400}"#));
        assert!(ToolCallChange::retold("[]").is_none());
    }
}
