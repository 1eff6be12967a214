//! What leave is wanted for, with all that a person has to see to decide, and the options that are offered.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::actor::Actor;
use crate::ask::Location;
use crate::grant::Grant;
use crate::session::FileDiff;

/// What leave is wanted for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// A tool wants to run.
    Permission {
        /// The tool's name as the engine gives it.
        tool: String,
        /// What the tool is about to act on, word for word: what an "always" would be matched against.
        targets: Vec<String>,
        /// Where it acts.
        #[serde(default, skip_serializing_if = "Location::is_plain")]
        location: Location,
        /// What a person has to see to decide, complete.
        shown: Vec<Shown>,
    },
    /// The agent wants to know something.
    Question {
        /// The parts of the question.
        questions: Vec<Question>,
    },
    /// A client wants to change files of the workspace.
    WorkspaceWrite {
        /// What is to be done, by the name that the client's protocol has for it, such as `plugins.add`.
        action: String,
        /// What is to be done, in a sentence.
        summary: String,
        /// The files that are concerned, as the client is told of them.
        paths: Vec<String>,
        /// The change of each file, whole.
        changes: Vec<FileDiff>,
        /// Who proposes it, and may not answer it.
        by: Actor,
        /// Who proposes it, as the client's own protocol says it.
        #[schema(value_type = Object)]
        wire_actor: Value,
    },
}

impl Subject {
    /// The tool's name; a question is the tool `question`, and a write is called by its action.
    pub fn tool(&self) -> &str {
        match self {
            Self::Permission { tool, .. } => tool,
            Self::Question { .. } => "question",
            Self::WorkspaceWrite { action, .. } => action,
        }
    }

    /// Whether it is known where it acts, as far as it does.
    pub fn is_located(&self) -> bool {
        match self {
            Self::Permission { location, .. } => location.is_known(),
            Self::Question { .. } | Self::WorkspaceWrite { .. } => true,
        }
    }

    /// What somebody has to be allowed in order to answer it.
    pub const fn answering_grant(&self) -> Grant {
        match self {
            Self::Permission { .. } | Self::Question { .. } => Grant::Answer,
            Self::WorkspaceWrite { .. } => Grant::Approve,
        }
    }

    /// Who proposed it, if it is a write: nobody answers what they proposed themselves.
    pub const fn proposer(&self) -> Option<&Actor> {
        match self {
            Self::Permission { .. } | Self::Question { .. } => None,
            Self::WorkspaceWrite { by, .. } => Some(by),
        }
    }

    /// What the one who proposes a write calls itself, if it says so.
    pub fn client(&self) -> Option<&str> {
        match self {
            Self::Permission { .. } | Self::Question { .. } => None,
            Self::WorkspaceWrite { wire_actor, .. } => wire_actor.get("clientId")?.as_str(),
        }
    }

    /// One line that says what is asked, for lists; it may be cut by whoever shows it.
    pub fn summary(&self) -> String {
        match self {
            Self::Permission {
                targets,
                location,
                shown,
                ..
            } => shown
                .iter()
                .find_map(|part| match part {
                    Shown::Command { text } => Some(match location.folder.shown() {
                        Some(folder) => format!("{text} (in {folder})"),
                        None => text.clone(),
                    }),
                    Shown::Diff { path, .. } | Shown::Path { path, .. } => Some(path.clone()),
                    Shown::Text { .. } => None,
                })
                .or_else(|| (!targets.is_empty()).then(|| targets.join(", ")))
                .or_else(|| {
                    shown.iter().find_map(|part| match part {
                        Shown::Text { text, .. } => Some(text.clone()),
                        Shown::Command { .. } | Shown::Diff { .. } | Shown::Path { .. } => None,
                    })
                })
                .unwrap_or_default(),
            Self::Question { questions } => questions
                .first()
                .map(|first| first.question.clone())
                .unwrap_or_default(),
            Self::WorkspaceWrite { summary, .. } => summary.clone(),
        }
    }
}

/// One thing that a person has to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shown {
    /// A shell command, whole.
    Command {
        /// Its text.
        text: String,
    },
    /// A change of a file, as a unified diff, whole.
    Diff {
        /// The file.
        path: String,
        /// The diff.
        patch: String,
    },
    /// A path that is to be reached.
    Path {
        /// The path.
        path: String,
        /// Whether it lies outside the workspace.
        outside: bool,
    },
    /// Anything else that the engine said about it.
    Text {
        /// What it is.
        label: String,
        /// Its text.
        text: String,
    },
}

/// One part of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// A word or two to head it.
    pub header: String,
    /// The question itself.
    pub question: String,
    /// Answers that the agent suggests; free text is as good.
    pub options: Vec<QuestionOption>,
    /// Whether several may be chosen.
    pub multiple: bool,
}

/// An answer that the agent suggests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionOption {
    /// What is sent when it is chosen.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// What choosing an offered option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Yes, once.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No.
    Deny,
    /// No, from now on.
    DenyAlways,
    /// Something that the engine has a word for that nobody here knows: only a person can choose it.
    Other,
}

/// An option as the engine offers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OfferedOption {
    /// What the engine calls it.
    pub id: String,
    /// What people read.
    pub name: String,
    /// What it means.
    pub kind: OptionKind,
    /// What somebody has to know before they pick it, where there is more to it than its kind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
