//! Writes values as YAML, as OpenWork's own server writes them: plain where that can be read back, in double quotes
//! where not, in a block if there are several lines, folded at eighty columns.

use serde_json::{Map, Value};

use super::scalar;

/// What one level is indented by.
const UNIT: &str = "  ";
/// Where lines are folded.
const WIDTH: usize = 80;

/// Writes the fields of a mapping, each on lines of its own.
pub(super) fn emit(fields: &Map<String, Value>) -> String {
    let mut text = String::new();
    mapping(&mut text, fields, "");
    text
}

fn mapping(text: &mut String, fields: &Map<String, Value>, indent: &str) {
    for (index, (key, value)) in fields.iter().enumerate() {
        if index > 0 {
            text.push_str(indent);
        }
        let key = key_text(key);
        text.push_str(&key);
        text.push(':');
        let inner = format!("{indent}{UNIT}");
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                text.push('\n');
                text.push_str(&inner);
                mapping(text, fields, &inner);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                text.push_str(&inner);
                sequence(text, items, &inner);
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {
                text.push(' ');
                text.push_str(&plain(value, &inner, key.chars().count() + 2));
                text.push('\n');
            }
        }
    }
}

fn sequence(text: &mut String, items: &[Value], indent: &str) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push_str(indent);
        }
        text.push_str("- ");
        let inner = format!("{indent}{UNIT}");
        match item {
            Value::Object(fields) if !fields.is_empty() => mapping(text, fields, &inner),
            Value::Array(items) if !items.is_empty() => sequence(text, items, &inner),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {
                text.push_str(&plain(item, &inner, 0));
                text.push('\n');
            }
        }
    }
}

/// Writes what is no collection, or an empty one. `taken` columns of the first line are taken already.
fn plain(value: &Value, indent: &str, taken: usize) -> String {
    match value {
        Value::String(text) => string(text, indent, taken),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

fn string(text: &str, indent: &str, taken: usize) -> String {
    if has_controls(text) {
        return double_quoted(text);
    }
    if text.contains('\n') {
        return block(text, indent).unwrap_or_else(|| quoted(text));
    }
    if can_be_plain(text) {
        fold(text, indent, taken)
    } else {
        quoted(text)
    }
}

fn key_text(key: &str) -> String {
    if has_controls(key) || key.contains('\n') {
        double_quoted(key)
    } else if can_be_plain(key) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

/// Whether one line can be written without quotes and be read back as the text it is.
fn can_be_plain(text: &str) -> bool {
    let first = |it: char| "\t ,[]{}#&*!|>'\"%@`".contains(it);
    let is_indicator = |it: char| it == '?' || it == '-';
    let mut characters = text.chars();
    let begins_well = match (characters.next(), characters.next()) {
        (None, _) => false,
        (Some(one), None) => !first(one) && !is_indicator(one),
        (Some(one), Some(two)) => {
            !first(one) && !(is_indicator(one) && (two == ' ' || two == '\t'))
        }
    };
    let ends_well = !text.ends_with(['\t', ' ', ':', '-']);
    let has_separator = [": ", ":\t", " #", "\t#"]
        .iter()
        .any(|separator| text.contains(separator));
    // A line of dashes ends the front matter, wherever it comes from.
    let is_marker = text.starts_with("---") || text.starts_with("...");
    begins_well && ends_well && !has_separator && !is_marker && scalar::is_text(text)
}

fn has_controls(text: &str) -> bool {
    let is_control = |it: char| it.is_control() && it != '\n' && it != '\t';
    // These end lines for some readers, or nothing at all for others.
    text.contains(|it| is_control(it) || matches!(it, '\u{2028}' | '\u{2029}' | '\u{feff}'))
}

/// In single quotes if there are double ones in it and no single ones, else in double ones.
fn quoted(text: &str) -> String {
    if text.contains('"') && !text.contains(['\'', '\n', '\t']) {
        format!("'{text}'")
    } else {
        double_quoted(text)
    }
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            it if u32::from(it) > 0xff && has_controls(it.encode_utf8(&mut [0; 4])) => {
                let code = format!("\\u{:04x}", u32::from(it));
                quoted.push_str(&code);
            }
            it if it.is_control() => {
                let code = format!("\\x{:02x}", u32::from(it));
                quoted.push_str(&code);
            }
            it => quoted.push(it),
        }
    }
    quoted.push('"');
    quoted
}

/// A block of lines as they are; nothing if white space at its ends would have to be told.
fn block(text: &str, indent: &str) -> Option<String> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let is_clear = !body.is_empty()
        && !body.starts_with([' ', '\t', '\n'])
        && !body.ends_with([' ', '\t', '\n']);
    if !is_clear {
        return None;
    }
    let mark = if body.len() < text.len() { "|" } else { "|-" };
    let mut block = mark.to_owned();
    for line in body.split('\n') {
        block.push('\n');
        if !line.is_empty() {
            block.push_str(indent);
            block.push_str(line);
        }
    }
    Some(block)
}

/// Breaks a line at single spaces so that it is no wider than it should be, if it can be broken.
fn fold(text: &str, indent: &str, taken: usize) -> String {
    let room = WIDTH + 1 - indent.len().min(WIDTH);
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= room {
        return text.to_owned();
    }
    let mut folded = String::with_capacity(text.len() + 16);
    let mut end = WIDTH.saturating_sub(taken.max(indent.len()));
    let mut written = 0;
    let mut space = None;
    for (index, character) in characters.iter().enumerate() {
        let is_blank = |it: Option<&char>| it.is_none_or(|it| *it == ' ' || *it == '\t');
        let before = index.checked_sub(1).and_then(|it| characters.get(it));
        if *character == ' ' && !is_blank(before) && !is_blank(characters.get(index + 1)) {
            space = Some(index);
        }
        if index >= end
            && let Some(at) = space.take()
        {
            folded.extend(&characters[written..at]);
            folded.push('\n');
            folded.push_str(indent);
            written = at + 1;
            end = at + room;
        }
    }
    folded.extend(&characters[written..]);
    folded
}
