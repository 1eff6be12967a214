//! What an ACP agent asks leave for, in Countersign's words: complete, and from what will run.
//!
//! A person sees the whole raw input; the agent's own words for it are shown as such. A rule can only match
//! what identifies the act itself: where that is not known there is no target, and a person has to decide.

pub(in crate::acp) mod identity;
mod shown;

use std::collections::BTreeSet;
use std::path::Path;

use countersign_core::ask::{OfferedOption, OptionKind, Question, QuestionOption, Subject};
use serde_json::{Value, json};

use crate::acp::agents::{Agent, RefusalEffect};
use crate::acp::ask::identity::Identity;
use crate::acp::density::is_dense;
use crate::acp::fields::Fields;
use crate::acp::message::{Params, RpcId};
use crate::acp::tool_call::{ToolCall, ToolCallChange, ToolCalls};
use crate::ask::{EngineAsk, PersonNeeded};

/// The method of a request for leave.
pub const METHOD: &str = "session/request_permission";

/// Tools whose use changes what the agent may do.
const MODE_TOOLS: [&str; 5] = [
    "exitplanmode",
    "exit_plan_mode",
    "enterplanmode",
    "enter_plan_mode",
    "switch_mode",
];

/// Why a request cannot become an ask; the agent is told so.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableAsk {
    /// Its parameters cannot be read.
    #[error("its parameters cannot be read")]
    Params(#[source] serde_json::Error),
    /// It names no session.
    #[error("it names no session")]
    NoSession,
}

/// The ask in a `session/request_permission` that came with `id`.
///
/// What is known of the tool call from elsewhere is in `calls`, which learns from the request in turn;
/// `directory` is where the session works.
pub fn permission_ask(
    id: &RpcId,
    params: &Params,
    calls: &mut ToolCalls,
    agent: &Agent,
    directory: &Path,
) -> Result<EngineAsk, UnreadableAsk> {
    let fields = Fields::read(params.text());
    let learn = |change| calls.take(change).clone();
    let wanted = Wanted::read(&fields, learn);
    ask_for(id, params, wanted, agent, directory)
}

/// The ask in a request that came earlier, with what was said about its tool call since.
pub fn permission_ask_again(
    id: &RpcId,
    params: &Params,
    calls: &ToolCalls,
    agent: &Agent,
    directory: &Path,
) -> Result<EngineAsk, UnreadableAsk> {
    let fields = Fields::read(params.text());
    let look_up = |change: ToolCallChange| calls.get(&change.id).cloned().unwrap_or_default();
    let wanted = Wanted::read(&fields, look_up);
    ask_for(id, params, wanted, agent, directory)
}

/// What a `session/request_permission` itself says about the tool call that it names; nothing if it names none.
pub fn tool_call_of(params: &Params) -> Option<ToolCallChange> {
    named_call(&Fields::read(params.text()))
}

fn named_call(fields: &Fields<'_>) -> Option<ToolCallChange> {
    let subject = fields.object("subject");
    [
        fields.object("toolCall"),
        subject.object("toolCall"),
        subject,
    ]
    .iter()
    .find_map(ToolCallChange::read)
}

fn ask_for(
    id: &RpcId,
    params: &Params,
    wanted: Wanted,
    agent: &Agent,
    directory: &Path,
) -> Result<EngineAsk, UnreadableAsk> {
    let request = params.value().map_err(UnreadableAsk::Params)?;
    let fields = Fields::read(params.text());
    let session = fields.text("sessionId").ok_or(UnreadableAsk::NoSession)?;
    let options = offered(&fields, agent);
    let questions = questions(&wanted.call);
    let identity = identity::identify(&wanted, directory);
    let person = person_needed(&wanted, &options, &questions, identity.as_ref(), agent);
    let mut shown = shown::shown(&wanted, identity.as_ref(), directory);
    shown.extend(shown::without_refusal(&options));
    let record = wanted.call.record();
    let arguments = arguments(&wanted, &record);
    let subject = if questions.is_empty() {
        let name = wanted.call.name.clone();
        let tool = identity.as_ref().map(|identity| identity.tool.clone());
        Subject::Permission {
            tool: tool
                .or(name)
                .unwrap_or_else(|| identity::UNKNOWN.to_owned()),
            location: identity
                .as_ref()
                .map(|identity| identity.location.clone())
                .unwrap_or_default(),
            targets: identity
                .filter(|_| person.is_none())
                .map(|identity| identity.targets)
                .unwrap_or_default(),
            shown,
        }
    } else {
        Subject::Question { questions }
    };
    Ok(EngineAsk {
        native_id: id.text().to_owned(),
        session,
        subject,
        arguments,
        raw: json!({ "request": request, "tool_call": record }),
        options,
        tool_call: Some(wanted.call.id).filter(|id| !id.is_empty()),
        person,
    })
}

/// What leave is wanted for, joined from everything that was said about it.
#[derive(Debug, Default)]
struct Wanted {
    call: ToolCall,
    /// A command that the request itself names; only in version 2.
    command: Option<(String, Option<String>)>,
    /// The agent's words for the request; only in version 2.
    words: Vec<String>,
}

impl Wanted {
    /// Reads what a request says; `join` adds what else is known of the tool call that it names.
    fn read(fields: &Fields<'_>, join: impl FnOnce(ToolCallChange) -> ToolCall) -> Self {
        let subject = fields.object("subject");
        let command = (subject.text_or_empty("type") == "command")
            .then(|| subject.text("command"))
            .flatten()
            .map(|command| (command, subject.text("cwd")));
        let call = named_call(fields).map(join).unwrap_or_default();
        let words = [fields.text("title"), fields.text("description")];
        Self {
            call,
            command,
            words: words.into_iter().flatten().collect(),
        }
    }
}

/// The options, as they are offered; one without an id cannot be chosen and is none.
fn offered(fields: &Fields<'_>, agent: &Agent) -> Vec<OfferedOption> {
    fields
        .objects("options")
        .iter()
        .filter_map(|option| {
            let id = option.text("optionId")?;
            let kind = match option.text_or_empty("kind").as_str() {
                "allow_once" => OptionKind::AllowOnce,
                "allow_always" => OptionKind::AllowAlways,
                "reject_once" => OptionKind::Deny,
                "reject_always" => OptionKind::DenyAlways,
                _ => OptionKind::Other,
            };
            Some(OfferedOption {
                name: option.text("name").unwrap_or_else(|| id.clone()),
                note: note(&id, kind, agent).to_owned(),
                kind,
                id,
            })
        })
        .collect()
}

/// What somebody has to know before they pick an option.
fn note<'a>(id: &str, kind: OptionKind, agent: &'a Agent) -> &'a str {
    match (kind, agent.refusal) {
        (OptionKind::AllowAlways, _) => agent.lasting_sentence(id),
        (OptionKind::Deny | OptionKind::DenyAlways, RefusalEffect::EndsTurn) => {
            "This agent ends its turn when it is refused."
        }
        (OptionKind::AllowOnce | OptionKind::Other, _)
        | (OptionKind::Deny | OptionKind::DenyAlways, RefusalEffect::GoesOn) => "",
    }
}

/// Questions that come as a request for leave: so one agent asks them.
fn questions(call: &ToolCall) -> Vec<Question> {
    let input = call.input.as_deref();
    let Some(input) = input.filter(|input| !is_dense(input.get())) else {
        return vec![];
    };
    let parts = Fields::read(input.get()).objects("questions");
    if parts.iter().any(|part| part.text("question").is_none()) {
        return vec![];
    }
    parts
        .iter()
        .map(|part| Question {
            header: part.text_or_empty("header"),
            question: part.text_or_empty("question"),
            options: part
                .objects("options")
                .iter()
                .filter_map(|option| {
                    Some(QuestionOption {
                        label: option.text("label")?,
                        description: option.text_or_empty("description"),
                    })
                })
                .collect(),
            multiple: part.get("multiSelect").unwrap_or_default(),
        })
        .collect()
}

fn person_needed(
    wanted: &Wanted,
    options: &[OfferedOption],
    questions: &[Question],
    identity: Option<&Identity>,
    agent: &Agent,
) -> Option<PersonNeeded> {
    let ids: BTreeSet<&str> = options.iter().map(|option| option.id.as_str()).collect();
    let count = |kind| options.iter().filter(|option| option.kind == kind).count();
    // A lasting leave is never picked by a rule, so two of them confuse nobody if both are known.
    let lasting_unknown = options
        .iter()
        .filter(|option| option.kind == OptionKind::AllowAlways)
        .filter(|option| agent.lasting_scope(&option.id).is_none())
        .count();
    if !questions.is_empty() {
        Some(PersonNeeded::Question)
    } else if changes_mode(wanted, options) {
        Some(PersonNeeded::ModeSwitch)
    } else if ids.len() != options.len() || count(OptionKind::AllowOnce) == 0 {
        Some(PersonNeeded::UnclearOptions)
    } else if count(OptionKind::AllowOnce) > 1
        || count(OptionKind::Deny) > 1
        || count(OptionKind::DenyAlways) > 1
        || (count(OptionKind::AllowAlways) > 1 && lasting_unknown > 0)
    {
        Some(PersonNeeded::Twins)
    } else if identity.is_none() {
        Some(PersonNeeded::UnknownInput)
    } else {
        None
    }
}

/// Whether the answer would change what the agent may do. Every hint counts: taking one too many for a
/// change of mode costs a person a look, taking one too few could switch asking off.
fn changes_mode(wanted: &Wanted, options: &[OfferedOption]) -> bool {
    let call = &wanted.call;
    let is_mode_tool = |name: &str| MODE_TOOLS.contains(&name.to_lowercase().as_str());
    let plan_alone = call.known_input().is_some_and(|input| {
        input
            .as_object()
            .is_some_and(|fields| fields.contains_key("plan") && !fields.contains_key("command"))
    });
    call.kind == "switch_mode"
        || call.name.as_deref().is_some_and(is_mode_tool)
        || plan_alone
        || options
            .iter()
            .any(|option| option.id.starts_with("exit-plan") || option.id.contains("bypass"))
}

/// What makes two asks alike. Where it is not known what will run, nothing is like anything else.
fn arguments(wanted: &Wanted, record: &Value) -> Value {
    let known = wanted.command.is_some()
        || wanted.call.known_input().is_some()
        || wanted.call.changes().next().is_some();
    json!({
        "name": record["name"],
        "input": record["input"],
        "changes": record["changes"],
        "command": wanted.command,
        "tool_call": (!known).then_some(&wanted.call.id),
        "title": (!known).then_some(&wanted.call.title),
    })
}

#[cfg(test)]
mod tests;
