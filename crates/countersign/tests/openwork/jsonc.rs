//! What a JSON file with comments means: its data and the set of its comments, whatever the white space.

use serde_json::Value;

/// The data and the sorted comments of `text`; nothing if it cannot be read.
pub(crate) fn meaning(text: &str) -> Option<(Value, Vec<String>)> {
    let mut plain = String::new();
    let mut comments = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if letter == '"' {
            let end = string_end(rest);
            plain.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            comments.push(rest[..end].trim().to_owned());
            rest = &rest[end..];
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |end| end + 2);
            comments.push(rest[..end].to_owned());
            rest = &rest[end..];
        } else {
            plain.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    let plain = without_trailing_commas(&plain);
    let plain = plain.trim_start_matches('\u{feff}').trim();
    let data = match plain {
        "" => Value::Null,
        plain => serde_json::from_str(plain).ok()?,
    };
    comments.sort();
    Some((data, comments))
}

/// Where the string ends that `text` begins with.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn without_trailing_commas(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = if letter == '"' {
            string_end(rest)
        } else {
            letter.len_utf8()
        };
        let closes = rest[length..].trim_start().starts_with(['}', ']']);
        if letter != ',' || !closes {
            kept.push_str(&rest[..length]);
        }
        rest = &rest[length..];
    }
    kept
}

#[test]
fn comments_and_commas_do_not_hide_the_data() {
    let (data, comments) = meaning("// a\n{ \"x\": \"//,}\", /* b */ \"y\": [1, ], }\n").unwrap();
    assert_eq!(data, serde_json::json!({ "x": "//,}", "y": [1] }));
    assert_eq!(comments, ["/* b */", "// a"]);
    assert!(meaning("{ nope").is_none());
}
