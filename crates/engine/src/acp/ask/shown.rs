//! What a person has to see of a tool call: what will run first, the agent's own words last and marked.

use std::path::Path;

use countersign_core::ask::{OfferedOption, Shown};
use serde_json::{Map, Value};

use crate::acp::ask::Wanted;
use crate::acp::ask::identity::{
    Act, CONTENT_KEYS, Identity, PATH_KEYS, is_outside, split_command,
};
use crate::acp::reply::{Answer, Reply, choose};
use crate::acp::tool_call::FileChange;

/// What stands over words that the agent, or its model, chose.
const AGENTS_WORDS: &str = "In the agent's own words";
/// What stands over them when there is nothing else.
const ONLY_WORDS: &str = "In the agent's own words, for it does not say what exactly will run";

/// Everything that a person has to see.
pub(super) fn shown(wanted: &Wanted, identity: Option<&Identity>, directory: &Path) -> Vec<Shown> {
    let mut shown = vec![];
    let input = wanted.call.known_input();
    let fields = input.as_ref().and_then(Value::as_object);
    let command = match identity.map(|identity| &identity.act) {
        Some(Act::Command { text }) => Some(text.clone()),
        Some(Act::Edit | Act::Named) | None => None,
    };
    if let Some(command) = &command {
        shown.push(Shown::Command {
            text: command.clone(),
        });
    }
    if let Some((_, Some(cwd))) = &wanted.command {
        shown.push(text("In", cwd));
    }
    let changes: Vec<&FileChange> = wanted.call.changes().collect();
    shown.extend(changes.iter().map(|change| Shown::Diff {
        path: change.path.clone(),
        patch: change.patch(),
    }));
    let rest = match (fields, &input) {
        (Some(fields), _) => rest_of(fields, command.is_some(), !changes.is_empty()),
        (None, input) => input.clone(),
    };
    shown.extend(rest.map(|rest| text("With", &format!("{rest:#}"))));
    shown.extend(
        wanted
            .call
            .locations
            .iter()
            .filter(|path| changes.iter().all(|change| change.path != **path))
            .map(|path| Shown::Path {
                path: path.clone(),
                outside: is_outside(path, directory),
            }),
    );
    let label = if command.is_none() && changes.is_empty() && input.is_none() {
        ONLY_WORDS
    } else {
        AGENTS_WORDS
    };
    shown.extend(
        agents_words(wanted, command.as_deref())
            .iter()
            .map(|words| text(label, words)),
    );
    shown
}

/// What a no would do, where the agent offers none.
pub(super) fn without_refusal(options: &[OfferedOption]) -> Option<Shown> {
    match choose(Answer::Deny, options) {
        Reply::Cancelled(why) => Some(text("If you deny this", &why.to_string())),
        Reply::Selected(_) | Reply::NeedsPerson(_) => None,
    }
}

/// What is left of an input when what is shown better is taken out of it.
fn rest_of(fields: &Map<String, Value>, command: bool, changes: bool) -> Option<Value> {
    let mut rest = fields.clone();
    if command && let Some((_, others)) = split_command(fields) {
        rest = others;
    }
    if changes {
        rest.retain(|key, _| {
            !PATH_KEYS.contains(&key.as_str()) && !CONTENT_KEYS.contains(&key.as_str())
        });
    }
    (!rest.is_empty()).then_some(Value::Object(rest))
}

/// The title, the kind and the words that the agent adds, each once.
fn agents_words(wanted: &Wanted, command: Option<&str>) -> Vec<String> {
    let call = &wanted.call;
    let mut words: Vec<String> = vec![];
    let title = (!call.title.is_empty()).then(|| call.title.clone());
    let kind = (!call.kind.is_empty()).then(|| format!("kind: {}", call.kind));
    let all = title
        .into_iter()
        .chain(wanted.words.iter().cloned())
        .chain(call.words().map(str::to_owned))
        .chain(kind);
    for said in all {
        if command != Some(said.as_str()) && !words.contains(&said) {
            words.push(said);
        }
    }
    words
}

fn text(label: &str, text: &str) -> Shown {
    Shown::Text {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}
