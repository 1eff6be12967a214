//! The ids of requests, so that a response is known by its id however its writer spells it.

use countersign_engine::acp::message::RpcId;
use serde_json::Value;

/// The largest whole number that every program writes as it read it.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RequestKey {
    Number(String),
    Text(String),
}

impl RequestKey {
    /// The key of `id`; nothing for null, by which nothing can be told apart.
    pub(crate) fn of(id: &RpcId) -> Option<Self> {
        Self::of_value(&serde_json::from_str(id.text()).ok()?)
    }

    /// The key of an id that stands in a message.
    pub(crate) fn of_value(id: &Value) -> Option<Self> {
        match id {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => {
                let whole = number
                    .as_f64()
                    .filter(|_| !number.is_i64() && !number.is_u64())
                    .filter(|value| value.fract() == 0.0 && value.abs() < EXACT);
                Some(Self::Number(whole.map_or_else(
                    || number.to_string(),
                    |value| format!("{value:.0}"),
                )))
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Option<RequestKey> {
        RequestKey::of(&RpcId::from_text(text)?)
    }

    #[test]
    fn an_id_is_the_same_however_it_is_spelt() {
        assert_eq!(key("7"), key("7.0"));
        assert_eq!(key(r#""a/b""#), key(r#""a\/b""#));
        assert_ne!(key("7"), key(r#""7""#));
        assert_ne!(key("7"), key("7.5"));
        assert_ne!(key("9007199254740993"), key("9007199254740992"));
        assert_eq!(key("null"), None);
    }
}
