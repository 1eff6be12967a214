//! Acts: shown as tool calls, done only with leave, and never left open.

use std::io;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    AgentRequest, Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionUpdate, ToolCall, ToolCallContent,
    ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::{Value, json};

use super::{Cancelled, Outcome, Turn, command};
use crate::session::Leave;

/// The most that is read of a file, or shown of it.
const READ_LIMIT: usize = 64 * 1024;

/// The ids of the options that are offered.
const ALLOW_ONCE: &str = "allow-once";
const ALLOW_ALWAYS: &str = "allow-for-session";
const REJECT_ONCE: &str = "reject";

/// What came of doing an act.
struct Finished {
    status: ToolCallStatus,
    text: String,
    raw: Value,
}

impl Finished {
    fn of(done: Result<(String, Value), String>) -> Self {
        match done {
            Ok((text, raw)) => Self {
                status: ToolCallStatus::Completed,
                text,
                raw,
            },
            Err(text) => Self {
                status: ToolCallStatus::Failed,
                raw: json!({ "error": text }),
                text,
            },
        }
    }
}

impl Turn {
    /// Runs a shell command in the session's directory, if that is allowed.
    pub(crate) async fn run_command(&self, command: &str) -> Result<Outcome, Cancelled> {
        if self.only_plans() {
            return Ok(Outcome::OnlyPlanned);
        }
        let directory = &self.session.directory;
        let call = ToolCall::new(new_call(), command)
            .name("shell".to_owned())
            .kind(ToolKind::Execute)
            .raw_input(json!({ "command": command, "cwd": directory }));
        self.act(call, Leave::Run, async || {
            if self.host.runs {
                return self.have_run(command, directory).await;
            }
            let ended = command::run(command, directory).await;
            ended
                .map_err(|error| format!("The command did not start: {error}"))
                .and_then(command::Ended::outcome)
        })
        .await
    }

    /// Writes `text` into a file of the session's directory, if that is allowed.
    pub(crate) async fn write_file(&self, path: &str, text: &str) -> Result<Outcome, Cancelled> {
        if self.only_plans() {
            return Ok(Outcome::OnlyPlanned);
        }
        let (before, place) = match self.look_at(path) {
            Ok(found) => found,
            Err(error) => {
                self.say(&format!("I cannot edit `{path}`: {error}."))
                    .await?;
                return Ok(Outcome::Failed);
            }
        };
        let diff = Diff::new(&place, text).old_text(before.clone());
        let call = ToolCall::new(new_call(), format!("Edit {path}"))
            .name("edit".to_owned())
            .kind(ToolKind::Edit)
            .raw_input(json!({ "path": place, "content": text }))
            .content(vec![ToolCallContent::from(diff)])
            .locations(vec![ToolCallLocation::new(&place)]);
        self.act(call, Leave::Edit, async || {
            // What was allowed was this change of that text.
            let (now, place) = self.look_at(path).map_err(|error| error.to_string())?;
            if now != before {
                return Err("The file has changed since the question was asked.".to_owned());
            }
            if self.host.writes {
                self.have_written(&place, text).await?;
            } else {
                std::fs::write(&place, text).map_err(|error| error.to_string())?;
            }
            Ok((String::new(), json!({ "written": text.len() })))
        })
        .await
    }

    /// Reads a file of the session's directory, or lists the directory; nobody is asked.
    pub(crate) async fn read(&self, path: &Path) -> Result<(), Cancelled> {
        let place = self.session.directory.join(path);
        let call = ToolCall::new(new_call(), format!("Read {}", place.display()))
            .name("read".to_owned())
            .kind(ToolKind::Read)
            .raw_input(json!({ "path": place }))
            .locations(vec![ToolCallLocation::new(&place)]);
        self.begin(&call).await;
        let read = if place.is_dir() {
            list(&place).map_err(|error| error.to_string())
        } else if self.host.reads {
            let read = self.unless_cancelled(self.have_read(&place)).await;
            let Ok(read) = read else {
                let cancelled = Finished::of(Err("This was cancelled.".to_owned()));
                self.finish(&call.tool_call_id, &[], cancelled).await;
                return Err(Cancelled);
            };
            read.map(|text| beginning(text.as_bytes()))
        } else {
            let read = std::fs::read(&place).map(|bytes| beginning(&bytes));
            read.map_err(|error| error.to_string())
        };
        let done = read.map(|text| {
            let size = text.len();
            (text, json!({ "bytes": size }))
        });
        let result = Finished::of(done);
        self.finish(&call.tool_call_id, &[], result).await;
        Ok(())
    }

    /// Shows an act, asks for leave, and does it if it is given. Whatever happens, the tool call is closed.
    async fn act(
        &self,
        call: ToolCall,
        leave: Leave,
        deed: impl AsyncFnOnce() -> Result<(String, Value), String>,
    ) -> Result<Outcome, Cancelled> {
        self.begin(&call).await;
        self.session.keep();
        let done = async {
            if !self.may(&call, leave).await? {
                return Ok(None);
            }
            let started = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            self.progress(&call.tool_call_id, started).await;
            let done = self.unless_cancelled(deed()).await?;
            Ok(Some(done))
        };
        let (outcome, result) = match done.await {
            Ok(Some(done)) => {
                let outcome = if done.is_ok() {
                    Outcome::Done
                } else {
                    Outcome::Failed
                };
                (Ok(outcome), Finished::of(done))
            }
            Ok(None) => {
                let denied = Err("This was denied.".to_owned());
                (Ok(Outcome::Denied), Finished::of(denied))
            }
            Err(Cancelled) => {
                let cancelled = Err("This was cancelled.".to_owned());
                (Err(Cancelled), Finished::of(cancelled))
            }
        };
        self.finish(&call.tool_call_id, &call.content, result).await;
        self.session.keep();
        outcome
    }

    /// Asks whether `call` may be done. Anything but one of the two kinds of leave means no.
    async fn may(&self, call: &ToolCall, leave: Leave) -> Result<bool, Cancelled> {
        if self.session.is_allowed(leave) {
            return Ok(true);
        }
        let always = match leave {
            Leave::Edit => "Allow all edits in this session",
            Leave::Run => "Allow all commands in this session",
        };
        let options = vec![
            PermissionOption::new(ALLOW_ONCE, "Allow", PermissionOptionKind::AllowOnce),
            PermissionOption::new(ALLOW_ALWAYS, always, PermissionOptionKind::AllowAlways),
            PermissionOption::new(REJECT_ONCE, "Deny", PermissionOptionKind::RejectOnce),
        ];
        let shown = ToolCallUpdate::from(call.clone());
        let request = RequestPermissionRequest::new(self.session.id.clone(), shown, options);
        let asked = self
            .connection
            .request(AgentRequest::RequestPermissionRequest(request));
        let Ok(answer) = self.unless_cancelled(asked).await? else {
            return Ok(false);
        };
        match serde_json::from_value::<RequestPermissionResponse>(answer).map(|it| it.outcome) {
            Ok(RequestPermissionOutcome::Cancelled) => Err(Cancelled),
            Ok(RequestPermissionOutcome::Selected(selected)) => match &*selected.option_id.0 {
                ALLOW_ONCE => Ok(true),
                ALLOW_ALWAYS => {
                    self.session.allow_always(leave);
                    Ok(true)
                }
                _ => Ok(false),
            },
            Ok(_) | Err(_) => Ok(false),
        }
    }

    async fn begin(&self, call: &ToolCall) {
        let begun = SessionUpdate::ToolCall(call.clone());
        self.session.remember(begun.clone());
        self.tell(begun).await;
    }

    async fn finish(&self, id: &ToolCallId, shown: &[ToolCallContent], result: Finished) {
        let mut content = shown.to_vec();
        if !result.text.is_empty() {
            content.push(result.text.into());
        }
        let fields = ToolCallUpdateFields::new()
            .status(result.status)
            .content(content)
            .raw_output(result.raw);
        self.progress(id, fields).await;
    }

    async fn progress(&self, id: &ToolCallId, fields: ToolCallUpdateFields) {
        let update = ToolCallUpdate::new(id.clone(), fields);
        self.session.remember_progress(&update);
        self.tell(SessionUpdate::ToolCallUpdate(update)).await;
    }

    /// What a file holds now, and where it really is. A place outside the session's directory is refused.
    fn look_at(&self, path: &str) -> io::Result<(Option<String>, PathBuf)> {
        let directory = self.session.directory.canonicalize()?;
        let named = directory.join(path);
        let folder = named.parent().unwrap_or(&directory).canonicalize()?;
        let name = named.file_name().unwrap_or_default();
        let mut place = folder.join(name);
        // `canonicalize` follows a link that leads out; where there is nothing, a link may still dangle.
        if place.is_symlink() {
            place = place.canonicalize()?;
        }
        if !place.starts_with(&directory) {
            let outside = "it is outside of the session's directory";
            return Err(io::Error::other(outside));
        }
        match std::fs::read_to_string(&place) {
            Ok(text) => Ok((Some(text), place)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((None, place)),
            Err(error) => Err(error),
        }
    }
}

fn new_call() -> ToolCallId {
    ToolCallId::new(format!("call-{}", uuid::Uuid::now_v7()))
}

fn list(directory: &Path) -> io::Result<String> {
    let entries = std::fs::read_dir(directory)?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .take(100)
        .collect();
    names.sort();
    Ok(names.join("\n"))
}

/// The beginning of a text, and that there is more where there is.
pub(super) fn beginning(bytes: &[u8]) -> String {
    match bytes.split_at_checked(READ_LIMIT) {
        Some((beginning, rest)) if !rest.is_empty() => format!(
            "{}\n({} bytes more)",
            String::from_utf8_lossy(beginning),
            rest.len()
        ),
        Some(_) | None => String::from_utf8_lossy(bytes).into_owned(),
    }
}
