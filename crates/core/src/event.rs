//! Events: what is announced to everybody who watches, in order and by number.
//!
//! An event names what changed and how it stands now; whoever needs more reads it from the ledger.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ask::AskPhase;
use crate::id::{AlarmId, AskId, RuleId, SessionId, TurnId, WorkspaceId};
use crate::job::{JobId, JobState};
use crate::session::Activity;
use crate::time::Timestamp;

/// Something that happened and is in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type")]
pub enum EventBody {
    /// An ask was opened.
    #[serde(rename = "ask.opened")]
    AskOpened {
        /// Which.
        ask: AskId,
        /// The session that asks.
        session: SessionId,
        /// The tool that it is about.
        tool: String,
    },
    /// An ask went on to another state.
    #[serde(rename = "ask.changed")]
    AskChanged {
        /// Which.
        ask: AskId,
        /// The session that asked.
        session: SessionId,
        /// How it stands now.
        state: AskPhase,
    },
    /// A session began, or changed.
    #[serde(rename = "session.changed")]
    SessionChanged {
        /// Which.
        session: SessionId,
        /// What it is doing now.
        activity: Activity,
    },
    /// What can be set for a session changed, or what is set, its commands or its usage.
    #[serde(rename = "settings.changed")]
    SettingsChanged {
        /// The session.
        session: SessionId,
    },
    /// A turn began, or ended.
    #[serde(rename = "turn.changed")]
    TurnChanged {
        /// Which.
        turn: TurnId,
        /// The session it is in.
        session: SessionId,
        /// Whether it is over.
        ended: bool,
    },
    /// A piece of a transcript was written or rewritten.
    #[serde(rename = "item.changed")]
    ItemChanged {
        /// The session.
        session: SessionId,
        /// The item's place in it.
        item: i64,
    },
    /// A job was handed in, or went on to another state.
    #[serde(rename = "job.changed")]
    JobChanged {
        /// Which.
        job: JobId,
        /// How it stands now.
        state: JobState,
        /// Its session, once there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// The caller's own session that it was handed in with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
    /// An engine started, became ready, or ended.
    #[serde(rename = "engine.changed")]
    EngineChanged {
        /// How it stands now.
        state: EnginePhase,
        /// A sentence about it.
        message: String,
    },
    /// A workspace came, went, got another name, or its configuration was written.
    #[serde(rename = "workspace.changed")]
    WorkspaceChanged {
        /// What became of it.
        change: WorkspaceChange,
    },
    /// A rule was made or taken back.
    #[serde(rename = "rule.changed")]
    RuleChanged {
        /// Which.
        rule: RuleId,
    },
    /// Something happened that must not.
    #[serde(rename = "alarm.raised")]
    AlarmRaised {
        /// Which.
        alarm: AlarmId,
        /// What happened.
        message: String,
    },
}

impl EventBody {
    /// The event's type, as in JSON and in an event stream.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AskOpened { .. } => "ask.opened",
            Self::AskChanged { .. } => "ask.changed",
            Self::SessionChanged { .. } => "session.changed",
            Self::SettingsChanged { .. } => "settings.changed",
            Self::TurnChanged { .. } => "turn.changed",
            Self::ItemChanged { .. } => "item.changed",
            Self::JobChanged { .. } => "job.changed",
            Self::EngineChanged { .. } => "engine.changed",
            Self::WorkspaceChanged { .. } => "workspace.changed",
            Self::RuleChanged { .. } => "rule.changed",
            Self::AlarmRaised { .. } => "alarm.raised",
        }
    }
}

/// What became of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceChange {
    /// It is served from now on.
    Added,
    /// It is called otherwise.
    Renamed,
    /// It is served no more; its ledger is kept.
    Removed,
    /// What it holds for its agents was written.
    Written,
}

/// How an engine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnginePhase {
    /// There is none.
    Absent,
    /// It is starting.
    Starting,
    /// It can be talked to.
    Ready,
    /// It is there and cannot be talked to.
    Unreachable,
    /// It ended.
    Gone,
}

impl EnginePhase {
    /// The phase's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Unreachable => "unreachable",
            Self::Gone => "gone",
        }
    }

    /// Reads what [`EnginePhase::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Absent,
            Self::Starting,
            Self::Ready,
            Self::Unreachable,
            Self::Gone,
        ]
        .into_iter()
        .find(|phase| phase.name() == name)
    }
}

/// An event with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Its number; the next one's is higher by one.
    pub seq: i64,
    /// When it happened.
    pub at: Timestamp,
    /// The workspace that it happened in.
    pub workspace: WorkspaceId,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// Words as they are being said: announced, never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delta {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The session.
    pub session: SessionId,
    /// What the engine calls the piece that grows.
    pub item: String,
    /// Whether it is a thought.
    pub thought: bool,
    /// How many characters of it were said before. What a reading of the piece had already is not said again by
    /// a delta that was on its way.
    pub offset: u64,
    /// What was added.
    pub text: String,
}
