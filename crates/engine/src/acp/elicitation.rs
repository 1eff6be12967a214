//! Questions by the protocol's own means: a form becomes the parts of a question, and the answers become
//! the values that the form's schema wants.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction, ElicitationContentValue,
};
use countersign_core::ask::{OfferedOption, OptionKind, Question, QuestionOption, Subject};
use serde_json::{Value, json};

use crate::acp::ask::UnreadableAsk;
use crate::acp::fields::Fields;
use crate::acp::message::{self, Params, RpcId};
use crate::ask::{EngineAsk, PersonNeeded};

/// The method of a question.
pub const METHOD: &str = "elicitation/create";

/// The answer to a part that may be left out, and is.
pub const LEFT_OUT: &str = "(no answer)";
/// The id of the option that declines to answer.
pub const DECLINE: &str = "decline";

const YES: &str = "yes";
const NO: &str = "no";
const ACCEPT: &str = "Accept";
const DONE: &str = "Done";

/// The ask in an `elicitation/create` that came with `id`; one that names no session is one of `session`.
pub fn elicitation_ask(
    id: &RpcId,
    params: &Params,
    session: &str,
) -> Result<EngineAsk, UnreadableAsk> {
    let raw = params.value().map_err(UnreadableAsk::Params)?;
    let fields = Fields::read(params.text());
    let questions = Form::read(&fields).questions();
    Ok(EngineAsk {
        native_id: id.text().to_owned(),
        session: fields
            .text("sessionId")
            .unwrap_or_else(|| session.to_owned()),
        arguments: json!({ "questions": questions }),
        subject: Subject::Question { questions },
        raw,
        options: vec![OfferedOption {
            id: DECLINE.to_owned(),
            name: "Decline to answer".to_owned(),
            kind: OptionKind::Deny,
            note: String::new(),
        }],
        tool_call: fields.text("toolCallId"),
        person: Some(PersonNeeded::Question),
    })
}

/// What is said to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    /// These answers, one list for each part.
    Choices(&'a [Vec<String>]),
    /// That it will not be answered.
    Declined,
    /// Nothing: nobody answered, or the turn was cancelled.
    Nothing,
}

/// An answer that does not fit a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("part {part} of the question {problem}")]
pub struct UnfitForm {
    /// Which part, from one.
    pub part: usize,
    /// What is wrong.
    pub problem: String,
}

/// The line that answers the request `id`, whose parameters are `asked`.
pub fn line(id: &RpcId, asked: &Value, said: Said<'_>) -> Result<Vec<u8>, UnfitForm> {
    let action = match said {
        Said::Declined => ElicitationAction::Decline,
        Said::Nothing => ElicitationAction::Cancel,
        Said::Choices(choices) => {
            let text = asked.to_string();
            let content = Form::read(&Fields::read(&text)).content(choices)?;
            ElicitationAction::Accept(ElicitationAcceptAction::new().content(content))
        }
    };
    Ok(message::result(id, &CreateElicitationResponse::new(action)))
}

/// A question as it was asked.
struct Form {
    message: String,
    kind: FormKind,
}

enum FormKind {
    /// Fields to fill in.
    Fields(Vec<Field>),
    /// An address to go to.
    Link(String),
    /// Something that a later version knows, by the agent's word for it.
    Other(String),
}

struct Field {
    name: String,
    title: String,
    description: String,
    required: bool,
    kind: FieldKind,
}

enum FieldKind {
    Text,
    Integer {
        least: Option<i64>,
        most: Option<i64>,
    },
    Number {
        least: Option<f64>,
        most: Option<f64>,
    },
    Boolean,
    /// One of these.
    One(Vec<Choice>),
    /// Some of these.
    Some(Vec<Choice>),
}

/// A value, and the label that it is shown with.
struct Choice {
    label: String,
    value: String,
    description: String,
}

impl Form {
    fn read(fields: &Fields<'_>) -> Self {
        let schema = fields.object("requestedSchema");
        let mode = fields.text("mode");
        let kind = match mode.as_deref() {
            Some("url") => FormKind::Link(fields.text_or_empty("url")),
            Some("form") | None => {
                let required: Vec<String> = schema.get("required").unwrap_or_default();
                let properties = schema.object("properties");
                FormKind::Fields(
                    properties
                        .iter()
                        .map(|(name, raw)| {
                            let is_required = required.iter().any(|wanted| wanted == name);
                            Field::read(name, &Fields::read(raw.get()), is_required)
                        })
                        .collect(),
                )
            }
            Some(other) => FormKind::Other(other.to_owned()),
        };
        Self {
            message: fields.text_or_empty("message"),
            kind,
        }
    }

    fn questions(&self) -> Vec<Question> {
        let single = |question: String, label: &str| {
            vec![Question {
                header: String::new(),
                question,
                options: vec![option(label, "")],
                multiple: false,
            }]
        };
        match &self.kind {
            FormKind::Link(url) => single(format!("{}\n{url}", self.message), DONE),
            FormKind::Other(mode) => {
                let question = format!(
                    "{}\n(The agent asks in a way that is not known here: {mode}.)",
                    self.message
                );
                single(question, ACCEPT)
            }
            FormKind::Fields(fields) if fields.is_empty() => single(self.message.clone(), ACCEPT),
            FormKind::Fields(fields) => fields
                .iter()
                .enumerate()
                .map(|(index, field)| field.question((index == 0).then_some(&self.message)))
                .collect(),
        }
    }

    /// The values for the form; nothing where the form has no fields.
    fn content(
        &self,
        choices: &[Vec<String>],
    ) -> Result<Option<BTreeMap<String, ElicitationContentValue>>, UnfitForm> {
        let FormKind::Fields(fields) = &self.kind else {
            return Ok(None);
        };
        let mut content = BTreeMap::new();
        for (index, field) in fields.iter().enumerate() {
            let chosen = choices.get(index).map_or(&[][..], Vec::as_slice);
            let value = field.value(chosen).map_err(|problem| UnfitForm {
                part: index + 1,
                problem,
            })?;
            content.extend(value.map(|value| (field.name.clone(), value)));
        }
        Ok(Some(content))
    }
}

impl Field {
    fn read(name: &str, schema: &Fields<'_>, required: bool) -> Self {
        let items = schema.object("items");
        let kind = match schema.text_or_empty("type").as_str() {
            "integer" => FieldKind::Integer {
                least: schema.get("minimum"),
                most: schema.get("maximum"),
            },
            "number" => FieldKind::Number {
                least: schema.get("minimum"),
                most: schema.get("maximum"),
            },
            "boolean" => FieldKind::Boolean,
            "array" => FieldKind::Some(choices(&items)),
            _ => match choices(schema) {
                choices if choices.is_empty() => FieldKind::Text,
                choices => FieldKind::One(choices),
            },
        };
        Self {
            name: name.to_owned(),
            title: schema.text("title").unwrap_or_else(|| name.to_owned()),
            description: schema.text_or_empty("description"),
            required,
            kind,
        }
    }

    /// `message` is what stands over the whole form, and goes with its first part.
    fn question(&self, message: Option<&String>) -> Question {
        let mut options: Vec<QuestionOption> = match &self.kind {
            FieldKind::Text | FieldKind::Integer { .. } | FieldKind::Number { .. } => vec![],
            FieldKind::Boolean => vec![option(YES, ""), option(NO, "")],
            FieldKind::One(choices) | FieldKind::Some(choices) => choices
                .iter()
                .map(|choice| option(&choice.label, &choice.description))
                .collect(),
        };
        if !self.required {
            options.push(option(LEFT_OUT, "leaves this part out"));
        }
        let message = message.map_or("", String::as_str);
        let mut words: Vec<&str> = vec![message, &self.title, &self.description];
        // Many agents say the same in each place.
        words.retain(|words| !words.is_empty());
        words.dedup();
        let is_said = self.title == message;
        Question {
            header: if is_said { "" } else { &self.title }.to_owned(),
            question: words.join("\n"),
            options,
            multiple: matches!(self.kind, FieldKind::Some(_)),
        }
    }

    fn value(&self, chosen: &[String]) -> Result<Option<ElicitationContentValue>, String> {
        let chosen: Vec<&str> = chosen
            .iter()
            .map(String::as_str)
            .filter(|text| *text != LEFT_OUT)
            .collect();
        if let FieldKind::Some(choices) = &self.kind {
            if chosen.is_empty() && !self.required {
                return Ok(None);
            }
            let values: Result<Vec<String>, String> = chosen
                .iter()
                .map(|text| chosen_value(choices, text))
                .collect();
            return Ok(Some(ElicitationContentValue::StringArray(values?)));
        }
        let text = match (chosen.as_slice(), self.required) {
            ([], false) => return Ok(None),
            ([], true) => return Err("has no answer".to_owned()),
            ([text], _) => *text,
            _ => return Err("takes one answer".to_owned()),
        };
        Ok(Some(match &self.kind {
            FieldKind::Text | FieldKind::Some(_) => text.to_owned().into(),
            FieldKind::One(choices) => chosen_value(choices, text)?.into(),
            FieldKind::Boolean => ElicitationContentValue::Boolean(truth(text)?),
            FieldKind::Integer { least, most } => {
                let number: i64 = text
                    .trim()
                    .parse()
                    .map_err(|_| "takes a whole number".to_owned())?;
                within(&number, least.as_ref(), most.as_ref())?;
                ElicitationContentValue::Integer(number)
            }
            FieldKind::Number { least, most } => {
                let number: f64 = text
                    .trim()
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())
                    .ok_or("takes a number")?;
                within(&number, least.as_ref(), most.as_ref())?;
                ElicitationContentValue::Number(number)
            }
        }))
    }
}

/// The values of `enum`, `oneOf` or `anyOf`, each with a label of its own.
fn choices(schema: &Fields<'_>) -> Vec<Choice> {
    let plain: Vec<String> = schema.get("enum").unwrap_or_default();
    let mut choices: Vec<Choice> = plain
        .into_iter()
        .map(|value| Choice {
            label: value.clone(),
            value,
            description: String::new(),
        })
        .collect();
    for titled in schema
        .objects("oneOf")
        .iter()
        .chain(&schema.objects("anyOf"))
    {
        if let Some(value) = titled.text("const") {
            let title = titled.text("title").unwrap_or_else(|| value.clone());
            let taken = choices.iter().any(|choice| choice.label == title);
            choices.push(Choice {
                label: if taken {
                    format!("{title} ({value})")
                } else {
                    title
                },
                value,
                description: titled.text_or_empty("description"),
            });
        }
    }
    choices
}

fn chosen_value(choices: &[Choice], text: &str) -> Result<String, String> {
    let by_label = choices.iter().find(|choice| choice.label == text);
    by_label
        .or_else(|| choices.iter().find(|choice| choice.value == text))
        .map(|choice| choice.value.clone())
        .ok_or_else(|| format!("does not offer `{text}`"))
}

fn truth(text: &str) -> Result<bool, String> {
    match text.trim().to_lowercase().as_str() {
        YES | "true" => Ok(true),
        NO | "false" => Ok(false),
        _ => Err(format!("takes `{YES}` or `{NO}`")),
    }
}

fn within<T: PartialOrd + std::fmt::Display>(
    number: &T,
    least: Option<&T>,
    most: Option<&T>,
) -> Result<(), String> {
    match (least, most) {
        (Some(least), _) if number < least => Err(format!("takes {least} at least")),
        (_, Some(most)) if number > most => Err(format!("takes {most} at most")),
        _ => Ok(()),
    }
}

fn option(label: &str, description: &str) -> QuestionOption {
    QuestionOption {
        label: label.to_owned(),
        description: description.to_owned(),
    }
}

#[cfg(test)]
mod tests;
