//! What can be asked and what can be replied, in opencode's terms.

use serde_json::{Value, json};

/// Which of its two lists a request is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Permission,
    Question,
}

/// A reply that makes sense.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Once,
    Always,
    Reject { message: Option<String> },
    Answers(Value),
    Dismiss,
}

/// What one asks for in a test.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) kind: Kind,
    pub(super) tool: String,
    pub(super) input: Value,
    /// The keys of the request that are its own.
    pub(super) request: Value,
}

impl Kind {
    /// Returns the word for it in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Permission => "Permission",
            Self::Question => "Question",
        }
    }

    /// Returns what its ids begin with.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Permission => "per",
            Self::Question => "que",
        }
    }

    /// Returns the event that tells of a new one.
    pub(super) fn asked(self) -> &'static str {
        match self {
            Self::Permission => "permission.asked",
            Self::Question => "question.asked",
        }
    }
}

impl Reply {
    /// Reads the body of a reply to a permission; `key` is `reply`, or `response` on the deprecated path.
    pub(super) fn to_permission(body: &Value, key: &str) -> Result<Self, String> {
        let Some(word) = body.get(key) else {
            return Err(format!("Missing key\n  at [\"{key}\"]"));
        };
        match word.as_str() {
            Some("once") => Ok(Self::Once),
            Some("always") => Ok(Self::Always),
            Some("reject") => Ok(Self::Reject {
                message: body["message"].as_str().map(str::to_owned),
            }),
            _ => {
                let known = r#""once" | "always" | "reject""#;
                Err(format!("Expected {known}, got {word}\n  at [\"{key}\"]"))
            }
        }
    }

    /// Reads the body of a reply to a question.
    pub(super) fn to_question(body: &Value) -> Result<Self, String> {
        let Some(answers) = body.get("answers") else {
            return Err("Missing key\n  at [\"answers\"]".to_owned());
        };
        if answers.is_array() {
            return Ok(Self::Answers(answers.clone()));
        }
        Err(format!("Expected array, got {answers}\n  at [\"answers\"]"))
    }

    /// Returns what `permission.replied` calls it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Reject { .. } | Self::Dismiss => "reject",
            Self::Answers(_) => "answers",
        }
    }
}

impl Wish {
    /// A shell command.
    pub(super) fn command(command: &str) -> Self {
        Self::permission("bash", &[command.to_owned()], &json!({"command": command}))
    }

    /// Any permission; the tool is named after it.
    pub(super) fn permission(permission: &str, patterns: &[String], metadata: &Value) -> Self {
        let always: Vec<String> = match permission {
            "bash" => patterns
                .iter()
                .map(|pattern| first_word_and_star(pattern))
                .collect(),
            _ => vec!["*".to_owned()],
        };
        Self {
            kind: Kind::Permission,
            tool: permission.to_owned(),
            input: metadata.clone(),
            request: json!({
                "permission": permission,
                "patterns": patterns,
                "metadata": metadata,
                "always": always,
            }),
        }
    }

    /// A question with its options.
    pub(super) fn question<'a>(text: &str, options: impl IntoIterator<Item = &'a str>) -> Self {
        let options = options
            .into_iter()
            .map(|label| json!({"label": label, "description": label}));
        let options: Vec<Value> = options.collect();
        let questions = json!([{"question": text, "header": "Scripted", "options": options}]);
        Self {
            kind: Kind::Question,
            tool: "question".to_owned(),
            input: json!({"questions": questions}),
            request: json!({"questions": questions}),
        }
    }
}

fn first_word_and_star(command: &str) -> String {
    let first = command.split_whitespace().next().unwrap_or_default();
    format!("{first} *")
}
