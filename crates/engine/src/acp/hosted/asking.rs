//! Asks for what an agent wants its host to do, and the way back from an ask to what is to be done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{CreateTerminalRequest, WriteTextFileRequest};
use countersign_core::ask::{Ask, Location, OfferedOption, OptionKind, Shown, Subject};
use countersign_core::digest::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{CommandLine, HostMethod};
use crate::acp::ask::identity::{self, EDIT, SHELL};
use crate::acp::message::RpcId;
use crate::acp::tool_call::{FileChange, patience};
use crate::ask::EngineAsk;
use crate::files::{Before, Place};

/// What our own record of such an ask is called in it.
const HOST: &str = "host";
const REQUEST: &str = "request";

/// A write that leave is wanted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedWrite {
    /// Where in the agent's output it was asked.
    pub at: u64,
    /// What the agent sent.
    pub request: Value,
    /// The path as the agent named it.
    pub named: PathBuf,
    /// The file that this is.
    pub place: Place,
    /// What is to be in it.
    pub content: String,
    /// What is in it now.
    pub before: Before,
}

/// A command that leave is wanted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedCommand {
    /// Where in the agent's output it was asked.
    pub at: u64,
    /// What the agent sent.
    pub request: Value,
    /// The command line.
    pub line: CommandLine,
    /// The directory that it is to run in.
    pub directory: Place,
    /// The variables that it is to have besides the usual ones.
    pub variables: BTreeMap<String, String>,
}

/// What is written down beside the agent's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
enum Record {
    Write {
        at: u64,
        path: PathBuf,
        before: Option<Digest>,
        after: Digest,
    },
    Run {
        at: u64,
        directory: PathBuf,
    },
}

/// An ask of an agent for something that its host is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosted {
    /// Where in the agent's output it was asked.
    pub at: u64,
    /// What is to be done; nothing if what is written down does not fit together.
    pub act: Option<HostedAct>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostedAct {
    /// A file is to be written.
    Write {
        /// Where.
        path: PathBuf,
        /// What is to be in it.
        content: String,
        /// What was in it when it was asked.
        before: Option<Digest>,
    },
    /// A command is to run.
    Run {
        /// The command line.
        line: CommandLine,
        /// Where.
        directory: PathBuf,
        /// The variables that it is to have besides the usual ones.
        variables: BTreeMap<String, String>,
        /// How much of its output the agent wants kept.
        output_limit: Option<u64>,
    },
}

impl Hosted {
    /// What an ask is about, if it is about something that the host is to do.
    ///
    /// A question's record is what the agent sent, whatever that is; a request for leave has its tool call in it. So
    /// neither is ever taken for one of these.
    pub fn of(ask: &Ask) -> Option<Self> {
        let Subject::Permission { .. } = ask.subject else {
            return None;
        };
        let record = ask.raw.get(HOST)?;
        let record = Record::deserialize(record).ok()?;
        let request = ask.raw.get(REQUEST)?;
        Some(match record {
            Record::Write {
                at,
                path,
                before,
                after,
            } => {
                let content = WriteTextFileRequest::deserialize(request).ok();
                let content = content.map(|request| request.content);
                let act = content
                    .filter(|content| Digest::of_bytes(content.as_bytes()) == after)
                    .map(|content| HostedAct::Write {
                        path,
                        content,
                        before,
                    });
                Self { at, act }
            }
            Record::Run { at, directory } => {
                let act = CreateTerminalRequest::deserialize(request)
                    .ok()
                    .and_then(|request| {
                        Some(HostedAct::Run {
                            line: CommandLine::of(&request)?,
                            directory,
                            variables: variables(&request),
                            output_limit: request.output_byte_limit,
                        })
                    });
                Self { at, act }
            }
        })
    }
}

/// The variables that a request adds, the last of each name.
pub(super) fn variables(request: &CreateTerminalRequest) -> BTreeMap<String, String> {
    let added = request.env.iter();
    added
        .map(|variable| (variable.name.clone(), variable.value.clone()))
        .collect()
}

impl WantedWrite {
    /// What is to be done, if it may.
    pub fn act(self) -> HostedAct {
        HostedAct::Write {
            path: self.place.path().to_owned(),
            before: self.before.digest(),
            content: self.content,
        }
    }
}

impl WantedCommand {
    /// What is to be done, if it may.
    pub fn act(self) -> HostedAct {
        let output_limit = self.request.get("outputByteLimit");
        HostedAct::Run {
            output_limit: output_limit.and_then(Value::as_u64),
            directory: self.directory.path().to_owned(),
            line: self.line,
            variables: self.variables,
        }
    }

    /// What `request` adds to the usual variables.
    pub fn variables_of(request: &CreateTerminalRequest) -> BTreeMap<String, String> {
        variables(request)
    }
}

/// The ask for a write, in a session that works in `directory`.
pub fn write_ask(id: &RpcId, wanted: &WantedWrite, session: &str, directory: &Path) -> EngineAsk {
    let path = wanted.place.path();
    let target = identity::relative_to(path, directory);
    let record = Record::Write {
        at: wanted.at,
        path: path.to_owned(),
        before: wanted.before.digest(),
        after: Digest::of_bytes(wanted.content.as_bytes()),
    };
    let mut shown = vec![difference(wanted)];
    if !path.starts_with(directory) {
        shown.push(Shown::Path {
            path: path.display().to_string(),
            outside: true,
        });
    }
    if wanted.named != path {
        shown.push(text("Asked for as", &wanted.named.display().to_string()));
    }
    EngineAsk {
        arguments: json!({ "method": HostMethod::Write.name(), "record": unplaced(&record) }),
        subject: Subject::Permission {
            tool: EDIT.to_owned(),
            location: Location::of_files([target.clone()]),
            targets: vec![target],
            shown,
        },
        ..hosted(id, session, &record, &wanted.request)
    }
}

fn difference(wanted: &WantedWrite) -> Shown {
    let path = wanted.place.path().display().to_string();
    let old = match wanted.before.content.as_deref().map(str::from_utf8) {
        None => None,
        Some(Ok(old)) => Some(old.to_owned()),
        Some(Err(_)) => {
            let old = wanted.before.content.as_deref().unwrap_or_default();
            let patch = format!(
                "The file is no text now ({} bytes). All of it is replaced by:\n{}",
                old.len(),
                wanted.content
            );
            return Shown::Diff { path, patch };
        }
    };
    let change = FileChange {
        path: path.clone(),
        old,
        new: wanted.content.clone(),
    };
    Shown::Diff {
        path,
        patch: change.patch(patience()),
    }
}

/// The ask for a command, in a session that works in `directory`.
pub fn command_ask(
    id: &RpcId,
    wanted: &WantedCommand,
    session: &str,
    directory: &Path,
) -> EngineAsk {
    let place = wanted.directory.path();
    let record = Record::Run {
        at: wanted.at,
        directory: place.to_owned(),
    };
    let mut rest = Map::new();
    rest.insert("cwd".to_owned(), json!(place));
    if !wanted.variables.is_empty() {
        rest.insert("env".to_owned(), json!(wanted.variables));
    }
    let identity = identity::shell(wanted.line.text.clone(), rest, directory);
    let mut shown = vec![
        Shown::Command {
            text: wanted.line.text.clone(),
        },
        text("In", &place.display().to_string()),
    ];
    if !wanted.variables.is_empty() {
        let variables = wanted.variables.iter();
        let lines: Vec<String> = variables
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        shown.push(text("With these variables", &lines.join("\n")));
    }
    EngineAsk {
        arguments: json!({
            "method": HostMethod::Create.name(),
            "record": unplaced(&record),
            "program": wanted.line.program,
            "args": wanted.line.args,
            "variables": wanted.variables,
        }),
        subject: Subject::Permission {
            tool: SHELL.to_owned(),
            targets: identity.targets,
            location: identity.location,
            shown,
        },
        ..hosted(id, session, &record, &wanted.request)
    }
}

/// Two requests are alike wherever they stand in the agent's output.
fn unplaced(record: &Record) -> Value {
    let mut record = json!(record);
    if let Some(fields) = record.as_object_mut() {
        fields.remove("at");
    }
    record
}

fn hosted(id: &RpcId, session: &str, record: &Record, request: &Value) -> EngineAsk {
    EngineAsk {
        native_id: id.text().to_owned(),
        session: session.to_owned(),
        subject: Subject::Question { questions: vec![] },
        arguments: Value::Null,
        raw: json!({ HOST: record, REQUEST: request }),
        options: vec![
            option("allow", "Allow once", OptionKind::AllowOnce),
            option("deny", "Deny", OptionKind::Deny),
        ],
        tool_call: None,
        person: None,
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

fn text(label: &str, text: &str) -> Shown {
    Shown::Text {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}
