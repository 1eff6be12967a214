//! What a tool call is, as far as a rule may go by it: from names and inputs that the agent's program
//! gives, never from titles.
//!
//! Where an agent gives no name, the input has to have the form of a known act *and nothing else*, and the agent's
//! kind has to agree: the kind can only ever take an identity away.

use std::path::{Component, Path, PathBuf};

use countersign_core::ask::{Folder, Location};
use countersign_core::digest::canonical;
use serde_json::{Map, Value};

use crate::acp::ask::Wanted;

/// What a tool is called of which nothing is known.
pub(super) const UNKNOWN: &str = "unknown";
/// The tool that every command for a shell is asked as; rules for it match by the exact text alone.
pub(in crate::acp) const SHELL: &str = "shell";
/// The tool that every change of files is asked as.
pub(in crate::acp) const EDIT: &str = "edit";
/// Names that mean something to rules: no other tool may go by them.
const RESERVED: [&str; 8] = [
    SHELL, EDIT, UNKNOWN, "bash", "execute", "terminal", "question", "write",
];

/// What agents call the tool that runs a command.
const SHELL_NAMES: [&str; 12] = [
    "bash",
    "shell",
    "execute",
    "terminal",
    "exec_command",
    "shell_command",
    "local_shell",
    "run_command",
    "run_shell_command",
    "run_terminal_cmd",
    "execute_command",
    "developer__shell",
];

/// What agents call the tools that change files.
const EDIT_NAMES: [&str; 12] = [
    "edit",
    "write",
    "multiedit",
    "notebookedit",
    "edit_file",
    "write_file",
    "replace",
    "str_replace",
    "str_replace_editor",
    "search_replace",
    "apply_patch",
    "patch",
];

/// Where an input names the file that is to be changed.
pub(in crate::acp) const PATH_KEYS: [&str; 9] = [
    "path",
    "file_path",
    "filePath",
    "filepath",
    "file",
    "filename",
    "absolute_path",
    "target_file",
    "notebook_path",
];

/// What the input of a change of a file holds besides its path.
pub(super) const CONTENT_KEYS: [&str; 11] = [
    "content",
    "contents",
    "new_string",
    "old_string",
    "newString",
    "oldString",
    "new_str",
    "old_str",
    "file_text",
    "new_content",
    "edits",
];

/// What else may be in it.
const EDIT_KEYS: [&str; 6] = [
    "replace_all",
    "replaceAll",
    "expected_replacements",
    "insert_line",
    "view_range",
    "instruction",
];

/// Where an input names the directory in which a command runs.
const DIRECTORY_KEYS: [&str; 4] = ["cwd", "workdir", "working_directory", "directory"];

/// What goes with a command and does not change what it does.
const HARMLESS_KEYS: [&str; 7] = [
    "description",
    "timeout",
    "timeout_ms",
    "timeoutMs",
    "yield_time_ms",
    "max_output_tokens",
    "justification",
];

/// What a rule may go by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::acp) struct Identity {
    pub(super) tool: String,
    pub(in crate::acp) targets: Vec<String>,
    pub(in crate::acp) location: Location,
    pub(super) act: Act,
}

/// What kind of act it is, for showing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::acp) enum Act {
    /// A command for a shell, whole.
    Command { text: String },
    /// A change of files.
    Edit,
    /// Anything else, with a name and an input.
    Named,
}

/// What is wanted, if it is known exactly.
pub(super) fn identify(wanted: &Wanted, directory: &Path) -> Option<Identity> {
    if let Some((command, cwd)) = &wanted.command {
        let rest = cwd
            .iter()
            .map(|cwd| ("cwd".to_owned(), Value::from(cwd.as_str())));
        return Some(shell(command.clone(), rest.collect(), directory));
    }
    let call = &wanted.call;
    let name = call.name.as_deref().map(str::to_lowercase);
    let is = |names: &[&str], kind: &str| match &name {
        Some(name) => names.contains(&name.as_str()),
        None => call.kind == kind,
    };
    let input = call.known_input();
    let fields = input.as_ref().and_then(Value::as_object);
    if is(&SHELL_NAMES, "execute")
        && let Some((command, rest)) = fields.and_then(split_command)
    {
        return Some(shell(command, rest, directory));
    }
    if is(&EDIT_NAMES, "edit")
        && (name.is_some() || fields.is_none_or(is_plain_edit))
        && let Some(paths) = edited_paths(wanted, fields)
    {
        let mut targets: Vec<String> = paths
            .iter()
            .map(|path| relative_to(path, directory))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        return Some(Identity {
            tool: EDIT.to_owned(),
            location: Location::of_files(targets.clone()),
            targets,
            act: Act::Edit,
        });
    }
    let name = call.name.clone()?;
    if RESERVED.contains(&name.to_lowercase().as_str()) {
        return None;
    }
    Some(Identity {
        tool: name,
        targets: vec![canonical(&input?)],
        location: Location::default(),
        act: Act::Named,
    })
}

/// The command, whole, and what else goes with it if that could change what it does.
pub(in crate::acp) fn shell(
    command: String,
    rest: Map<String, Value>,
    directory: &Path,
) -> Identity {
    let mut telling = telling(rest);
    let mut folders = vec![];
    telling.retain(|key, value| match value.as_str() {
        Some(path) if DIRECTORY_KEYS.contains(&key.as_str()) => {
            folders.push(path.to_owned());
            false
        }
        _ => true,
    });
    folders.retain(|path| Path::new(path) != directory);
    folders.dedup();
    let folder = match folders.len() {
        0 => Folder::Session,
        1 => Folder::Unknown {
            named: folders.remove(0),
        },
        // Which of them counts is the agent's affair.
        _ => Folder::Unknown {
            named: String::new(),
        },
    };
    let mut targets = vec![command.clone()];
    if !telling.is_empty() {
        targets.push(canonical(&Value::Object(telling)));
    }
    Identity {
        tool: SHELL.to_owned(),
        targets,
        location: Location {
            folder,
            ..Location::default()
        },
        act: Act::Command { text: command },
    }
}

/// What goes with a command and may change what it does.
pub(in crate::acp) fn telling(rest: Map<String, Value>) -> Map<String, Value> {
    rest.into_iter()
        .filter(|(key, value)| !HARMLESS_KEYS.contains(&key.as_str()) && !value.is_null())
        .collect()
}

/// The directory that a command is to run in, if that is all that goes with it.
pub(in crate::acp) fn directory_of(telling: &Map<String, Value>) -> Option<PathBuf> {
    let mut all = telling.iter();
    match (all.next(), all.next()) {
        (Some((key, value)), None) if DIRECTORY_KEYS.contains(&key.as_str()) => {
            value.as_str().map(PathBuf::from)
        }
        _ => None,
    }
}

/// The one command in an input, and everything else in it.
pub(in crate::acp) fn split_command(
    fields: &Map<String, Value>,
) -> Option<(String, Map<String, Value>)> {
    let mut rest = fields.clone();
    let given = (rest.remove("command"), rest.remove("cmd"));
    let ((Some(command), None) | (None, Some(command))) = given else {
        return None;
    };
    let text = match command {
        Value::String(text) => text,
        Value::Array(words) => {
            let words: Option<Vec<String>> = words.iter().map(quoted_word).collect();
            words?.join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    (!text.trim().is_empty()).then_some((text, rest))
}

fn quoted_word(word: &Value) -> Option<String> {
    word.as_str().map(quoted)
}

/// A word as a shell would have to be given it, so that different words never look the same.
pub(in crate::acp) fn quoted(word: &str) -> String {
    if is_plain(word) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Whether a word means itself to a shell.
pub(in crate::acp) fn is_plain(word: &str) -> bool {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./=:,+@%".contains(character);
    !word.is_empty() && word.chars().all(plain)
}

/// Whether an input holds what a change of a file needs and nothing that could make it another act.
fn is_plain_edit(fields: &Map<String, Value>) -> bool {
    let is_known = |(key, value): (&String, &Value)| {
        let key = key.as_str();
        PATH_KEYS.contains(&key)
            || CONTENT_KEYS.contains(&key)
            || EDIT_KEYS.contains(&key)
            || (key == "diff" && is_of_one_file(fields, value))
    };
    fields.iter().all(is_known)
}

/// Whether a difference is one of the file that the input names, and of no other. One agent gives nothing else.
fn is_of_one_file(fields: &Map<String, Value>, diff: &Value) -> bool {
    let path = PATH_KEYS.iter().find_map(|key| fields.get(*key)?.as_str());
    let (Some(diff), Some(path)) = (diff.as_str(), path) else {
        return false;
    };
    let mut headers = diff.lines().filter_map(|line| line.strip_prefix("+++ "));
    headers
        .next()
        .is_some_and(|header| header.trim_end() == path)
        && headers.next().is_none()
}

/// Every file that is to be changed, by what is shown and by what the tool is given.
fn edited_paths(wanted: &Wanted, fields: Option<&Map<String, Value>>) -> Option<Vec<PathBuf>> {
    let shown = wanted.call.changes().map(|change| change.path.as_str());
    let given = fields.into_iter().flat_map(|fields| {
        PATH_KEYS
            .iter()
            .filter_map(|key| fields.get(*key)?.as_str())
    });
    let mut paths: Vec<PathBuf> = shown.chain(given).map(PathBuf::from).collect();
    if paths.is_empty() {
        return None;
    }
    paths.extend(wanted.call.locations.iter().map(PathBuf::from));
    Some(paths)
}

/// A path as rules have it: relative within the session's directory, absolute elsewhere.
pub(in crate::acp) fn relative_to(path: &Path, directory: &Path) -> String {
    let climbs = path
        .components()
        .any(|part| matches!(part, Component::ParentDir));
    let within = path.strip_prefix(directory).ok().filter(|_| !climbs);
    within.unwrap_or(path).to_string_lossy().into_owned()
}

/// Whether a path lies outside the session's directory, as far as its text tells.
pub(super) fn is_outside(path: &str, directory: &Path) -> bool {
    let path = Path::new(path);
    let climbs = path
        .components()
        .any(|part| matches!(part, Component::ParentDir));
    climbs || (path.is_absolute() && !path.starts_with(directory))
}
