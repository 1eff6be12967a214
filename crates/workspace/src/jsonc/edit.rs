//! Changes a text in place. One thing is changed at a time, and what comes of it is read again before the next.

use std::ops::Range;

use serde_json::{Map, Value};

use super::no_object;
use super::parse::{self, Node, NodeKind};
use super::place::{Container, Layout};
use super::print;
use crate::refusal::Refusal;

pub(super) fn set(text: &str, keys: &[&str], value: &Value) -> Result<String, Refusal> {
    let text = if parse::is_empty(text) {
        with_empty_object(text)
    } else {
        text.to_owned()
    };
    let root = parse::parse(&text)?;
    if !matches!(root.kind, NodeKind::Object(_)) {
        return Err(no_object());
    }
    assign_in(&text, &root, keys, value).map(end_line)
}

pub(super) fn remove(text: &str, keys: &[&str]) -> Result<String, Refusal> {
    if parse::is_empty(text) {
        return Ok(text.to_owned());
    }
    let removed = without(text, keys)?;
    Ok(if removed == text {
        removed
    } else {
        end_line(removed)
    })
}

/// Puts an empty object below the comments of a text that has nothing else.
fn with_empty_object(text: &str) -> String {
    let text = text.trim_end();
    if text.trim_start_matches('\u{feff}').is_empty() {
        format!("{text}{{}}\n")
    } else {
        format!("{text}\n{{}}\n")
    }
}

fn end_line(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push_str(Layout::of(&text).line_break);
    }
    text
}

/// Has the value at `keys` be `value`, changing as little as can be.
fn assign(text: &str, keys: &[&str], value: &Value) -> Result<String, Refusal> {
    assign_in(text, &parse::parse(text)?, keys, value)
}

/// The same in a text that was read as `root`.
fn assign_in(text: &str, root: &Node, keys: &[&str], value: &Value) -> Result<String, Refusal> {
    let mut node = root;
    for (index, key) in keys.iter().enumerate() {
        let NodeKind::Object(properties) = &node.kind else {
            return Ok(replace(text, node, &nested(&keys[index..], value)));
        };
        let Some(property) = node.property(key) else {
            let value = nested(&keys[index + 1..], value);
            let object = Container::of(node);
            return Ok(object.insert(text, properties.len(), Some(key), &value));
        };
        node = &property.value;
    }
    let old = node.value();
    if old == *value {
        return Ok(text.to_owned());
    }
    match (&node.kind, &old, value) {
        (NodeKind::Object(_), Value::Object(old), Value::Object(new)) if are_alike(old, new) => {
            assign_object(text, keys, old, new)
        }
        (NodeKind::Array(_), Value::Array(old), Value::Array(new)) => {
            Ok(assign_array(text, keys, node, old, new))
        }
        _ => Ok(replace(text, node, value)),
    }
}

/// Whether one object comes of the other; if nothing is common to them, what was said in the old one is over.
fn are_alike(old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    !new.is_empty() && (old.is_empty() || new.keys().any(|key| old.contains_key(key)))
}

fn assign_object(
    text: &str,
    keys: &[&str],
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    for gone in old.keys().filter(|key| !new.contains_key(*key)) {
        text = without(&text, &[keys, &[gone]].concat())?;
    }
    for (key, value) in new {
        text = assign(&text, &[keys, &[key]].concat(), value)?;
    }
    Ok(text)
}

/// Keeps the items that both have at their beginnings and ends, and changes those between.
fn assign_array(text: &str, keys: &[&str], node: &Node, old: &[Value], new: &[Value]) -> String {
    let common = old.iter().zip(new).take_while(|(one, other)| one == other);
    let head = common.count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let common = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = common.take_while(|(one, other)| one == other).count();
    if (head + tail == 0 && !old.is_empty()) || new.is_empty() {
        return replace(text, node, &Value::from(new));
    }
    let going = old.len() - head - tail;
    let coming = &new[head..new.len() - tail];
    let mut text = text.to_owned();
    for step in 0..going.max(coming.len()) {
        // What was just changed can be read: it was before, and every edit puts a whole value in.
        let changed = if step == 0 {
            None
        } else {
            match find(&text, keys) {
                Some(changed) => Some(changed),
                None => return text,
            }
        };
        let node = changed.as_ref().unwrap_or(node);
        let array = Container::of(node);
        text = match coming.get(step) {
            Some(value) if step < going => match &node.kind {
                NodeKind::Array(items) => replace(&text, &items[head + step], value),
                NodeKind::Object(_) | NodeKind::Plain(_) => return text,
            },
            Some(value) => array.insert(&text, head + step, None, value),
            None => array.remove(&text, head + coming.len()),
        };
    }
    text
}

fn find(text: &str, keys: &[&str]) -> Option<Node> {
    let root = parse::parse(text).ok()?;
    let node = keys.iter().try_fold(&root, |node, key| {
        node.property(key).map(|property| &property.value)
    })?;
    Some(node.clone())
}

/// Takes out every property under the last of `keys`.
fn without(text: &str, keys: &[&str]) -> Result<String, Refusal> {
    let Some((last, above)) = keys.split_last() else {
        return Ok(text.to_owned());
    };
    let mut text = text.to_owned();
    parse::parse(&text)?;
    while let Some(node) = find(&text, above) {
        let NodeKind::Object(properties) = &node.kind else {
            break;
        };
        let Some(index) = properties.iter().rposition(|it| it.key == *last) else {
            break;
        };
        text = Container::of(&node).remove(&text, index);
    }
    Ok(text)
}

/// The value inside objects, one for each key.
fn nested(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |value, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), value)]))
    })
}

/// Puts `value` in the place of another. What was on one line stays on one line.
fn replace(text: &str, node: &Node, value: &Value) -> String {
    let old = &text[node.at.clone()];
    let is_nested = matches!(node.kind, NodeKind::Object(_) | NodeKind::Array(_));
    let is_line = is_nested && old.len() > 2 && !old.contains(['\n', '\r']);
    let layout = Layout::of(text);
    let new = if is_line {
        print::line(value)
    } else {
        layout.lines(value, super::place::indent_at(text, node.at.start))
    };
    spliced(text, &[(node.at.clone(), new)])
}

/// Puts other texts in the place of ranges, which are in order and apart.
pub(super) fn spliced(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut result = String::with_capacity(text.len() + 64);
    let mut position = 0;
    for (range, new) in edits {
        result.push_str(&text[position..range.start]);
        result.push_str(new);
        position = range.end;
    }
    result.push_str(&text[position..]);
    result
}
