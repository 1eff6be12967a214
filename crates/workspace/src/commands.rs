//! Commands: a Markdown file each, whose body is the template of a prompt.

use std::ffi::OsStr;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::beneath::{Entry, EntryKind, Root};
use crate::front_matter::FrontMatter;
use crate::listing::Listing;
use crate::names;
use crate::refusal::Refusal;
use crate::workspace::{Scope, Workspace, if_there};

/// Where the commands of a workspace are.
pub(crate) const FOLDER: &str = ".opencode/commands";
/// Where those of the user are, below the home.
const GLOBAL: &str = ".config/opencode/commands";

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Command {
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is prompted.
    pub template: String,
    /// Which agent is to do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model is to do it; `null` if it does not say.
    pub model: Option<String>,
    /// Whether it is done apart from the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtask: Option<bool>,
    /// Whose it is.
    #[serde(serialize_with = "in_openworks_words")]
    pub scope: Scope,
}

/// A command that is to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandDraft {
    /// What it is called, with or without a slash.
    pub name: String,
    /// What is prompted.
    pub template: String,
    /// What it is for.
    pub description: Option<String>,
    /// Which agent is to do it.
    pub agent: Option<String>,
    /// Which model is to do it.
    pub model: Option<String>,
    /// Whether it is done apart from the conversation; it is not if this does not say.
    pub subtask: Option<bool>,
}

impl Workspace {
    /// Every command of the workspace, or of the user. What is not valid is left out.
    pub fn commands(&self, scope: Scope) -> Result<Listing<Command>, Refusal> {
        let (place, folder, root) = match scope {
            Scope::Project => (
                self.path().join(FOLDER),
                Path::new(FOLDER),
                self.root_if_there()?,
            ),
            Scope::Global => {
                let place = self.home().path().join(GLOBAL);
                // Whoever has a link in their home means what it leads to.
                let root = if_there(Root::open(&place))?;
                (place, Path::new(""), root)
            }
        };
        let Some(root) = root else {
            return Ok(Listing::default());
        };
        let known = self.command_folders.of(&place);
        let listing = known.look(&root, folder, file_of, |name, bytes| {
            parse(name.to_str()?, bytes, scope)
        })?;
        Ok(listing)
    }
}

impl CommandDraft {
    /// The name of its file, and the text.
    pub(crate) fn compose(&self) -> Result<(String, String), Refusal> {
        let template = self.template.trim();
        if template.is_empty() {
            return Err(Refusal::invalid(
                "invalid_command_template",
                "Command template is required",
            ));
        }
        let name = names::command(&self.name)?;
        let mut front = FrontMatter::default();
        front.set("name", Value::from(name));
        for (key, value) in [
            ("description", &self.description),
            ("agent", &self.agent),
            // A model that is `null` makes opencode refuse the whole file.
            ("model", &self.model),
        ] {
            if let Some(value) = value {
                front.set(key, Value::from(value.as_str()));
            }
        }
        front.set("subtask", Value::from(self.subtask.unwrap_or_default()));
        Ok((
            format!("{name}.md"),
            format!("{}\n{template}\n", front.write()),
        ))
    }
}

/// The name of the file of a command.
pub(crate) fn file_name(name: &str) -> Result<String, Refusal> {
    Ok(format!("{}.md", names::command(name)?))
}

fn file_of(entry: &Entry) -> Option<std::ffi::OsString> {
    let is_markdown = Path::new(&entry.name).extension() == Some(OsStr::new("md"));
    (entry.kind == EntryKind::File && is_markdown).then(|| entry.name.clone())
}

fn parse(file: &str, bytes: Vec<u8>, scope: Scope) -> Option<Command> {
    let content = String::from_utf8(bytes).ok()?;
    let (front, body) = FrontMatter::split(&content).ok()?;
    let owned = |key| front.text(key).map(str::to_owned);
    let name = owned("name").unwrap_or_else(|| file.trim_end_matches(".md").to_owned());
    if !names::is_plain(&name) {
        return None;
    }
    Some(Command {
        name,
        description: owned("description"),
        template: body.trim().to_owned(),
        agent: owned("agent"),
        model: owned("model"),
        subtask: front.flag("subtask"),
        scope,
    })
}

/// OpenWork calls the scope of a workspace's command by another word than that of its other things.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn in_openworks_words<S: Serializer>(scope: &Scope, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match scope {
        Scope::Project => "workspace",
        Scope::Global => "global",
    })
}

#[cfg(test)]
mod tests;
