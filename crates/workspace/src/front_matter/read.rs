//! Reads YAML as values: one document, keys that come once, aliases as often as is sensible.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::scalar;

/// How many values one text may come to, aliases counted.
const VALUES: usize = 100_000;
/// How deep values may lie in each other.
const DEPTH: usize = 100;

/// What `yaml` says, or what is wrong with it.
pub(super) fn read(yaml: &str) -> Result<Value, String> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(yaml) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        reader.take(event)?;
    }
    Ok(reader.whole.unwrap_or(Value::Null))
}

#[derive(Debug, Default)]
struct Reader {
    /// What is open, from the outside in.
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    values: usize,
    whole: Option<Value>,
}

/// A collection that has not ended.
#[derive(Debug)]
struct Open {
    anchor: usize,
    collection: Collection,
}

#[derive(Debug)]
enum Collection {
    Sequence(Vec<Value>),
    Mapping(Map<String, Value>, Option<String>),
}

impl Reader {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar_value(&text, style, tag.as_deref());
                self.put(anchor, value)
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, Collection::Sequence(Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.begin(anchor, Collection::Mapping(Map::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(ended) => {
                    let value = match ended.collection {
                        Collection::Sequence(items) => Value::Array(items),
                        Collection::Mapping(map, _) => Value::Object(map),
                    };
                    self.put(ended.anchor, value)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned();
                self.put(0, value.ok_or("an alias of what has not ended")?)
            }
            Event::DocumentStart(_) if self.whole.is_some() => {
                Err("there is more than one document".to_owned())
            }
            Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::StreamStart
            | Event::StreamEnd
            | Event::Nothing => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, collection: Collection) -> Result<(), String> {
        if self.open.len() == DEPTH {
            return Err("values lie too deep in each other".to_owned());
        }
        self.open.push(Open { anchor, collection });
        Ok(())
    }

    fn put(&mut self, anchor: usize, value: Value) -> Result<(), String> {
        self.values += size(&value);
        if self.values > VALUES {
            return Err("it says too much".to_owned());
        }
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut().map(|open| &mut open.collection) {
            None => self.whole = Some(value),
            Some(Collection::Sequence(items)) => items.push(value),
            Some(Collection::Mapping(_, key @ None)) => *key = Some(key_of(value)?),
            Some(Collection::Mapping(map, key)) => {
                let key = key.take().unwrap_or_default();
                if map.contains_key(&key) {
                    return Err(format!("`{key}` comes twice"));
                }
                map.insert(key, value);
            }
        }
        Ok(())
    }
}

fn scalar_value(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.suffix == "str" || tag.handle == "!");
    if style == ScalarStyle::Plain && !is_text {
        scalar::resolve(text)
    } else {
        Value::from(text)
    }
}

fn key_of(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null => Ok(String::new()),
        value @ (Value::Bool(_) | Value::Number(_)) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => Err("a key is no text".to_owned()),
    }
}

/// How many values are in a value. Collections that are being built count each of theirs when it comes.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
