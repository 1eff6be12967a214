//! Jobs: a task that is run in the background and always ends in a result or a reason.
//!
//! A job is a row before its id is known to anybody. It has one session and one turn; what became of the turn is what
//! became of the job, unless somebody cancels it or a limit of its own ends it.

mod failure;
mod id;
mod stall;
mod state;
#[cfg(test)]
mod tests;

pub use failure::{FailureCode, JobFailure};
pub use id::{InvalidJobId, JobId};
pub use stall::Signs;
pub use state::{JobPhase, JobRefusal, JobState, JobStep};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::actor::Actor;
use crate::id::{SessionId, TurnId, WorkspaceId};
use crate::settings::Cost;
use crate::time::Timestamp;

/// What a job is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Something is to be done.
    Task,
    /// Changes are to be reviewed.
    Review,
    /// Changes are to be reviewed by somebody who looks for what is wrong with them.
    AdversarialReview,
}

impl JobKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Task, Self::Review, Self::AdversarialReview];

    /// The kind's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Review => "review",
            Self::AdversarialReview => "adversarial_review",
        }
    }

    /// What the ids of such jobs begin with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Review => "review",
            Self::AdversarialReview => "adversarial-review",
        }
    }

    /// Reads what [`JobKind::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What becomes of the asks of a job that nobody may be watching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// They wait for somebody, until they expire.
    #[default]
    Wait,
    /// They are answered with a no that the agent gets to read.
    Deny,
    /// They are allowed once, each of them, in the name of whoever handed the job in. A change of the mode, a plan and
    /// what is not known as a whole wait for somebody; to a question the agent is told that nobody is there, and to
    /// decide itself.
    Allow,
}

impl OnAsk {
    /// Its name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Deny => "deny",
            Self::Allow => "allow",
        }
    }

    /// Reads what [`OnAsk::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Wait, Self::Deny, Self::Allow]
            .into_iter()
            .find(|on_ask| on_ask.name() == name)
    }
}

/// What a job may do to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It may change them, as far as its asks are allowed.
    #[default]
    Write,
    /// Every ask of it is answered with a no: nothing that the engine asks leave for is done.
    ReadOnly,
}

impl Access {
    /// Its name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::ReadOnly => "read_only",
        }
    }

    /// Reads what [`Access::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Write, Self::ReadOnly]
            .into_iter()
            .find(|access| access.name() == name)
    }
}

/// What a job goes on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// The session of an earlier job.
    Job(JobId),
    /// A session.
    Session(SessionId),
}

/// A git worktree that a job works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Worktree {
    /// Where it is.
    pub path: String,
    /// The branch that is checked out in it.
    pub branch: String,
    /// The commit that it began with.
    pub base: String,
    /// What became of it.
    pub fate: WorktreeFate,
}

/// What became of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeFate {
    /// Nobody has decided yet: worktree and branch are there.
    Open,
    /// What was changed is committed on its branch, which stays; the worktree is removed.
    Kept,
    /// Worktree and branch are removed.
    Discarded,
}

/// A file that a job changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedFile {
    /// Its path, from the job's directory on where it is within.
    pub path: String,
    /// How many lines were added, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// How many lines were taken away, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// What a job used up, as far as its engine tells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobUsage {
    /// Tokens that the model read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// How many tokens are in the agent's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_tokens: Option<u64>,
    /// What was paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// What a job is doing, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Breadcrumb {
    /// One line: `bash: cargo test`, or `waiting for you: edit src/a.rs`.
    pub text: String,
    /// Since when it has been doing that.
    pub since: Timestamp,
}

/// A line of a job's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobLogEntry {
    /// Its place, from one.
    pub seq: i64,
    /// When it was written.
    pub at: Timestamp,
    /// How the job stood then.
    pub state: JobState,
    /// What happened.
    pub text: String,
}

/// The limits of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// How long one of its asks stays open.
    pub ask_expires_seconds: u64,
    /// How long it may take from its start on; for ever if nothing is said.
    pub deadline_seconds: Option<u64>,
    /// For how long nothing at all may be heard of it.
    pub idle_limit_seconds: u64,
}

/// A job, as it is in the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// What it is for.
    pub kind: JobKind,
    /// The workspace that it is in.
    pub workspace: WorkspaceId,
    /// Who handed it in.
    pub by: Actor,
    /// The caller's own session, to find its jobs again by.
    pub group: Option<String>,
    /// What it is called.
    pub title: String,
    /// What the agent is told.
    pub prompt: String,
    /// The engine: `opencode`, or the name of an ACP agent.
    pub engine: String,
    /// The model that is wished for, as the engine calls it.
    pub model: Option<String>,
    /// The engine's agent that is wished for.
    pub agent: Option<String>,
    /// The mode that is wished for.
    pub mode: Option<String>,
    /// How hard the model is to think, as the engine calls it.
    pub effort: Option<String>,
    /// What becomes of its asks.
    pub on_ask: OnAsk,
    /// What it may do to files.
    pub access: Access,
    /// What it goes on with.
    pub resume: Option<Resume>,
    /// Where it works.
    pub directory: String,
    /// Whether it is to have a worktree of its own.
    pub wants_worktree: bool,
    /// The worktree, once there is one.
    pub worktree: Option<Worktree>,
    /// Higher ones are started first.
    pub priority: i64,
    /// Its limits.
    pub limits: JobLimits,
    /// How it stands.
    pub state: JobState,
    /// Why it failed.
    pub failure: Option<JobFailure>,
    /// Who cancelled it.
    pub cancelled_by: Option<String>,
    /// When somebody wished it to be cancelled; it ends when the engine has let go of it.
    pub cancel_wished_at: Option<Timestamp>,
    /// Its session, once there is one.
    pub session: Option<SessionId>,
    /// Its turn, chosen when it is started and before the prompt is sent.
    pub turn: Option<TurnId>,
    /// The last words of the agent.
    pub result: Option<String>,
    /// The files that it changed.
    pub changed_files: Vec<ChangedFile>,
    /// What it used up.
    pub usage: Option<JobUsage>,
    /// When it was handed in.
    pub created_at: Timestamp,
    /// When it was taken from the queue.
    pub started_at: Option<Timestamp>,
    /// When its state last changed.
    pub changed_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl Job {
    /// When its time is up.
    pub fn deadline(&self) -> Option<Timestamp> {
        let limit = std::time::Duration::from_secs(self.limits.deadline_seconds?);
        Some(self.started_at?.after(limit))
    }
}
