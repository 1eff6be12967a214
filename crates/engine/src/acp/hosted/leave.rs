//! Leave that an agent was just given, for something that it then has its host do.
//!
//! Most agents ask before they act (`session/request_permission`) and then have the host act. They must not have to ask
//! twice; and what is done has to be what was allowed. So **"just asked"** means all of this:
//!
//! - The request for leave was one of the same session and the same life of the agent, it was answered with a yes (by a
//!   person or a rule, and not with an option whose meaning nobody here knows), and the answer is on its way or there.
//! - The tool call that it was for has not ended, and the turn neither has, nor was it cancelled.
//! - The leave was not used: it is good for one write of each file, or for one command.
//! - A **write** is covered if the tool is one that changes files, and the request named this very file. The file is
//!   where its links lead (`Place`), while the request is taken at its word: what was named through a link was not
//!   shown as the file that it is. If the request showed changes of files, or what is to be in a file, then only files
//!   that it showed so are covered, and what is written has to be what it showed: the content that comes of the changes
//!   on top of what is in the file now, or the content itself. If it showed none, the files that its input names are
//!   covered, or those of its locations if the input names none: the person allowed an edit of that file without seeing
//!   more.
//! - A **command** is covered if the tool is a shell and the command line is the one that was shown, in the directory that
//!   was shown (the session's if none was), with no variables added. A shell with `-c` and that line is the same.
//!
//! Everything else is asked. All this is forgotten with a server that is killed: then it is asked again.

use std::path::{Path, PathBuf};

use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, OptionKind, Subject};
use countersign_core::id::AskId;
use serde::Deserialize;
use serde_json::Value;

use super::asking::{WantedCommand, WantedWrite};
use crate::acp::ask::identity::{EDIT, PATH_KEYS, SHELL, directory_of, split_command, telling};

/// Where an input holds all that is to be in a file.
const WHOLE_KEYS: [&str; 4] = ["content", "contents", "file_text", "new_content"];

/// What an agent was allowed, and has not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leave {
    /// The ask that was answered.
    pub ask: AskId,
    /// The tool call that it is for.
    pub tool_call: String,
    allowed: Allowed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    Files(Vec<AllowedFile>),
    Command { text: String, directory: PathBuf },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedFile {
    path: PathBuf,
    content: AllowedContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowedContent {
    /// What comes of these changes, one after the other.
    Changes(Vec<Change>),
    /// Exactly this.
    Whole(String),
    /// None was shown.
    NotShown,
}

/// The tool call of an ask, as it was when it was asked.
#[derive(Debug, Deserialize)]
struct Call {
    id: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    locations: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Change {
    path: PathBuf,
    old: Option<String>,
    new: String,
}

impl Leave {
    /// The leave that an answer to `ask` gives, in a session that works in `directory`.
    pub fn of(ask: &Ask, directory: &Path) -> Option<Self> {
        let Subject::Permission { tool, .. } = &ask.subject else {
            return None;
        };
        if !is_leave(&ask.state.answer()?.choice) {
            return None;
        }
        let call = Call::deserialize(ask.raw.get("tool_call")?).ok()?;
        let allowed = match tool.as_str() {
            EDIT => Allowed::Files(files(&call, directory)),
            SHELL => command(&call, directory)?,
            _ => return None,
        };
        Some(Self {
            ask: ask.id,
            tool_call: call.id,
            allowed,
        })
    }

    /// Uses the leave for a write, if it covers it.
    pub fn use_for_write(&mut self, wanted: &WantedWrite) -> bool {
        let Allowed::Files(files) = &mut self.allowed else {
            return false;
        };
        let covers =
            |file: &AllowedFile| file.path == wanted.place.path() && file.content.covers(wanted);
        let Some(position) = files.iter().position(covers) else {
            return false;
        };
        files.remove(position);
        true
    }

    /// Uses the leave for a command, if it covers it.
    pub fn use_for_command(&mut self, wanted: &WantedCommand) -> bool {
        let Allowed::Command { text, directory } = &self.allowed else {
            return false;
        };
        let covers = wanted.variables.is_empty()
            && wanted.line.is(text)
            && wanted.directory.path() == directory;
        if covers {
            self.allowed = Allowed::Files(vec![]);
        }
        covers
    }

    /// Whether there is nothing left that it could be used for.
    pub fn is_used_up(&self) -> bool {
        matches!(&self.allowed, Allowed::Files(files) if files.is_empty())
    }
}

/// Whether a choice is a yes whose meaning is known.
fn is_leave(choice: &Choice) -> bool {
    match choice {
        Choice::AllowOnce | Choice::AllowAlways { .. } => true,
        Choice::Option { kind, .. } => match kind {
            OptionKind::AllowOnce | OptionKind::AllowAlways => true,
            OptionKind::Deny | OptionKind::DenyAlways | OptionKind::Other => false,
        },
        Choice::Deny { .. } | Choice::Choices { .. } => false,
    }
}

fn files(call: &Call, directory: &Path) -> Vec<AllowedFile> {
    let mut files: Vec<AllowedFile> = vec![];
    for change in &call.changes {
        let path = directory.join(&change.path);
        let known = files.iter_mut().find(|file| file.path == path);
        match known.map(|file| &mut file.content) {
            Some(AllowedContent::Changes(changes)) => changes.push(change.clone()),
            Some(AllowedContent::Whole(_) | AllowedContent::NotShown) | None => {
                files.push(AllowedFile {
                    path,
                    content: AllowedContent::Changes(vec![change.clone()]),
                });
            }
        }
    }
    if !files.is_empty() {
        return files;
    }
    let field = |key: &&str| call.input.get(key).and_then(Value::as_str);
    let named: Vec<PathBuf> = PATH_KEYS
        .iter()
        .filter_map(field)
        .map(PathBuf::from)
        .collect();
    let whole: Vec<&str> = WHOLE_KEYS.iter().filter_map(field).collect();
    let content = match whole.as_slice() {
        [] => AllowedContent::NotShown,
        [only] => AllowedContent::Whole((*only).to_owned()),
        // Which of them would be written is not known.
        [..] => return vec![],
    };
    let named = if named.is_empty() {
        call.locations.clone()
    } else {
        named
    };
    named
        .into_iter()
        .map(|path| AllowedFile {
            path: directory.join(path),
            content: content.clone(),
        })
        .collect()
}

fn command(call: &Call, directory: &Path) -> Option<Allowed> {
    let (text, rest) = split_command(call.input.as_object()?)?;
    let telling = telling(rest);
    let directory = match directory_of(&telling) {
        Some(named) => directory.join(named),
        None if telling.is_empty() => directory.to_owned(),
        // Something goes with it that may change what it does.
        None => return None,
    };
    Some(Allowed::Command { text, directory })
}

impl AllowedContent {
    fn covers(&self, wanted: &WantedWrite) -> bool {
        match self {
            Self::NotShown => true,
            Self::Whole(content) => *content == wanted.content,
            Self::Changes(changes) => {
                let before = match wanted.before.content.as_deref().map(str::from_utf8) {
                    None => Some(None),
                    Some(Ok(text)) => Some(Some(text.to_owned())),
                    Some(Err(_)) => None,
                };
                let after = before.and_then(|before| {
                    changes
                        .iter()
                        .try_fold(before, |text, change| change.apply(text).map(Some))
                });
                after.flatten().as_ref() == Some(&wanted.content)
            }
        }
    }
}

impl Change {
    /// What a file holds after the change; nothing if it cannot be told.
    fn apply(&self, text: Option<String>) -> Option<String> {
        let text = text.unwrap_or_default();
        match self.old.as_deref().unwrap_or_default() {
            old if old == text => Some(self.new.clone()),
            // A new text for what is not empty was not shown as that.
            "" => None,
            old => {
                let mut found = text.match_indices(old);
                match (found.next(), found.next()) {
                    (Some(_), None) => Some(text.replacen(old, &self.new, 1)),
                    (None, _) | (Some(_), Some(_)) => None,
                }
            }
        }
    }
}
