//! The protocol's own schema: which message is what, and whether it is sound.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

/// The official schema, with a validator for each kind of message.
pub(crate) struct Schema {
    whole: Validator,
    by_name: HashMap<String, Validator>,
    /// Names of definitions by method and what they end with.
    names: HashMap<(String, &'static str), String>,
}

impl Schema {
    pub(crate) fn official() -> Self {
        let document: Value = serde_json::from_str(include_str!("../schema/schema.json"))
            .expect("the schema is JSON");
        let definitions = document["$defs"].as_object().expect("it has definitions");
        let mut names = HashMap::new();
        let mut by_name = HashMap::new();
        for (name, definition) in definitions {
            let Some(method) = definition["x-method"].as_str() else {
                continue;
            };
            let endings = ["Request", "Response", "Notification"];
            let ending = endings.into_iter().find(|ending| name.ends_with(ending));
            let ending = ending.expect("a message is one of three");
            names.insert((method.to_owned(), ending), name.clone());
            let alone = json!({
                "$schema": document["$schema"],
                "$ref": format!("#/$defs/{name}"),
                "$defs": definitions,
            });
            let validator = jsonschema::validator_for(&alone).expect("the schema is a schema");
            by_name.insert(name.clone(), validator);
        }
        let whole = jsonschema::validator_for(&document).expect("the schema is a schema");
        Self {
            whole,
            by_name,
            names,
        }
    }

    /// Checks a message; `answers` is the method of the request that it answers, if it does.
    #[track_caller]
    pub(crate) fn check(&self, message: &Value, answers: Option<&str>) {
        assert!(
            self.whole.is_valid(message),
            "not in the protocol: {message}"
        );
        let (method, ending, part) = match (message["method"].as_str(), answers) {
            (Some(method), _) if message.get("id").is_some() => (method, "Request", "params"),
            (Some(method), _) => (method, "Notification", "params"),
            (None, Some(method)) => (method, "Response", "result"),
            (None, None) => return,
        };
        if part == "result" && message.get("error").is_some() {
            return;
        }
        let name = self.names.get(&(method.to_owned(), ending));
        let name = name.unwrap_or_else(|| panic!("`{method}` is no {ending} of the protocol"));
        let wrong: Vec<_> = self.by_name[name].iter_errors(&message[part]).collect();
        let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}\nin {message}");
    }
}
