//! What the transcript says of deeds that were done for an agent: what was read, written and run, within bounds.

use std::path::Path;

use countersign_core::session::{Item, ToolStatus};
use countersign_engine::acp::hosted::{HostMethod, HostRequest, HostResponse, HostedAct};
use countersign_engine::keeper::{ExitStatus, Printed};
use countersign_store::StoreError;
use serde_json::{Value, json};

use super::Done;
use super::deeds::{Came, place_of};
use crate::acp::driver::Driver;

/// How many deeds of a turn the transcript has, each with its own item.
const MOST: usize = 200;
/// The longest path or command that it has whole.
const INPUT: usize = 4 * 1024;
/// How much of what a command printed it has.
const OUTPUT: usize = 16 * 1024;

/// A deed, as the transcript has it.
#[derive(Debug, Clone)]
pub(super) struct Deed {
    method: HostMethod,
    input: Value,
}

impl Deed {
    /// What is done at once; what is asked for first is told when it is done.
    pub(super) fn of(wanted: &HostRequest) -> Option<Self> {
        match wanted {
            HostRequest::Read(read) => {
                let mut input = json!({ "path": read.path });
                if let Some(line) = read.line {
                    input["line"] = json!(line);
                }
                if let Some(limit) = read.limit {
                    input["limit"] = json!(limit);
                }
                Some(Self {
                    method: HostMethod::Read,
                    input,
                })
            }
            HostRequest::Write(write) => Some(Self::write(&write.path, write.content.len())),
            HostRequest::Create(create) => {
                let mut words = vec![create.command.clone()];
                words.extend(create.args.iter().cloned());
                Some(Self {
                    method: HostMethod::Create,
                    input: json!({ "command": words.join(" ") }),
                })
            }
            HostRequest::Output(_)
            | HostRequest::Wait(_)
            | HostRequest::Kill(_)
            | HostRequest::Release(_) => None,
        }
    }

    fn write(path: &Path, length: usize) -> Self {
        Self {
            method: HostMethod::Write,
            input: json!({ "path": path, "bytes": length }),
        }
    }

    fn run(command: &str, directory: &Path) -> Self {
        Self {
            method: HostMethod::Create,
            input: json!({ "command": command, "cwd": directory }),
        }
    }

    pub(super) fn act(act: &HostedAct) -> Self {
        match act {
            HostedAct::Write { path, content, .. } => Self::write(path, content.len()),
            HostedAct::Run {
                line, directory, ..
            } => Self::run(&line.text, directory),
        }
    }

    fn item(mut self, status: ToolStatus, output: String) -> Item {
        if let Some(fields) = self.input.as_object_mut() {
            fields.values_mut().for_each(cut);
        }
        Item::Tool {
            tool: self.method.name().to_owned(),
            status,
            input: self.input,
            changes: vec![],
            output,
            child: None,
        }
    }
}

impl Driver {
    /// Writes down what was done.
    pub(super) async fn tell_deed(&mut self, done: &Done) -> Result<(), StoreError> {
        let item = match (&done.deed, &done.came) {
            (Some(deed), Came::Refused(refusal)) => Some(
                deed.clone()
                    .item(ToolStatus::Failed, refusal.message.clone()),
            ),
            (Some(deed), Came::Answer(response, _)) => {
                let (status, output) = told(response);
                Some(deed.clone().item(status, output))
            }
            (Some(_), Came::Write(_) | Came::Command(_) | Came::Expected(_)) | (None, _) => None,
        };
        if let Some(item) = item {
            self.put_deed(done.request.at, item).await?;
        }
        if let Came::Answer(response, printed) = &done.came {
            if let (HostResponse::Created(terminal), Some(deed)) = (response, &done.deed) {
                let command = deed.input["command"].as_str().unwrap_or_default();
                self.hosting
                    .running
                    .insert(terminal.clone(), command.to_owned());
            }
            if let Some((terminal, printed)) = printed {
                self.tell_terminal(terminal, printed).await?;
            }
        }
        Ok(())
    }

    async fn put_deed(&mut self, at: u64, item: Item) -> Result<(), StoreError> {
        self.hosting.told += 1;
        if self.hosting.told <= MOST {
            let key = format!("{}/{at}", self.run.id);
            return self.page().put(&key, &item).await;
        }
        let more = self.hosting.told - MOST;
        let text = format!("{more} more things were done for the agent than are listed here.");
        // Each of them would be a write; what is told is how many there were at a power of two.
        if more.is_power_of_two() {
            let key = self.key_of_turn("hosting");
            self.page().put(&key, &Item::Notice { text }).await?;
        }
        Ok(())
    }

    /// Writes down what a command printed, once it has ended.
    async fn tell_terminal(&mut self, terminal: &str, printed: &Printed) -> Result<(), StoreError> {
        let (Some(at), Some(exit)) = (place_of(terminal), &printed.exit) else {
            return Ok(());
        };
        self.hosting.running.remove(terminal);
        let (status, how) = match exit {
            ExitStatus::Code(0) => (ToolStatus::Completed, None),
            ExitStatus::Code(code) => (ToolStatus::Failed, Some(format!("(exit code {code})"))),
            ExitStatus::Signal(signal) => (
                ToolStatus::Failed,
                Some(format!("(ended by signal {signal})")),
            ),
            ExitStatus::NotStarted(_) | ExitStatus::Unknown => (ToolStatus::Failed, None),
        };
        let text = &printed.text;
        let start = text.ceil_char_boundary(text.len().saturating_sub(OUTPUT));
        let mut output = text[start..].to_owned();
        if printed.truncated || start > 0 {
            output.insert_str(0, "(the beginning is left out)\n");
        }
        if let Some(how) = how {
            output.push_str(&how);
        }
        let deed = Deed {
            method: HostMethod::Create,
            input: json!({ "command": printed.label }),
        };
        let key = format!("{}/{at}", self.run.id);
        self.page().put(&key, &deed.item(status, output)).await
    }

    /// Closes the commands that end with their agent.
    pub(in crate::acp) async fn close_terminals(&mut self) -> Result<(), StoreError> {
        for (terminal, command) in std::mem::take(&mut self.hosting.running) {
            let Some(at) = place_of(&terminal) else {
                continue;
            };
            let deed = Deed {
                method: HostMethod::Create,
                input: json!({ "command": command }),
            };
            let item = deed.item(ToolStatus::Failed, "It ended with the agent.".to_owned());
            let key = format!("{}/{at}", self.run.id);
            self.page().put(&key, &item).await?;
        }
        Ok(())
    }
}

/// Shortens a text that would be too long for the transcript; the ask for it has all of it.
fn cut(value: &mut Value) {
    if let Value::String(text) = value
        && text.len() > INPUT
    {
        text.truncate(text.floor_char_boundary(INPUT));
        text.push_str(" (the rest is left out)");
    }
}

fn told(response: &HostResponse) -> (ToolStatus, String) {
    match response {
        HostResponse::Read(text) => {
            let lines = text.lines().count();
            (ToolStatus::Completed, format!("{lines} lines were read."))
        }
        HostResponse::Created(_) => (ToolStatus::Running, String::new()),
        HostResponse::Written
        | HostResponse::Printed(_)
        | HostResponse::Ended(_)
        | HostResponse::Killed
        | HostResponse::Released => (ToolStatus::Completed, String::new()),
    }
}
