//! What the published description of the Bot API says of the methods that are used: names, types and what has to be there.

use std::sync::LazyLock;

use serde_json::Value;

/// The part of it that is used, from <https://github.com/PaulSonOfLars/telegram-bot-api-spec> (MIT).
static SPEC: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("bot-api-10.1.json")).expect("the description is JSON")
});

/// Says what is wrong with the arguments of a call, if anything.
pub(super) fn problem(method: &str, arguments: &Value) -> Option<String> {
    let Some(fields) = SPEC["methods"][method].as_array() else {
        return Some(format!("there is no method `{method}`"));
    };
    wrong_fields(method, fields, arguments)
}

/// Whether bots may react with this.
pub(super) fn is_reaction(emoji: &str) -> bool {
    let known = SPEC["reactions"].as_array();
    known.is_some_and(|known| known.iter().any(|it| it == emoji))
}

fn wrong_fields(what: &str, fields: &[Value], given: &Value) -> Option<String> {
    let Some(given) = given.as_object() else {
        return Some(format!("{what} is no object: {given}"));
    };
    for field in fields {
        let name = field["name"].as_str().unwrap_or_default();
        if field["required"] == true && !given.contains_key(name) {
            return Some(format!("{what} lacks `{name}`"));
        }
    }
    given.iter().find_map(|(name, value)| {
        let Some(field) = fields.iter().find(|field| field["name"] == name.as_str()) else {
            return Some(format!("{what} has no `{name}`"));
        };
        let types = field["types"].as_array().into_iter().flatten();
        let mut types = types.filter_map(Value::as_str);
        let problems: Vec<String> = types
            .by_ref()
            .map(|kind| wrong(kind, value))
            .collect::<Option<_>>()?;
        Some(format!("`{name}` of {what}: {}", problems.join("; or ")))
    })
}

/// Says what is wrong with a value of this type, if anything.
fn wrong(kind: &str, value: &Value) -> Option<String> {
    if let Some(inner) = kind.strip_prefix("Array of ") {
        let Some(values) = value.as_array() else {
            return Some(format!("no array: {value}"));
        };
        return values.iter().find_map(|value| wrong(inner, value));
    }
    let is_right = match kind {
        "Integer" => value.is_i64(),
        "Float" => value.is_number(),
        "Boolean" => value.is_boolean(),
        "True" => *value == true,
        "String" => value.is_string(),
        // Whatever the form carries is a file.
        "InputFile" => true,
        _ => {
            let described = &SPEC["types"][kind];
            if let Some(kinds) = described["subtypes"].as_array() {
                let mut kinds = kinds.iter().filter_map(Value::as_str);
                let is_one = kinds.any(|kind| wrong(kind, value).is_none());
                return (!is_one).then(|| format!("no {kind}: {value}"));
            }
            let Some(fields) = described["fields"].as_array() else {
                return Some(format!("{kind} is not described"));
            };
            return wrong_fields(kind, fields, value);
        }
    };
    (!is_right).then(|| format!("no {kind}: {value}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_description_does_not_know_is_a_problem() {
        let well = json!({
            "chat_id": -5, "text": "x", "entities": [{"type": "code", "offset": 0, "length": 1}],
            "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "b"}]]},
        });
        assert_eq!(problem("sendMessage", &well), None);
        let wrong = [
            json!({"chat_id": -5}),
            json!({"chat_id": -5, "text": 5}),
            json!({"chat_id": -5, "text": "x", "parse_mod": "HTML"}),
            json!({"chat_id": -5, "text": "x", "entities": [{"type": "code", "offset": 0}]}),
            json!({"chat_id": -5, "text": "x", "reply_markup": {"inline_keyboard": [{"text": "a"}]}}),
        ];
        for arguments in wrong {
            assert!(problem("sendMessage", &arguments).is_some(), "{arguments}");
        }
        assert!(problem("sendMassage", &well).is_some());
        let reaction =
            json!({"chat_id": 1, "message_id": 1, "reaction": [{"type": "emoji", "emoji": "👀"}]});
        assert_eq!(problem("setMessageReaction", &reaction), None);
        assert!(is_reaction("👀") && !is_reaction("✅"));
    }
}
