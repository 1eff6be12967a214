//! What a workspace takes in from an export: parsed and checked as a whole, before anything of it is written.

use serde_json::{Map, Value};

use crate::change::object;
use crate::commands::CommandDraft;
use crate::front_matter::FrontMatter;
use crate::refusal::Refusal;

/// What is to be taken in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Import {
    /// opencode's configuration, and whether it replaces what is there.
    pub opencode: Option<(Map<String, Value>, Mode)>,
    /// OpenWork's configuration.
    pub openwork: Option<(Map<String, Value>, Mode)>,
    /// Skills.
    pub skills: Vec<ImportedSkill>,
    /// What becomes of the skills that are there.
    pub skills_mode: Mode,
    /// Commands.
    pub commands: Vec<CommandDraft>,
    /// What becomes of the commands that are there.
    pub commands_mode: Mode,
}

/// A skill that is to be taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSkill {
    /// What it is called.
    pub name: String,
    /// Its text, with or without front matter.
    pub content: String,
    /// What it is for, if the front matter does not say it.
    pub description: Option<String>,
}

/// What becomes of what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// It stays, but for what has the same name.
    #[default]
    Merge,
    /// It goes.
    Replace,
}

impl Import {
    /// Takes what a client sent.
    pub fn parse(payload: &Value) -> Result<Self, Refusal> {
        let Value::Object(payload) = payload else {
            return Err(invalid("The import must be an object"));
        };
        let field = |name: &str| payload.get(name).unwrap_or(&Value::Null);
        let mode = |name: &str| match field("mode").get(name).and_then(Value::as_str) {
            Some("replace") => Mode::Replace,
            _ => Mode::Merge,
        };
        let config = |name: &str| -> Result<_, Refusal> {
            Ok(object(field(name), name)?.map(|map| (map, mode(name))))
        };
        Ok(Self {
            opencode: config("opencode")?,
            openwork: config("openwork")?,
            skills: list(field("skills"), "skills", skill)?,
            skills_mode: mode("skills"),
            commands: list(field("commands"), "commands", command)?,
            commands_mode: mode("commands"),
        })
    }
}

fn list<T>(
    value: &Value,
    name: &str,
    item: impl Fn(&Value) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.iter().map(item).collect(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(invalid(format!("{name} must be an array")))
        }
    }
}

fn skill(value: &Value) -> Result<ImportedSkill, Refusal> {
    Ok(ImportedSkill {
        name: text(value, "name")?.unwrap_or_default(),
        content: text(value, "content")?.unwrap_or_default(),
        description: text(value, "description")?,
    })
}

fn command(value: &Value) -> Result<CommandDraft, Refusal> {
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let name = filled(text(value, "name")?);
    let description = filled(text(value, "description")?);
    let Some(content) = filled(text(value, "content")?) else {
        return Ok(CommandDraft {
            name: name.unwrap_or_default(),
            template: text(value, "template")?.unwrap_or_default(),
            description,
            agent: text(value, "agent")?,
            model: text(value, "model")?,
            subtask: value.get("subtask").and_then(Value::as_bool),
        });
    };
    let (front, body) = FrontMatter::split(&content)?;
    let said = |key| front.text(key).map(str::to_owned);
    let name = name.or_else(|| filled(said("name")));
    Ok(CommandDraft {
        name: name
            .ok_or_else(|| Refusal::invalid("invalid_command", "Command name is required"))?,
        template: body.trim().to_owned(),
        description: description.or_else(|| said("description")),
        agent: said("agent"),
        model: said("model"),
        subtask: front.flag("subtask"),
    })
}

/// The text under `key`; nothing if it is not there.
fn text(value: &Value, key: &str) -> Result<Option<String>, Refusal> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(format!("{key} must be a string"))),
    }
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::invalid("invalid_payload", message)
}
