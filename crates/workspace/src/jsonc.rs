//! JSON with comments: read as `jsonc-parser` reads it, and edited in place.
//!
//! An edit changes what it has to and leaves every other byte as it is: comments, indentation, line ends, a byte order
//! mark, commas behind the last. What is put in is indented as its neighbours are.

mod edit;
mod parse;
mod place;
mod print;
mod scan;

use serde_json::{Map, Value};

use crate::refusal::Refusal;

pub use print::pretty;

/// What a text says. Of keys that come twice the last counts.
pub fn parse(text: &str) -> Result<Value, Refusal> {
    parse::parse(text).map(|node| node.value())
}

/// What a text says that is about to be changed: one without any value is taken as an empty object.
pub(crate) fn parse_for_change(text: &str) -> Result<Value, Refusal> {
    if parse::is_empty(text) {
        Ok(Value::Object(Map::new()))
    } else {
        parse(text)
    }
}

/// Sets the value to which `keys` lead, making the objects that are missing.
///
/// Where there is a value already, only what differs is changed, so that the comments in it stay.
pub fn set(text: &str, keys: &[&str], value: &Value) -> Result<String, Refusal> {
    edit::set(text, keys, value)
}

/// Takes out the key to which `keys` lead. A text that does not have it stays as it is.
pub fn remove(text: &str, keys: &[&str]) -> Result<String, Refusal> {
    edit::remove(text, keys)
}

/// Says that a configuration is something else than an object.
pub(crate) fn no_object() -> Refusal {
    Refusal::unprocessable("invalid_config", "The configuration must be an object")
}

#[cfg(test)]
mod tests;
