//! Writes values as text.

use serde_json::Value;

/// How new text is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// What one level is indented by.
    pub(super) unit: String,
    /// How a line ends.
    pub(super) line_break: &'static str,
}

/// Writes a value over several lines, with two spaces for each level, as `JSON.stringify` does, and ends the line.
pub fn pretty(value: &Value) -> String {
    let layout = Layout {
        unit: "  ".to_owned(),
        line_break: "\n",
    };
    layout.lines(value, "") + "\n"
}

impl Layout {
    /// Writes a value over several lines, of which all but the first are indented by `indent`.
    pub(super) fn lines(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let separator = format!(",{}{inner}", self.line_break);
        let between = |open: char, items: Vec<String>, close: char| {
            let items = items.join(&separator);
            let line_break = self.line_break;
            format!("{open}{line_break}{inner}{items}{line_break}{indent}{close}")
        };
        match value {
            Value::Array(items) if !items.is_empty() => {
                let items = items.iter().map(|item| self.lines(item, &inner));
                between('[', items.collect(), ']')
            }
            Value::Object(map) if !map.is_empty() => {
                let pairs = map
                    .iter()
                    .map(|(key, value)| format!("{}: {}", quoted(key), self.lines(value, &inner)));
                between('{', pairs.collect(), '}')
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => value.to_string(),
        }
    }
}

/// Writes a value on one line.
pub(super) fn line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) if !map.is_empty() => {
            let pairs: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", quoted(key), line(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

pub(super) fn quoted(key: &str) -> String {
    Value::from(key).to_string()
}
