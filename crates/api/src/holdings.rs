//! What a workspace holds for its agents, on the wire: configuration, skills, commands, plugins, MCP servers, and how
//! they are changed.

use countersign_core::digest::Digest;
use countersign_core::session::FileDiff;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::AskView;

/// Serves a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWorkspace {
    /// The folder, as an absolute path on the server's machine.
    #[schema(min_length = 1)]
    pub path: String,
    /// What it is called; as its folder is, if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 80)]
    pub name: Option<String>,
}

/// Calls a workspace otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameWorkspace {
    /// What it is called from now on.
    #[schema(min_length = 1, max_length = 80)]
    pub name: String,
}

/// What a workspace holds for its agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HoldingsView {
    /// opencode's configuration.
    pub config: ConfigFile,
    /// The skills that count there, the user's own among them.
    pub skills: Vec<SkillView>,
    /// The commands of the workspace.
    pub commands: Vec<CommandView>,
    /// The plugins that count there; none if the configuration cannot be read.
    pub plugins: Vec<PluginView>,
    /// The MCP servers that count there; none if the configuration cannot be read.
    pub mcp: Vec<McpView>,
    /// How changes are made here.
    pub writes: WritesView,
}

/// opencode's configuration as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConfigFile {
    /// Where it is, or would be.
    pub path: String,
    /// The whole file, JSON with comments; nothing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Identifies it; nothing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub digest: Option<Digest>,
    /// What is wrong with it.
    pub problems: Vec<TextProblem>,
}

/// Something that is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TextProblem {
    /// The line, from 1.
    pub line: usize,
    /// The column in it, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Whose something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Belongs {
    /// To the workspace: it can be changed here.
    Workspace,
    /// To the user, for every workspace.
    User,
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SkillView {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where its text is.
    pub path: String,
    /// Whether it can be changed here.
    pub belongs: Belongs,
}

/// A skill with its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SkillDetail {
    /// What is known of it.
    #[serde(flatten)]
    pub skill: SkillView,
    /// What it says, without what stands before it.
    pub body: String,
    /// Identifies its file.
    #[schema(value_type = String)]
    pub digest: Digest,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CommandView {
    /// What it is called, without a slash.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is prompted.
    pub template: String,
    /// Which agent is to do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model is to do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it is done apart from the conversation.
    pub subtask: bool,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginView {
    /// How opencode names it.
    pub spec: String,
    /// Whose it is.
    pub belongs: Belongs,
    /// Its file, if it is one; it cannot be changed here then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpView {
    /// What it is called.
    pub name: String,
    /// What opencode is told of it.
    #[schema(value_type = Object)]
    pub config: Value,
    /// Whose it is.
    pub belongs: Belongs,
    /// Whether opencode may start it.
    pub enabled: bool,
    /// Whether the configuration denies everything that it offers.
    pub denied: bool,
}

/// How changes are made in a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WritesView {
    /// Who is asked before files are written.
    pub mode: WritesMode,
    /// Whether the caller's own changes wait for somebody else.
    pub asked: bool,
}

/// Who is asked before the files of a workspace are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WritesMode {
    /// Somebody else who may approve.
    Ask,
    /// Nobody, if whoever writes may approve.
    Auto,
    /// Nothing is written.
    ReadOnly,
}

/// A change of what a workspace holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum NewChange {
    /// Puts a text in the place of the whole of opencode's configuration.
    WriteConfig {
        /// JSON with comments.
        text: String,
    },
    /// Makes a skill, or changes what it is for and what it says.
    SetSkill {
        /// What it is called: small letters and digits, with single dashes.
        name: String,
        /// What it is for.
        description: String,
        /// What it says.
        body: String,
    },
    /// Deletes a skill with its folder.
    DeleteSkill {
        /// What it is called.
        name: String,
    },
    /// Makes a command, or puts another in its place.
    SetCommand {
        /// What it is called.
        name: String,
        /// What is prompted.
        template: String,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Which agent is to do it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// Which model is to do it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Whether it is done apart from the conversation.
        #[serde(default)]
        subtask: bool,
    },
    /// Deletes a command.
    DeleteCommand {
        /// What it is called.
        name: String,
    },
    /// Adds a plugin.
    AddPlugin {
        /// As opencode names it.
        spec: String,
    },
    /// Takes out a plugin.
    RemovePlugin {
        /// With or without its version.
        spec: String,
    },
    /// Adds an MCP server, or puts another in its place.
    SetMcp {
        /// What it is called.
        name: String,
        /// What opencode is told of it: `type` is `local` with a `command`, or `remote` with a `url`.
        #[schema(value_type = Object)]
        config: Map<String, Value>,
    },
    /// Switches an MCP server on or off.
    EnableMcp {
        /// What it is called.
        name: String,
        /// Whether opencode may start it.
        enabled: bool,
    },
    /// Takes out an MCP server.
    RemoveMcp {
        /// What it is called.
        name: String,
    },
    /// Takes in what was exported from a workspace: all of it, or nothing.
    Import {
        /// The export.
        #[schema(value_type = Object)]
        export: Map<String, Value>,
        /// Whether what is there goes; if not, only what has the same name does.
        #[serde(default)]
        replace: bool,
    },
}

/// Looks at a change before it is proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePreviewRequest {
    /// The change.
    pub change: NewChange,
    /// The digest of the file that was read before; `none` if there was no file. Whether it is another now is only
    /// told if this is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
}

/// What a change would come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangePreviewView {
    /// What it is called in the audit.
    pub action: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// The change of each file.
    pub files: Vec<FileDiff>,
    /// Identifies the files as they are and as they would be; a proposal names it.
    #[schema(value_type = String)]
    pub digest: Digest,
    /// Whether anything would be different.
    pub changed: bool,
    /// The file as it is now, if it is another than the one that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<NewerFileView>,
    /// Whether somebody else has to allow it.
    pub asked: bool,
}

/// A file that changed since it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewerFileView {
    /// What is in it; nothing if it is gone, or no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Identifies it; nothing if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub digest: Option<Digest>,
}

/// Proposes a change that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeProposal {
    /// The change.
    pub change: NewChange,
    /// The digest of its preview: what was seen is what is proposed.
    #[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
    pub digest: Digest,
}

/// What became of a proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ChangeOutcome {
    /// It waits for somebody else.
    Asked {
        /// The ask.
        ask: Box<AskView>,
    },
    /// It is written.
    Written {
        /// Identifies what was written.
        #[schema(value_type = String)]
        digest: Digest,
    },
    /// The files say that already.
    Unchanged,
}

/// Everything of a workspace that another one could take in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExportView {
    /// All of it: what an import takes.
    #[schema(value_type = Object)]
    pub export: Value,
    /// What in it looks like a secret; never the secret.
    pub warnings: Vec<SecretWarning>,
}

/// That a part of an export looks as if a secret were in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretWarning {
    /// Which part it is.
    pub label: String,
    /// What looks like a secret there.
    pub detail: String,
}
