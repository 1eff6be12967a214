//! What a person has to see of a tool call: what will run first, the agent's own words last and marked.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::path::Path;

use countersign_core::ask::{OfferedOption, Shown};
use serde_json::{Map, Value};

use crate::acp::ask::Wanted;
use crate::acp::ask::identity::{
    Act, CONTENT_KEYS, Identity, PATH_KEYS, is_outside, split_command,
};
use crate::acp::reply::{Answer, Reply, choose};
use crate::acp::tool_call::{FileChange, patience};

/// What stands over words that the agent, or its model, chose.
const AGENTS_WORDS: &str = "In the agent's own words";
/// What stands over them when there is nothing else.
const ONLY_WORDS: &str = "In the agent's own words, for it does not say what exactly will run";

/// How many times longer a value may be over several lines than on one.
const LAID_OUT: usize = 4;

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
    let deadline = patience();
    shown.extend(changes.iter().map(|change| Shown::Diff {
        path: change.path.clone(),
        patch: change.patch(deadline),
    }));
    let rest = match (fields, &input) {
        (Some(fields), _) => rest_of(fields, command.is_some(), !changes.is_empty()),
        (None, input) => input.clone(),
    };
    shown.extend(rest.map(|rest| text("With", &laid_out(&rest))));
    let changed: BTreeSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    shown.extend(
        wanted
            .call
            .locations
            .iter()
            .filter(|path| !changed.contains(path.as_str()))
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
    let mut said_before = BTreeSet::new();
    let title = (!call.title.is_empty()).then(|| call.title.clone());
    let kind = (!call.kind.is_empty()).then(|| format!("kind: {}", call.kind));
    let all = title
        .into_iter()
        .chain(wanted.words.iter().cloned())
        .chain(call.words().map(str::to_owned))
        .chain(kind);
    for said in all {
        if command != Some(said.as_str()) && said_before.insert(said.clone()) {
            words.push(said);
        }
    }
    words
}

/// A value over several lines; on one if there would be more space between its parts than there are parts.
fn laid_out(value: &Value) -> String {
    let on_one_line = value.to_string();
    let mut several = Several {
        text: String::new(),
        most: on_one_line.len().saturating_mul(LAID_OUT).max(1_000),
    };
    match write!(several, "{value:#}") {
        Ok(()) => several.text,
        Err(fmt::Error) => on_one_line,
    }
}

/// Text that takes no more than so many bytes.
struct Several {
    text: String,
    most: usize,
}

impl fmt::Write for Several {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len() + text.len() > self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

fn text(label: &str, text: &str) -> Shown {
    Shown::Text {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}
