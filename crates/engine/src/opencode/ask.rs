//! What opencode asks, in Countersign's words: complete, and from what will run rather than from titles.

mod tool;

use countersign_core::ask::{OfferedOption, OptionKind, Question, QuestionOption, Subject};
use serde_json::{Value, json};

use crate::ask::{EngineAsk, PersonNeeded};
use crate::opencode::ask::tool::{Description, describe};
use crate::opencode::wire::{Permission, QuestionRequest};

pub use tool::needs_input;

/// The ask in a permission request. `input` is what the tool call was given, whole, where the request itself does not say
/// it; without it no rule can allow what is asked.
pub fn permission_ask(permission: Permission, raw: Value, input: Option<&Value>) -> EngineAsk {
    let Description {
        targets,
        location,
        shown,
    } = describe(&permission, input);
    EngineAsk {
        arguments: json!({ "targets": targets, "metadata": permission.metadata, "input": input }),
        subject: Subject::Permission {
            tool: permission.permission,
            targets,
            location,
            shown,
        },
        native_id: permission.id,
        session: permission.session_id,
        raw,
        options: vec![
            option("once", "Allow once", OptionKind::AllowOnce),
            option("always", "Allow always", OptionKind::AllowAlways),
            option("reject", "Deny", OptionKind::Deny),
        ],
        tool_call: permission.tool.map(|tool| tool.call_id),
        person: None,
    }
}

/// The ask in a question request.
pub fn question_ask(request: QuestionRequest, raw: Value) -> EngineAsk {
    let questions: Vec<Question> = request
        .questions
        .into_iter()
        .map(|part| Question {
            header: part.header,
            question: part.question,
            options: part
                .options
                .into_iter()
                .map(|choice| QuestionOption {
                    label: choice.label,
                    description: choice.description,
                })
                .collect(),
            multiple: part.multiple,
        })
        .collect();
    EngineAsk {
        arguments: json!({ "questions": questions }),
        subject: Subject::Question { questions },
        native_id: request.id,
        session: request.session_id,
        raw,
        options: vec![option("reject", "Decline to answer", OptionKind::Deny)],
        tool_call: request.tool.map(|tool| tool.call_id),
        person: Some(PersonNeeded::Question),
    }
}

fn option(id: &str, name: &str, kind: OptionKind) -> OfferedOption {
    OfferedOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        note: String::new(),
    }
}
