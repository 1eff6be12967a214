//! What is wrong with a configuration, by the line and the column at which a person finds it.

use countersign_workspace::{Refusal, jsonc};
use serde_json::Value;

/// Something that is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in it, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// What is wrong with the configuration `text`.
pub(super) fn problems_in(text: &str) -> Vec<Problem> {
    match jsonc::parse(text) {
        Ok(Value::Object(_)) => Vec::new(),
        Ok(_) => vec![Problem {
            line: 1,
            column: 1,
            message: "the configuration must be an object".to_owned(),
        }],
        Err(refusal) => problems_of(text, &refusal),
    }
}

/// The places in `text` that a refusal names; nothing if it names none.
pub fn problems_of(text: &str, refusal: &Refusal) -> Vec<Problem> {
    let faults = refusal.details.as_ref().and_then(Value::as_array);
    let faults = faults.into_iter().flatten();
    faults
        .filter_map(|fault| {
            let offset = usize::try_from(fault.get("offset")?.as_u64()?).ok()?;
            let (line, column) = place(text, offset);
            Some(Problem {
                line,
                column,
                message: in_words(fault.get("code")?.as_str()?),
            })
        })
        .collect()
}

/// The line and the column of what is `offset` units of UTF-16 into a text.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let (mut line, mut column, mut units) = (1, 1, 0);
    for character in text.chars() {
        if units >= offset {
            break;
        }
        units += character.len_utf16();
        if character == '\n' {
            line += 1;
            column = 1;
        } else {
            column += 1;
        }
    }
    (line, column)
}

/// `CommaExpected` as people say it.
fn in_words(code: &str) -> String {
    let mut words = String::new();
    for letter in code.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_found_by_its_line_and_column_whatever_stands_before_it() {
        let text = "{\n  // größer 🌳\n  \"🌳\": 1\n  \"b\": 2\n}\n";
        let problems = problems_in(text);
        assert_eq!(
            problems,
            [Problem {
                line: 4,
                column: 3,
                message: "comma expected".to_owned()
            }]
        );
        assert!(problems_in("{\n  // a comment\n  \"a\": [1,],\n}\n").is_empty());
        assert_eq!(
            problems_in("[]")[0].message,
            "the configuration must be an object"
        );
    }
}
