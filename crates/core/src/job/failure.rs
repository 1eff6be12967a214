//! Why jobs fail: a code for programs, a sentence with the cause, and what to do about it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a job failed, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The model's provider refused or failed; the message has its words.
    Provider,
    /// The provider kept failing, and the engine kept trying, for too long.
    ProviderRetrying,
    /// A denial ended the turn.
    Denied,
    /// Nobody answered an ask in time, and the turn ended with that.
    AskExpired,
    /// The engine could not be started or reached.
    EngineUnavailable,
    /// The engine ended in the middle, and could not go on with the session.
    EngineGone,
    /// The engine did not take the task: the model, the agent, the mode or something else of it.
    EngineRefused,
    /// The session that was to be resumed cannot be.
    NotResumable,
    /// The worktree could not be made.
    Worktree,
    /// The job took longer than its deadline.
    Deadline,
    /// Nothing was heard of the job for its idle limit.
    Idle,
    /// A shell command was under way of which no process was left.
    ToolStuck,
    /// The agent waited for leave that it no longer asks for.
    AskLost,
    /// Something failed here.
    Internal,
}

impl FailureCode {
    /// Every code.
    pub const ALL: [Self; 14] = [
        Self::Provider,
        Self::ProviderRetrying,
        Self::Denied,
        Self::AskExpired,
        Self::EngineUnavailable,
        Self::EngineGone,
        Self::EngineRefused,
        Self::NotResumable,
        Self::Worktree,
        Self::Deadline,
        Self::Idle,
        Self::ToolStuck,
        Self::AskLost,
        Self::Internal,
    ];

    /// The code's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::ProviderRetrying => "provider_retrying",
            Self::Denied => "denied",
            Self::AskExpired => "ask_expired",
            Self::EngineUnavailable => "engine_unavailable",
            Self::EngineGone => "engine_gone",
            Self::EngineRefused => "engine_refused",
            Self::NotResumable => "not_resumable",
            Self::Worktree => "worktree",
            Self::Deadline => "deadline",
            Self::Idle => "idle",
            Self::ToolStuck => "tool_stuck",
            Self::AskLost => "ask_lost",
            Self::Internal => "internal",
        }
    }

    /// Reads what [`FailureCode::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// What to do about it.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Provider => {
                "check the provider's key, its quota and the model's name, then start the task again or resume it"
            }
            Self::ProviderRetrying => {
                "the provider is overloaded or its limit is used up: wait or choose another model, then resume the job"
            }
            Self::Denied => {
                "resume the job and say what it may do instead, or allow what it asked for"
            }
            Self::AskExpired => {
                "answer asks in time with `countersign inbox`, or start the task with another `--on-ask`, then resume the job"
            }
            Self::EngineUnavailable => "run `countersign doctor`: it says what the engine lacks",
            Self::EngineGone => "what it said until then is kept; resume the job to go on",
            Self::EngineRefused => {
                "check the model, the agent and the mode that were asked for; `countersign engines` lists what there is"
            }
            Self::NotResumable => "start the task anew with `--fresh`",
            Self::Worktree => {
                "a worktree needs a git repository with at least one commit; start the task without `--worktree` else"
            }
            Self::Deadline => {
                "what it did until then is kept; resume the job, or give it a longer deadline"
            }
            Self::Idle => {
                "what it did until then is kept; resume the job, or give it a longer idle limit"
            }
            Self::ToolStuck => {
                "what it did until then is kept; resume the job, and it will see that the command was cut off"
            }
            Self::AskLost => {
                "what it did until then is kept; resume the job, and it will ask again"
            }
            Self::Internal => "the server's log says more; resume the job to go on",
        }
    }
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobFailure {
    /// Why, for programs.
    pub code: FailureCode,
    /// Why, for people; in the provider's or the engine's own words where they are the cause.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl JobFailure {
    /// A failure for `code`, which `message` says more about.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: code.hint().to_owned(),
        }
    }
}
