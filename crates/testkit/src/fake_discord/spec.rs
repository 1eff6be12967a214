//! The parts of Discord's published OpenAPI that are used, and whether a body is as they say.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

static SPEC: LazyLock<Spec> = LazyLock::new(|| {
    let mut document: Value =
        serde_json::from_str(include_str!("spec.json")).expect("the specification is JSON");
    let schemas = document["components"]["schemas"]
        .as_object_mut()
        .expect("it has schemas");
    for (name, schema) in schemas {
        // Discord ignores what it does not know; whoever sends it has mistyped something.
        let is_sent = name.contains("Request") && schema["properties"].is_object();
        if is_sent && schema["additionalProperties"].is_null() {
            schema["additionalProperties"] = json!(false);
        }
    }
    Spec {
        document,
        validators: Mutex::default(),
    }
});

/// By operation and part; nothing where there is no body.
type Validators = HashMap<(String, String), Option<Arc<Validator>>>;

struct Spec {
    document: Value,
    validators: Mutex<Validators>,
}

/// What is wrong with a body of `operation`, such as `POST /users/@me/channels`; `part` is `request` or a status.
pub(super) fn problem(operation: &str, part: &str, body: &Value) -> Option<String> {
    let Some(known) = SPEC.document["operations"].get(operation) else {
        return Some(format!("{operation} is not among what is used"));
    };
    let mut validators = SPEC
        .validators
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let key = (operation.to_owned(), part.to_owned());
    let validator = validators.entry(key).or_insert_with(|| {
        let mut schema = known.get(part).filter(|schema| schema.is_object())?.clone();
        schema["components"] = SPEC.document["components"].clone();
        let validator = jsonschema::validator_for(&schema).expect("it is a schema");
        Some(Arc::new(validator))
    });
    let Some(validator) = validator.clone() else {
        let is_nothing = body.is_null();
        return (!is_nothing).then(|| format!("{operation} has no {part} of this kind"));
    };
    drop(validators);
    let problem = validator.iter_errors(body).next()?;
    let problem = format!(
        "{operation} {part} at `{}`: {problem}",
        problem.instance_path()
    );
    Some(problem.chars().take(1_000).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_discord_does_not_take_is_found() {
        let send = |body: Value| problem("POST /channels/{channel_id}/messages", "request", &body);
        assert_eq!(
            send(json!({"content": "hi", "nonce": "n", "enforce_nonce": true})),
            None
        );
        assert!(send(json!({"contents": "hi"})).is_some());
        assert!(send(json!({"content": "hi", "nonce": "n".repeat(26)})).is_some());
        let button = |label: String| {
            json!({"components": [{"type": 1, "components": [
                {"type": 2, "style": 1, "label": label, "custom_id": "x"}
            ]}]})
        };
        assert_eq!(send(button("Yes".to_owned())), None);
        assert!(send(button("y".repeat(81))).is_some());
        assert!(problem("POST /nowhere", "request", &json!({})).is_some());
    }
}
