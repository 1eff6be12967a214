//! JSON as a tree, if it is neither too dense nor too deep: each value of a tree takes a hundred times the memory of its
//! text, so that a line that is short enough to be read could still fill the memory; and what is nested as deeply as can
//! be read cannot be read any more once it is part of something else, such as an item of a transcript.

use serde::de::Error as _;
use serde_json::Value;

/// The most values in one piece of JSON that becomes a tree; no message of the protocol comes near.
const VALUES: usize = 10_000;
/// The most levels in it: 128 can be read, and whatever it becomes a part of has a few.
const LEVELS: usize = 110;

/// The tree of `text`; an error if it is no JSON, or too dense or too deep.
pub(super) fn tree(text: &str) -> Result<Value, serde_json::Error> {
    if is_dense(text) {
        return Err(serde_json::Error::custom(
            "it holds too many values, or too deep ones",
        ));
    }
    serde_json::from_str(text)
}

/// Whether `text`, which is JSON, holds more values or more levels than a tree may.
pub(super) fn is_dense(text: &str) -> bool {
    // Each level has at least two bytes of its own, and each value one, and one that parts it from the next.
    if text.len() < 2 * LEVELS {
        return false;
    }
    let (mut values, mut level, mut in_string, mut escaped) = (1, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b',' => values += 1,
            b'[' | b'{' => {
                values += 1;
                level += 1;
                if level > LEVELS {
                    return true;
                }
            }
            b']' | b'}' => level = level.saturating_sub(1),
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
    fn what_is_nested_too_deeply_becomes_no_tree() {
        let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert!(
            tree(&nested(LEVELS + 1))
                .unwrap_err()
                .to_string()
                .contains("too deep")
        );
        assert!(tree(&nested(LEVELS)).is_ok());
        let beside = format!("[{}{{}}]", "[[]],".repeat(LEVELS));
        assert!(tree(&beside).is_ok(), "one after the other is not deep");
    }

    #[test]
    fn what_stands_in_a_text_is_no_value() {
        let long = serde_json::json!([r#"",{["\"#.repeat(VALUES)]).to_string();
        assert!(!is_dense(&long));
        assert!(tree(&long).is_ok());
    }
}
