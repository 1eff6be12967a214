//! The states of a job, and the steps between them. A terminal state never changes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::job::JobKind;

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It is written down and waits for its place.
    Queued,
    /// It has its place, and its session is being made.
    Starting,
    /// Its turn is under way.
    Running,
    /// An ask of it is open.
    Waiting,
    /// It came to an end by itself.
    Completed,
    /// It ended without that, for a reason.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

impl JobState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Starting,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The state's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads what [`JobState::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether nothing more can happen to it.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Starting | Self::Running | Self::Waiting => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }

    /// Whether it takes one of the places that there are.
    pub const fn holds_place(self) -> bool {
        match self {
            Self::Starting | Self::Running | Self::Waiting => true,
            Self::Queued | Self::Completed | Self::Failed | Self::Cancelled => false,
        }
    }

    /// The state after `step`, or why it cannot be taken.
    pub const fn advance(self, step: JobStep) -> Result<Self, JobRefusal> {
        match (self, step) {
            (Self::Completed | Self::Failed | Self::Cancelled, _) => Err(JobRefusal::Over),
            (Self::Queued, JobStep::Start) => Ok(Self::Starting),
            (Self::Starting, JobStep::Run) | (Self::Waiting, JobStep::GoOn) => Ok(Self::Running),
            (Self::Running, JobStep::Wait) => Ok(Self::Waiting),
            (Self::Running | Self::Waiting, JobStep::Complete) => Ok(Self::Completed),
            (Self::Queued | Self::Starting | Self::Running | Self::Waiting, JobStep::Fail) => {
                Ok(Self::Failed)
            }
            (Self::Queued | Self::Starting | Self::Running | Self::Waiting, JobStep::Cancel) => {
                Ok(Self::Cancelled)
            }
            (Self::Queued, JobStep::Run | JobStep::Wait | JobStep::GoOn | JobStep::Complete)
            | (
                Self::Starting,
                JobStep::Start | JobStep::Wait | JobStep::GoOn | JobStep::Complete,
            )
            | (Self::Running, JobStep::Start | JobStep::Run | JobStep::GoOn)
            | (Self::Waiting, JobStep::Start | JobStep::Run | JobStep::Wait) => {
                Err(JobRefusal::OutOfOrder)
            }
        }
    }

    /// The states from which `step` can be taken.
    pub fn before(step: JobStep) -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(move |state| state.advance(step).is_ok())
    }
}

/// Something that can happen to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobStep {
    /// It is taken from the queue.
    Start,
    /// Its prompt is written down in its session.
    Run,
    /// An ask of it is open.
    Wait,
    /// No ask of it is open any more.
    GoOn,
    /// Its turn came to an end by itself.
    Complete,
    /// It ends for a reason.
    Fail,
    /// Somebody cancelled it.
    Cancel,
}

impl JobStep {
    /// Every step.
    pub const ALL: [Self; 7] = [
        Self::Start,
        Self::Run,
        Self::Wait,
        Self::GoOn,
        Self::Complete,
        Self::Fail,
        Self::Cancel,
    ];
}

/// Why a step cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JobRefusal {
    /// It has ended.
    #[error("the job is over")]
    Over,
    /// Another step comes first.
    #[error("the job does not stand where this could happen")]
    OutOfOrder,
}

/// What a job is about at the moment: finer than its state, and only ever shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobPhase {
    /// Waits for its place.
    Queued,
    /// Its session is being made.
    Starting,
    /// Thinks, or says something.
    Running,
    /// Reads and searches.
    Investigating,
    /// Reviews.
    Reviewing,
    /// Changes files.
    Editing,
    /// Runs commands.
    Verifying,
    /// Waits for an answer.
    Waiting,
    /// Is being cancelled.
    Finalizing,
    /// Came to its end.
    Done,
    /// Failed.
    Failed,
    /// Was cancelled.
    Cancelled,
}

impl JobPhase {
    /// The phase's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Investigating => "investigating",
            Self::Reviewing => "reviewing",
            Self::Editing => "editing",
            Self::Verifying => "verifying",
            Self::Waiting => "waiting",
            Self::Finalizing => "finalizing",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The phase of a job of `kind` in `state` whose newest tool is `tool`; `is_ending` if it is being cancelled.
    pub fn of(kind: JobKind, state: JobState, tool: Option<&str>, is_ending: bool) -> Self {
        match state {
            JobState::Queued => Self::Queued,
            JobState::Completed => Self::Done,
            JobState::Failed => Self::Failed,
            JobState::Cancelled => Self::Cancelled,
            JobState::Starting | JobState::Running | JobState::Waiting if is_ending => {
                Self::Finalizing
            }
            JobState::Starting => Self::Starting,
            JobState::Waiting => Self::Waiting,
            JobState::Running => match (kind, tool) {
                (JobKind::Review | JobKind::AdversarialReview, _) => Self::Reviewing,
                (JobKind::Task, None) => Self::Running,
                (JobKind::Task, Some(tool)) => Self::of_tool(tool),
            },
        }
    }

    fn of_tool(tool: &str) -> Self {
        let tool = tool.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| tool.contains(word));
        if has(&["edit", "write", "patch", "delete", "move"]) {
            Self::Editing
        } else if has(&["bash", "shell", "execute", "terminal", "command"]) {
            Self::Verifying
        } else if has(&["read", "grep", "glob", "list", "search", "fetch", "think"]) {
            Self::Investigating
        } else {
            Self::Running
        }
    }
}
