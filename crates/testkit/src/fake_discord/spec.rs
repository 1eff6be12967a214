//! The parts of Discord's published OpenAPI that are used, and whether a body is as they say.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

/// As Discord reads what it is sent: what it does not know, it ignores.
static LENIENT: LazyLock<Spec> = LazyLock::new(|| Spec::new(false));
/// As it is meant: whoever sends what Discord does not know has mistyped something.
static STRICT: LazyLock<Spec> = LazyLock::new(|| Spec::new(true));

/// By operation and part; nothing where there is no body.
type Validators = HashMap<(String, String), Option<Arc<Validator>>>;

struct Spec {
    document: Value,
    validators: Mutex<Validators>,
}

/// What is wrong with what is sent.
pub(super) enum Fault {
    /// Discord would refuse it.
    Refused(String),
    /// It has something in it that Discord does not know.
    Unknown(String),
}

/// What is wrong with the body of a request of `operation`, such as `POST /users/@me/channels`.
pub(super) fn fault(operation: &str, body: &Value) -> Option<Fault> {
    let refused = LENIENT.problem(operation, "request", body);
    let unknown = || {
        STRICT
            .problem(operation, "request", body)
            .map(Fault::Unknown)
    };
    refused.map(Fault::Refused).or_else(unknown)
}

/// What is wrong with the body of a response of `operation`.
pub(super) fn problem(operation: &str, status: u16, body: &Value) -> Option<String> {
    LENIENT.problem(operation, &status.to_string(), body)
}

impl Spec {
    fn new(is_strict: bool) -> Self {
        let mut document: Value =
            serde_json::from_str(include_str!("spec.json")).expect("the specification is JSON");
        let schemas = document["components"]["schemas"].as_object_mut();
        for (name, schema) in schemas.expect("it has schemas") {
            let is_sent = name.contains("Request") && schema["properties"].is_object();
            if is_strict && is_sent && schema["additionalProperties"].is_null() {
                schema["additionalProperties"] = json!(false);
            }
        }
        Self {
            document,
            validators: Mutex::default(),
        }
    }

    /// What is wrong with a body; `part` is `request` or a status.
    fn problem(&self, operation: &str, part: &str, body: &Value) -> Option<String> {
        let Some(known) = self.document["operations"].get(operation) else {
            return Some(format!("{operation} is not among what is used"));
        };
        let mut validators = self
            .validators
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = (operation.to_owned(), part.to_owned());
        let validator = validators.entry(key).or_insert_with(|| {
            let mut schema = known.get(part).filter(|schema| schema.is_object())?.clone();
            schema["components"] = self.document["components"].clone();
            let validator = jsonschema::validator_for(&schema).expect("it is a schema");
            Some(Arc::new(validator))
        });
        let Some(validator) = validator.clone() else {
            let is_nothing = body.is_null();
            return (!is_nothing).then(|| format!("{operation} has no {part} of this kind"));
        };
        drop(validators);
        let problem = validator.iter_errors(body).next()?;
        let at = problem.instance_path();
        let problem = format!("{operation} {part} at `{at}`: {problem}");
        Some(problem.chars().take(1_000).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_discord_does_not_take_is_found() {
        let send = |body: Value| match fault("POST /channels/{channel_id}/messages", &body) {
            None => "taken",
            Some(Fault::Unknown(_)) => "unknown",
            Some(Fault::Refused(_)) => "refused",
        };
        let sound = json!({"content": "hi", "nonce": "n", "enforce_nonce": true});
        assert_eq!(send(sound), "taken");
        assert_eq!(send(json!({"contents": "hi"})), "unknown");
        let long = json!({"content": "hi", "nonce": "n".repeat(26)});
        assert_eq!(send(long), "refused");
        let button = |label: String| {
            json!({"components": [{"type": 1, "components": [
                {"type": 2, "style": 1, "label": label, "custom_id": "x"}
            ]}]})
        };
        assert_eq!(send(button("Yes".to_owned())), "taken");
        assert_eq!(send(button("y".repeat(81))), "refused");
        assert!(fault("POST /nowhere", &json!({})).is_some());
    }
}
