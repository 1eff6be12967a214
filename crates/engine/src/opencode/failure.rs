//! What opencode says when a turn fails, as a sentence: what is wrong, and what to do where that is known.

use serde::Deserialize;
use serde_json::Value;

/// What to do about a model that is not there.
const SET_UP_A_MODEL: &str = "Set a model up with `opencode auth login` or in opencode's configuration, or name \
     another with `countersign prompt --model provider/model`. A key in the environment has to be there when the \
     server starts";
/// What opencode calls the error that there is no model: its name, or the beginning of what it says.
const NO_MODEL_NAMES: [&str; 3] = [
    "ProviderModelNotFoundError",
    "ProviderNoProvidersError",
    "ProviderInitError",
];
/// How it says that without a name.
const NO_MODEL_WORDS: [&str; 3] = ["Model not found", "no providers found", "no models found"];
/// How opencode names a key that is missing or wrong.
const NO_KEY: &str = "ProviderAuthError";

/// What went wrong with a message or a session.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MessageError {
    /// The kind of error.
    #[serde(default)]
    pub name: String,
    /// More about it.
    #[serde(default)]
    pub data: Value,
}

impl MessageError {
    /// Whether it only says that somebody stopped the turn.
    pub fn is_abort(&self) -> bool {
        self.name == "MessageAbortedError"
    }

    /// What is wrong, in the words of the engine or the provider, and what to do where that is known.
    pub fn sentence(&self) -> String {
        let said = self.said();
        if self.lacks_model(&said) {
            // opencode says the same again under the name of the error.
            let plain = NO_MODEL_NAMES
                .iter()
                .find_map(|name| said.strip_prefix(name)?.strip_prefix(": "))
                .unwrap_or(&said);
            return format!("opencode has no model for this ({plain}). {SET_UP_A_MODEL}");
        }
        if self.lacks_key() {
            return format!(
                "the model's provider does not take the key ({said}). {SET_UP_A_MODEL}"
            );
        }
        if self.name.is_empty() {
            said
        } else {
            format!("{}: {said}", self.name)
        }
    }

    /// What was said, without the places in opencode's program where it was said.
    fn said(&self) -> String {
        let message = self.data.get("message").and_then(Value::as_str);
        let lines = message.unwrap_or_default().lines();
        let telling: Vec<&str> = lines
            .filter(|line| !line.trim_start().starts_with("at "))
            .map(|line| line.trim_end().trim_end_matches(':'))
            .filter(|line| !line.is_empty())
            .collect();
        if telling.is_empty() {
            return "no reason was given".to_owned();
        }
        telling.join("\n").trim_end_matches('.').to_owned()
    }

    fn lacks_model(&self, said: &str) -> bool {
        let said = said.trim_start_matches("Error: ");
        let begins = |words: &[&str]| words.iter().any(|words| said.starts_with(words));
        NO_MODEL_NAMES.contains(&self.name.as_str())
            || begins(&NO_MODEL_NAMES)
            || begins(&NO_MODEL_WORDS)
    }

    fn lacks_key(&self) -> bool {
        let status = self.data.get("statusCode").and_then(Value::as_u64);
        self.name == NO_KEY || (self.name == "APIError" && status == Some(401))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sentence(name: &str, data: Value) -> String {
        let name = name.to_owned();
        MessageError { name, data }.sentence()
    }

    #[test]
    fn a_model_that_is_not_there_is_told_once_and_with_what_to_do() {
        for said in [
            "Model not found: anthropic/claude-sonnet-4-5. Did you mean: claude-sonnet-4-5?",
            "Error: no providers found\n    at <anonymous> (/root/chunk.js:571:63700)\n    at Provider.defaultModel",
            "ProviderNoProvidersError: No providers are available\n    at <anonymous> (/root/chunk.js:439:97193)",
            "ProviderModelNotFoundError: \n    at <anonymous> (/root/chunk.js:571:61056)",
        ] {
            let sentence = sentence("UnknownError", json!({ "message": said }));
            assert!(
                sentence.starts_with("opencode has no model for this ("),
                "{sentence}"
            );
            assert!(sentence.contains("`opencode auth login`"), "{sentence}");
            assert!(!sentence.contains("chunk"), "{sentence}");
            assert!(!sentence.contains("UnknownError"), "{sentence}");
        }
        let named = sentence("ProviderModelNotFoundError", json!({}));
        assert!(named.contains("`opencode auth login`"), "{named}");
        // It is said twice, the second time with the error's name and its place in the program.
        let again = "ProviderModelNotFoundError: Model not found: a/b.\n    at Provider (/root/chunk.js:1:1)";
        assert_eq!(
            sentence("UnknownError", json!({ "message": again })),
            sentence(
                "UnknownError",
                json!({ "message": "Model not found: a/b." })
            )
        );
    }

    #[test]
    fn a_key_that_the_provider_refuses_is_told_with_what_to_do() {
        let refused = json!({ "message": "invalid x-api-key", "statusCode": 401 });
        let sentence = sentence("APIError", refused);
        assert!(sentence.contains("(invalid x-api-key)"), "{sentence}");
        assert!(sentence.contains("`opencode auth login`"), "{sentence}");
    }

    #[test]
    fn other_words_are_passed_on_as_they_are() {
        assert_eq!(
            sentence(
                "APIError",
                json!({ "message": "no credit", "statusCode": 402 })
            ),
            "APIError: no credit"
        );
        assert_eq!(sentence("", json!({ "message": "what\nnow" })), "what\nnow");
        assert_eq!(
            sentence("UnknownError", json!({})),
            "UnknownError: no reason was given"
        );
        // Words of a tool or a provider that only speak of a model are not about ours.
        let other = sentence(
            "UnknownError",
            json!({ "message": "the file says: Model not found" }),
        );
        assert!(!other.contains("auth login"), "{other}");
    }
}
