//! Changes of JSON that leave it JSON, for the most part: what gets past the first look.

use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};

use super::words;
use crate::corpus::Corpus;

/// The deepest that a value is wrapped: more than any reader goes.
const DEEPEST: usize = 200;
/// How much a swollen value has, in items and in bytes.
const SWOLLEN_ITEMS: usize = 40_000;
const SWOLLEN_BYTES: usize = 600_000;

/// Makes one change somewhere in `value`.
pub(super) fn change(value: &mut Value, corpus: &Corpus, dice: &mut StdRng) {
    let other = any_part(&mut corpus.pick(dice).clone(), dice).take();
    let part = any_part(value, dice);
    match dice.random_range(0..11) {
        0 | 1 => *part = words::value(dice),
        2 => *part = other,
        3 => *part = wrapped(part.take(), dice.random_range(1..=DEEPEST), dice.random()),
        4 => *part = json!([part.clone(), part.take()]),
        5 => *part = json!({ words::word(dice): part.take() }),
        6 => *part = json!(words::word(dice)),
        7 => *part = json!(part.to_string()),
        8 => {
            if let Some(fields) = part.as_object_mut()
                && let Some(name) = any_name(fields, dice)
            {
                fields.remove(&name);
            }
        }
        9 => {
            if let Some(fields) = part.as_object_mut() {
                let name = any_name(fields, dice).unwrap_or_default();
                let moved = fields.remove(&name).unwrap_or_default();
                fields.insert(words::word(dice).to_owned(), moved);
            }
        }
        _ => match part {
            Value::Array(items) if !items.is_empty() => {
                let copy = items[dice.random_range(0..items.len())].clone();
                items.insert(dice.random_range(0..=items.len()), copy);
            }
            Value::Object(fields) => {
                fields.insert(words::word(dice).to_owned(), other);
            }
            Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {
                *part = other;
            }
        },
    }
}

/// Makes one change that a tree of values cannot hold: a name twice, a number of any length, broken JSON.
pub(super) fn change_text(text: &mut String, dice: &mut StdRng) {
    let names: Vec<usize> = text.match_indices("\":").map(|(place, _)| place).collect();
    let Some(end) = (!names.is_empty()).then(|| names[dice.random_range(0..names.len())]) else {
        return;
    };
    let Some(begin) = text[..end].rfind('"') else {
        return;
    };
    let name = text[begin + 1..end].to_owned();
    let raw = words::raw(dice);
    if dice.random() {
        text.insert_str(begin, &format!("\"{name}\":{raw},"));
    } else {
        text.insert_str(end + 2, raw);
    }
}

/// Makes one part of `value` enormous.
pub(super) fn swell(value: &mut Value, dice: &mut StdRng) {
    let names = [
        "rawInput",
        "content",
        "options",
        "params",
        "update",
        "questions",
        "locations",
        "error",
        "entries",
    ];
    let wanted = names[dice.random_range(0..names.len())];
    let part = named_part(value, wanted);
    let item = match dice.random_range(0..6) {
        0 => json!({ "": 0 }),
        1 => json!([]),
        2 => {
            json!({ "type": "diff", "path": "a", "oldText": "a\nb\nc\nd\n".repeat(60), "newText": "d\ne\nf\n".repeat(60) })
        }
        3 => json!({ "type": "content", "content": { "type": "text", "text": "a" } }),
        4 => {
            json!({ "optionId": "a", "kind": "allow_once", "path": "a", "question": "a", "label": "a" })
        }
        _ => part.clone(),
    };
    let most = (SWOLLEN_BYTES / item.to_string().len().max(1)).min(SWOLLEN_ITEMS);
    let many = Value::Array(vec![item; dice.random_range(0..=most)]);
    *part = match dice.random_range(0..4) {
        0 => wrapped(many, dice.random_range(1..=100), dice.random()),
        1 => json!({ "questions": many }),
        2 => json!("a\n".repeat(dice.random_range(0..SWOLLEN_BYTES))),
        _ => many,
    };
}

fn wrapped(value: Value, depth: usize, in_objects: bool) -> Value {
    (0..depth).fold(value, |inner, _| {
        if in_objects {
            json!({ "a": inner })
        } else {
            json!([inner])
        }
    })
}

/// The first part with this name, or the whole.
fn named_part<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    for place in [
        "/params/update",
        "/params/toolCall",
        "/params/subject",
        "/params",
        "/result",
        "",
    ] {
        if value
            .pointer(place)
            .is_some_and(|part| part.get(name).is_some())
        {
            let part = value.pointer_mut(place).and_then(|part| part.get_mut(name));
            return part.expect("it was just there");
        }
    }
    value
}

/// Any part of a value, or all of it. Parts that are deep are as likely as others.
fn any_part<'a>(value: &'a mut Value, dice: &mut StdRng) -> &'a mut Value {
    if dice.random_ratio(1, 6) {
        return value;
    }
    let count = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    if count == 0 {
        return value;
    }
    let index = dice.random_range(0..count);
    let part = match value {
        Value::Array(items) => items.get_mut(index),
        Value::Object(fields) => fields.values_mut().nth(index),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    any_part(part.expect("there are that many"), dice)
}

fn any_name(fields: &Map<String, Value>, dice: &mut StdRng) -> Option<String> {
    let count = fields.len();
    (count > 0)
        .then(|| dice.random_range(0..count))
        .and_then(|index| fields.keys().nth(index).cloned())
}
