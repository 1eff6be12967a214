//! Front matter: YAML between two lines of dashes at the head of a Markdown file.

mod emit;
mod read;
mod scalar;

use serde_json::{Map, Value};

use crate::refusal::Refusal;

/// What the front matter of a file says, in the order in which it says it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrontMatter {
    fields: Map<String, Value>,
}

impl FrontMatter {
    /// Takes a text apart into its front matter, which may be nothing, and what follows.
    pub fn split(content: &str) -> Result<(Self, &str), Refusal> {
        let Some((yaml, body)) = cut(content) else {
            return Ok((Self::default(), content));
        };
        let fields = match read::read(yaml) {
            Ok(Value::Object(fields)) => fields,
            Ok(Value::Null) => Map::new(),
            Ok(_) => return Err(invalid("it is no mapping")),
            Err(reason) => return Err(invalid(&reason)),
        };
        Ok((Self { fields }, body))
    }

    /// Everything that it says.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The text under `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    /// The truth value under `key`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.fields.get(key).and_then(Value::as_bool)
    }

    /// Has it say `value` under `key`: where it said something else, or at the end.
    pub fn set(&mut self, key: &str, value: Value) {
        self.fields.insert(key.to_owned(), value);
    }

    /// Writes it with its lines of dashes; nothing if it says nothing.
    pub fn write(&self) -> String {
        if self.fields.is_empty() {
            return String::new();
        }
        format!("---\n{}---\n", emit::emit(&self.fields))
    }
}

/// The YAML of a text that begins with front matter, and what follows it.
fn cut(content: &str) -> Option<(&str, &str)> {
    let rest = content.strip_prefix("---")?;
    let yaml = without_line_break(rest)?;
    let mut from = 0;
    loop {
        let end = from + yaml[from..].find("\n---")?;
        let after = &yaml[end + "\n---".len()..];
        let inside = yaml[..end].strip_suffix('\r').unwrap_or(&yaml[..end]);
        let body = without_line_break(after);
        // Dashes with something behind them are no end.
        if body.is_some() || after.is_empty() {
            return Some((inside, body.unwrap_or(after)));
        }
        from = end + 1;
    }
}

fn without_line_break(text: &str) -> Option<&str> {
    text.strip_prefix("\r\n")
        .or_else(|| text.strip_prefix('\n'))
}

fn invalid(reason: &str) -> Refusal {
    Refusal::unprocessable(
        "invalid_frontmatter",
        format!("The front matter is not valid YAML: {reason}"),
    )
}

#[cfg(test)]
mod tests;
