//! How deep what agents send is nested on the wire.
//!
//! Every reader of JSON gives up at some depth, and then the whole answer is lost to it: one ask that is nested deeply
//! enough would hide all others that are listed with it.

use serde_json::Value;

/// How many levels there are of what an agent sent. Readers take 64 at the least, and the lists around it have a few.
const LEVELS: usize = 48;

/// The same, with everything that is nested deeper as its text.
pub(crate) fn shallow(value: Value) -> Value {
    if levels(&value) > LEVELS {
        cut(value, LEVELS)
    } else {
        value
    }
}

fn levels(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(levels).max(),
        Value::Object(fields) => fields.values().map(levels).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    below.unwrap_or_default() + 1
}

fn cut(value: Value, levels: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => Value::String(value.to_string()),
        Value::Array(items) => items
            .into_iter()
            .map(|item| cut(item, levels - 1))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, cut(field, levels - 1)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!("core"), |inner, level| {
            if level % 2 == 0 {
                json!([inner, 1])
            } else {
                json!({ "in": inner })
            }
        })
    }

    #[test]
    fn what_readers_can_follow_stays_as_it_is() {
        for value in [json!(null), json!({}), json!([[], {}]), nested(LEVELS)] {
            assert_eq!(shallow(value.clone()), value);
        }
    }

    #[test]
    fn what_is_deeper_is_there_as_its_text() {
        let deep = nested(LEVELS + 70);
        let cut = shallow(deep);
        assert_eq!(levels(&cut), LEVELS);
        let text = cut.to_string();
        assert!(text.contains("core"), "nothing is lost: {text}");
        let wrapped = (0..10).fold(cut, |inner, _| json!([inner])).to_string();
        assert!(serde_json::from_str::<Value>(&wrapped).is_ok());
    }
}
