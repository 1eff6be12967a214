//! The protocol's own schema: which message is what, and whether it is sound.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::peers;

/// The official schema, with a validator for each definition that was needed so far.
#[derive(Debug)]
pub struct AcpSchema {
    document: Value,
    /// Names of definitions by method and what they end with.
    names: HashMap<(String, &'static str), String>,
    validators: RefCell<HashMap<String, Validator>>,
}

impl AcpSchema {
    /// Reads the official schema.
    pub fn official() -> Self {
        Self::of(include_str!("acp_schema/schema.json"))
    }

    /// Reads the draft of version 2, which comes with the pinned peers.
    pub fn draft() -> Self {
        let schema = std::fs::read_to_string(peers::acp_draft_schema());
        Self::of(&schema.expect("the schema can be read"))
    }

    fn of(schema: &str) -> Self {
        let document: Value = serde_json::from_str(schema).expect("the schema is JSON");
        let definitions = document["$defs"].as_object().expect("it has definitions");
        let mut names = HashMap::new();
        for (name, definition) in definitions {
            let Some(method) = definition["x-method"].as_str() else {
                continue;
            };
            let endings = ["Request", "Response", "Notification"];
            let ending = endings.into_iter().find(|ending| name.ends_with(ending));
            let ending = ending.expect("a message is one of three");
            names.insert((method.to_owned(), ending), name.clone());
        }
        Self {
            document,
            names,
            validators: RefCell::default(),
        }
    }

    /// Checks a message, and panics if it is none of the protocol; `answers` is the method of the request that it
    /// answers, if it does.
    #[track_caller]
    pub fn check(&self, message: &Value, answers: Option<&str>) {
        let fields = message.as_object().expect("a message is an object");
        let known = ["jsonrpc", "id", "method", "params", "result", "error"];
        let is_known = |field: &String| known.contains(&field.as_str());
        assert!(fields.keys().all(is_known), "it has more: {message}");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        if let Some(id) = message.get("id") {
            self.check_as("RequestId", id);
        }
        if let Some(error) = message.get("error") {
            assert_eq!(message.get("result"), None, "{message}");
            return self.check_as("Error", error);
        }
        let (method, ending, part) = match (message["method"].as_str(), answers) {
            (Some(method), _) if message.get("id").is_some() => (method, "Request", "params"),
            (Some(method), _) => (method, "Notification", "params"),
            (None, Some(method)) => (method, "Response", "result"),
            (None, None) => panic!("nobody asked for {message}"),
        };
        let name = self.names.get(&(method.to_owned(), ending));
        let name = name.unwrap_or_else(|| panic!("`{method}` is no {ending} of the protocol"));
        self.check_as(name, &message[part]);
    }

    #[track_caller]
    fn check_as(&self, name: &str, value: &Value) {
        let mut validators = self.validators.borrow_mut();
        let validator = validators.entry(name.to_owned()).or_insert_with(|| {
            jsonschema::validator_for(&self.alone(name)).expect("the schema is a schema")
        });
        let wrong: Vec<_> = validator.iter_errors(value).collect();
        let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}\nin {value}");
    }

    /// One definition with those that it needs: to read all of them takes seconds.
    fn alone(&self, name: &str) -> Value {
        let reference = format!("#/$defs/{name}");
        let mut needed = BTreeMap::new();
        let mut open = vec![reference.clone()];
        while let Some(next) = open.pop() {
            let name = next.strip_prefix("#/$defs/").expect("it refers to its own");
            if !needed.contains_key(name) {
                let definition = &self.document["$defs"][name];
                assert!(definition.is_object(), "there is no `{name}`");
                needed.insert(name.to_owned(), definition.clone());
                references(definition, &mut open);
            }
        }
        json!({
            "$schema": self.document["$schema"],
            "$ref": reference,
            "$defs": Map::from_iter(needed),
        })
    }
}

fn references(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            into.extend(
                fields
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            fields.values().for_each(|value| references(value, into));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_without_its_outcome_is_not_in_the_protocol() {
        let schema = AcpSchema::official();
        let flat = json!({ "jsonrpc": "2.0", "id": 1, "result": { "optionId": "allow" } });
        let check = || schema.check(&flat, Some("session/request_permission"));
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        assert!(refused.is_err(), "the check checks");
    }
}
