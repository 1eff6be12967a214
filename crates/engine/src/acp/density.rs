//! JSON as a tree, if it is not too dense: each value of a tree takes a hundred times the memory of its text, so
//! that a line that is short enough to be read could still fill the memory.

use serde::de::Error as _;
use serde_json::Value;

/// The most values in one piece of JSON that becomes a tree; no message of the protocol comes near.
const VALUES: usize = 10_000;

/// The tree of `text`; an error if it is no JSON, or too dense.
pub(super) fn tree(text: &str) -> Result<Value, serde_json::Error> {
    if is_dense(text) {
        return Err(serde_json::Error::custom("it holds too many values"));
    }
    serde_json::from_str(text)
}

/// Whether `text`, which is JSON, holds more values than a tree may.
pub(super) fn is_dense(text: &str) -> bool {
    // Each value has at least one byte of its own, and one that parts it from the next.
    if text.len() < 2 * VALUES {
        return false;
    }
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values > VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_too_many_values_becomes_no_tree() {
        let dense = format!("[{}0]", r#"{"":0},"#.repeat(VALUES));
        assert!(tree(&dense).unwrap_err().to_string().contains("too many"));
        let sparse = format!("[{}0]", "0,".repeat(VALUES - 10));
        assert!(tree(&sparse).is_ok());
    }

    #[test]
    fn what_stands_in_a_text_is_no_value() {
        let long = serde_json::json!([r#"",{["\"#.repeat(VALUES)]).to_string();
        assert!(!is_dense(&long));
        assert!(tree(&long).is_ok());
    }
}
