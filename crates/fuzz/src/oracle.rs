//! What a message says, found out another way than the door does: with a plain reader of JSON.

use serde_json::Value;

/// The objects on a line: one, several that are glued together, or none.
///
/// What comes after something that is no JSON is not looked at.
pub(crate) fn objects(line: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(line).into_iter::<Value>();
    values
        .map_while(Result::ok)
        .filter(Value::is_object)
        .collect()
}

/// Whether some request for leave among `lines` has this id and offers this option as one of `kind`.
pub(crate) fn offers<'a>(
    lines: impl Iterator<Item = &'a str>,
    id: &Value,
    option: &str,
    kind: &str,
) -> bool {
    lines.flat_map(objects).any(|message| {
        let options = message.pointer("/params/options").and_then(Value::as_array);
        message.get("id") == Some(id)
            && options
                .into_iter()
                .flatten()
                .any(|offered| offered["optionId"] == option && offered["kind"] == kind)
    })
}
