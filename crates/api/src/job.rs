//! Jobs on the wire.

use countersign_core::actor::Actor;
use countersign_core::id::{AskId, SessionId, TurnId, WorkspaceId};
use countersign_core::job::{
    Access, Breadcrumb, ChangedFile, JobFailure, JobId, JobKind, JobLogEntry, JobPhase, JobState,
    JobUsage, OnAsk, Resume, Worktree,
};
use countersign_core::session::FileDiff;
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::attachment::NewAttachment;

/// Hands a job in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJob {
    /// Makes a repetition of this request harmless: the same job comes back for the same id. It begins with the kind's
    /// prefix: `task-`, `review-` or `adversarial-review-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<JobId>,
    /// What it is for.
    pub kind: JobKind,
    /// What the agent is told.
    #[schema(min_length = 1)]
    pub prompt: String,
    /// What it is called; the beginning of the prompt if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub title: Option<String>,
    /// Where it works: an absolute path. It may lie in a workspace that the server does not serve yet, which is then
    /// added, if the caller is the owner at this machine: the git repository around it, or the folder itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The workspace that it is in, where no directory is said; the server's first one if neither is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// With which engine: `opencode`, or the name of an agent as `/api/v1/engines` lists it; the usual one if it is not
    /// said, and with `resume` that of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The model to use: `provider/model` for opencode, one of those that the agent offers else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The engine's agent to use, for opencode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The mode to be in, one of those that the agent offers, for ACP agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How hard the model is to think, as the engine calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// What becomes of its asks. `allow` takes the grant `answer`.
    #[serde(default)]
    pub on_ask: OnAsk,
    /// How long one of its asks stays open; half an hour if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub ask_expires_seconds: Option<u64>,
    /// How long it may take from its start on; as long as it takes if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub deadline_seconds: Option<u64>,
    /// For how long nothing at all may be heard of it; an hour if it is not said. Waiting for an answer does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub idle_limit_seconds: Option<u64>,
    /// Higher ones are started first; 0 if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = -100, maximum = 100)]
    pub priority: Option<i64>,
    /// An earlier job, or a session, to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// What it may do to files.
    #[serde(default)]
    pub access: Access,
    /// Whether it works in a git worktree of its own, on a branch of its own.
    #[serde(default)]
    pub worktree: bool,
    /// The caller's own session, to find its jobs again by: Claude Code's session id, for example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub group: Option<String>,
    /// What comes along with the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10)]
    pub attachments: Vec<NewAttachment>,
}

impl NewJob {
    /// A job of `kind` with nothing but its prompt said.
    pub fn new(kind: JobKind, prompt: impl Into<String>) -> Self {
        Self {
            id: None,
            kind,
            prompt: prompt.into(),
            title: None,
            directory: None,
            workspace: None,
            engine: None,
            model: None,
            agent: None,
            mode: None,
            effort: None,
            on_ask: OnAsk::Wait,
            ask_expires_seconds: None,
            deadline_seconds: None,
            idle_limit_seconds: None,
            priority: None,
            resume: None,
            access: Access::Write,
            worktree: false,
            group: None,
            attachments: Vec::new(),
        }
    }
}

/// A job as clients see it. In lists, `prompt` is its beginning, and `result` and `changed_files` are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// What it is for.
    pub kind: JobKind,
    /// How it stands.
    pub state: JobState,
    /// What it is about at the moment.
    pub phase: JobPhase,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<JobFailure>,
    /// Who cancelled it, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
    /// Who handed it in.
    pub by: Actor,
    /// The workspace that it is in.
    pub workspace: WorkspaceId,
    /// Where that workspace is.
    pub workspace_path: String,
    /// Where it works: the workspace, or its own worktree.
    pub directory: String,
    /// Its worktree, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// The engine.
    pub engine: String,
    /// Its session, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What the engine itself calls its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_session: Option<String>,
    /// Its turn, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The model that was wished for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The engine's agent that was wished for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The mode that was wished for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How hard the model is to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// What becomes of its asks.
    pub on_ask: OnAsk,
    /// What it may do to files.
    pub access: Access,
    /// What it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// The caller's own session that it was handed in with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What it is called.
    pub title: String,
    /// What the agent is told; in lists its beginning.
    pub prompt: String,
    /// Its priority.
    pub priority: i64,
    /// How many jobs are started before it, if it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_place: Option<i64>,
    /// When it was handed in.
    pub created_at: Timestamp,
    /// When it was taken from the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When its state last changed.
    pub changed_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// When its time is up, if it has a deadline and has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// For how long nothing may be heard of it.
    pub idle_limit_seconds: u64,
    /// How long one of its asks stays open.
    pub ask_expires_seconds: u64,
    /// What it does now, and since when, while it has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breadcrumb: Option<Breadcrumb>,
    /// Its open asks.
    pub open_asks: Vec<AskId>,
    /// The beginning of the result, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The last words of the agent; what it had said by then if it did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<ChangedFile>,
    /// What it used up, as far as its engine tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<JobUsage>,
    /// Whether whoever reads this may cancel it.
    pub may_cancel: bool,
}

/// Moves a job within its queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityRequest {
    /// Higher ones are started first.
    #[schema(minimum = -100, maximum = 100)]
    pub priority: i64,
}

/// Hands a job in again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRequest {
    /// The id that the new one is to have. It makes a repetition of this request harmless, and begins with the kind's
    /// prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<JobId>,
}

/// Jobs, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<JobView>,
    /// What to say as `before` to get the ones that are older, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<JobId>,
}

/// A job's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobLog {
    /// The job.
    pub job: JobId,
    /// How it stands.
    pub state: JobState,
    /// The lines after the one that was named, in order.
    pub entries: Vec<JobLogEntry>,
}

/// What a job changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobDiff {
    /// The job.
    pub job: JobId,
    /// The commit that it is compared with, for a job with a worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The change of each file.
    pub files: Vec<FileDiff>,
    /// Whether something was left out because it is too long.
    pub truncated: bool,
}

/// Looks at jobs that have not ended, and ends those that nothing can come of any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HealRequest {
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Look at the jobs of every workspace, not only at those of `directory`.
    #[serde(default)]
    pub all: bool,
    /// The directory whose workspace is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// What was done about a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HealAction {
    /// Its turn had come to its end, and now it has too.
    HealedCompleted,
    /// Nothing could come of it any more; it has failed with the reason.
    HealedFailed,
    /// It would be completed.
    WouldComplete,
    /// It would be ended with a reason.
    WouldFail,
}

/// What was done about one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Healed {
    /// Which.
    pub id: JobId,
    /// What was done.
    pub action: HealAction,
    /// A sentence about it.
    pub details: String,
}

/// What healing came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealReport {
    /// Whether it was only said what would be done.
    pub dry_run: bool,
    /// How many jobs were looked at.
    pub scanned: i64,
    /// What was done; jobs that are well are not among them.
    pub actions: Vec<Healed>,
}
