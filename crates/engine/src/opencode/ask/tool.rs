//! What each of opencode's tools is about to do: what a rule is matched against, and what a person has to see.
//!
//! A request does not say everything that changes what runs: the folder of a command, the prompt of a sub-agent and the
//! arguments of a tool that opencode does not bring along are in the tool call alone. What the call was given has to be
//! known whole for a rule to allow it.

use std::path::Path;

use countersign_core::ask::{Folder, Location, Shown};
use countersign_core::digest::canonical;
use serde_json::Value;

use crate::opencode::wire::Permission;

/// Requests that say everything about the call themselves, unless they say nothing at all.
const SAYS_ALL: [&str; 7] = [
    "edit",
    "webfetch",
    "websearch",
    "glob",
    "grep",
    "external_directory",
    "doom_loop",
];

/// Tools that change nothing but the agent's own notes, or that their patterns name.
const NAMED_BY_PATTERNS: [&str; 4] = ["todowrite", "skill", "webfetch", "websearch"];

/// What a tool is about to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) targets: Vec<String>,
    pub(super) location: Location,
    pub(super) shown: Vec<Shown>,
}

/// Whether what the tool call was given has to be known besides the request.
pub fn needs_input(permission: &Permission) -> bool {
    let says_something = permission
        .metadata
        .as_object()
        .is_some_and(|fields| !fields.is_empty());
    !(says_something && SAYS_ALL.contains(&permission.permission.as_str()))
}

/// What the tool of `permission` is about to do.
pub(super) fn describe(permission: &Permission, input: Option<&Value>) -> Description {
    match permission.permission.as_str() {
        "bash" => command(permission, input),
        "edit" => edit(permission, input),
        "read" => read(permission, input),
        "glob" | "grep" => search(permission, input),
        "external_directory" => external_directory(permission),
        // Asked for where the sub-agent's own configuration is not one that asks.
        "task" => task(permission, input),
        "doom_loop" => doom_loop(permission),
        tool if NAMED_BY_PATTERNS.contains(&tool) => Description {
            targets: permission.patterns.clone(),
            location: Location::default(),
            shown: everything(permission, input),
        },
        _ => other(permission, input),
    }
}

fn command(permission: &Permission, input: Option<&Value>) -> Description {
    let Some(command) = said(permission, "command").or_else(|| given(input, "command")) else {
        // Parts of a command line are not the command line: no rule may go by them.
        let label = "Parts of a command that opencode did not give whole";
        return Description {
            shown: vec![text(label, &permission.patterns.join("\n"))],
            ..Description::default()
        };
    };
    let mut shown = vec![Shown::Command {
        text: command.to_owned(),
    }];
    let folder = match (input, given(input, "workdir")) {
        (None, _) => {
            shown.push(text("Runs in", "a folder that opencode did not say"));
            Folder::Unknown {
                named: String::new(),
            }
        }
        (Some(_), None | Some("")) => Folder::Session,
        (Some(_), Some(named)) => {
            shown.push(text("Runs in", named));
            Folder::Unknown {
                named: named.to_owned(),
            }
        }
    };
    Description {
        targets: vec![command.to_owned()],
        location: Location {
            folder,
            ..Location::default()
        },
        shown,
    }
}

fn edit(permission: &Permission, input: Option<&Value>) -> Description {
    let mut targets = permission.patterns.clone();
    let mut names: Vec<String> = vec![];
    for file in permission.metadata["files"]
        .as_array()
        .into_iter()
        .flatten()
    {
        names.extend(file["filePath"].as_str().map(str::to_owned));
        // Where a file is moved to is in no pattern.
        if let Some(destination) = file["movePath"].as_str() {
            names.push(destination.to_owned());
            targets.push(destination.to_owned());
        }
    }
    if names.is_empty() {
        let named = said(permission, "filepath").or_else(|| given(input, "filePath"));
        names.extend(named.map(str::to_owned));
    }
    let path =
        said(permission, "filepath").map_or_else(|| permission.patterns.join(", "), str::to_owned);
    let shown = match said(permission, "diff").or_else(|| said(permission, "patch")) {
        Some(patch) => Shown::Diff {
            path,
            patch: patch.to_owned(),
        },
        None => text(
            "Change of",
            &input.map_or(path.clone(), |input| format!("{path}\n{input:#}")),
        ),
    };
    Description {
        // Without a name that can be resolved there is nothing that a rule could allow.
        targets: if names.is_empty() { vec![] } else { targets },
        location: Location::of_files(names),
        shown: vec![shown],
    }
}

fn read(permission: &Permission, input: Option<&Value>) -> Description {
    let named = given(input, "filePath");
    // What an MCP server offers to be read has a name of its own.
    let is_resource = permission.patterns.iter().all(|it| it.starts_with("mcp:"));
    Description {
        targets: if named.is_some() || is_resource {
            permission.patterns.clone()
        } else {
            vec![]
        },
        location: Location::of_files(named.map(str::to_owned)),
        shown: everything(permission, input),
    }
}

fn search(permission: &Permission, input: Option<&Value>) -> Description {
    let value = |key| said(permission, key).or_else(|| given(input, key));
    let folder = value("path").unwrap_or(".");
    let mut targets = permission.patterns.clone();
    targets.extend(
        ["path", "include"]
            .into_iter()
            .filter_map(value)
            .map(str::to_owned),
    );
    let mut names = vec![folder.to_owned()];
    if permission.permission == "glob" {
        // A pattern can lead out of the folder that it is looked for in.
        let begins = permission.patterns.iter().map(|pattern| beginning(pattern));
        names.extend(begins.map(|begins| Path::new(folder).join(begins).display().to_string()));
    }
    Description {
        targets,
        location: Location::of_files(names),
        shown: everything(permission, input),
    }
}

/// The folders that a glob begins with, before anything in it stands for something else.
fn beginning(pattern: &str) -> String {
    let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{']);
    let parts: Vec<&str> = pattern.split('/').take_while(is_plain).collect();
    match parts.as_slice() {
        [""] => "/".to_owned(),
        parts => parts.join("/"),
    }
}

fn external_directory(permission: &Permission) -> Description {
    let mut paths = permission.patterns.clone();
    paths.extend(said(permission, "filepath").map(str::to_owned));
    paths.dedup();
    let mut shown: Vec<Shown> = paths
        .into_iter()
        .map(|path| Shown::Path {
            path,
            outside: true,
        })
        .collect();
    shown.extend(said(permission, "command").map(|command| text("For", command)));
    Description {
        targets: permission.patterns.clone(),
        location: Location::of_files(permission.patterns.clone()),
        shown,
    }
}

fn task(permission: &Permission, input: Option<&Value>) -> Description {
    let label = "Starts a sub-agent that may act without asking";
    let details = input.unwrap_or(&permission.metadata);
    Description {
        targets: with_input(permission, input),
        location: Location::default(),
        shown: vec![
            text(label, &permission.patterns.join(", ")),
            text("With", &format!("{details:#}")),
        ],
    }
}

fn doom_loop(permission: &Permission) -> Description {
    Description {
        targets: with_input(permission, permission.metadata.get("input")),
        location: Location::default(),
        shown: everything(permission, None),
    }
}

/// A tool that opencode does not bring along: all that identifies the act is what the tool is given.
fn other(permission: &Permission, input: Option<&Value>) -> Description {
    Description {
        targets: with_input(permission, input),
        location: Location::default(),
        shown: everything(permission, input),
    }
}

/// The patterns and the whole input; nothing if that is not known. A denial of a pattern holds whatever the input is.
fn with_input(permission: &Permission, input: Option<&Value>) -> Vec<String> {
    let Some(input) = input else {
        return vec![];
    };
    let patterns = permission.patterns.iter().cloned();
    patterns.chain([canonical(input)]).collect()
}

/// All that is known of a request and its tool call.
fn everything(permission: &Permission, input: Option<&Value>) -> Vec<Shown> {
    let is_telling = |value: &&Value| value.as_object().is_some_and(|it| !it.is_empty());
    let details = input.filter(is_telling);
    let details = details.or_else(|| Some(&permission.metadata).filter(is_telling));
    let patterns = permission.patterns.iter().map(|it| text("On", it));
    patterns
        .chain(details.map(|details| text("With", &format!("{details:#}"))))
        .collect()
}

fn said<'a>(permission: &'a Permission, key: &str) -> Option<&'a str> {
    permission.metadata.get(key).and_then(Value::as_str)
}

fn given<'a>(input: Option<&'a Value>, key: &str) -> Option<&'a str> {
    input?.get(key)?.as_str()
}

fn text(label: &str, text: &str) -> Shown {
    Shown::Text {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
