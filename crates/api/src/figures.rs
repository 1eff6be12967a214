//! Figures about asks on the wire.

use countersign_core::actor::Actor;
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Figures about the asks of the last days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FiguresView {
    /// Whether all asks of these days were counted; otherwise the oldest days are missing, for there were too many.
    pub complete: bool,
    /// The days, oldest first, by when their asks were opened.
    pub days: Vec<DayView>,
    /// How long people took over all of them.
    pub waits: WaitsView,
    /// Who answered how many, the busiest first; rules are not among them.
    pub people: Vec<AnswererView>,
    /// What became of what each tool wanted, the one most asked for first.
    pub tools: Vec<ToolView>,
    /// Whether people answered in time.
    pub slo: SloView,
}

/// Figures about one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DayView {
    /// When it begins.
    pub from: Timestamp,
    /// What became of its asks.
    #[serde(flatten)]
    pub fates: FatesView,
    /// How long people took.
    pub waits: WaitsView,
}

/// What became of asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FatesView {
    /// All of them.
    pub asks: i64,
    /// A person said yes.
    pub allowed: i64,
    /// A person said no.
    pub denied: i64,
    /// A rule said yes.
    pub allowed_by_rule: i64,
    /// A rule said no.
    pub denied_by_rule: i64,
    /// Nobody answered in time.
    pub expired: i64,
    /// Nobody could answer any more.
    pub withdrawn: i64,
    /// They wait.
    pub open: i64,
}

/// How long people took, in whole seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WaitsView {
    /// How many answers this is about.
    pub answers: i64,
    /// Half of them took no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_s: Option<i64>,
    /// Nine in ten took no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_s: Option<i64>,
}

/// What one person answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnswererView {
    /// Who.
    pub actor: Actor,
    /// How often yes.
    pub allowed: i64,
    /// How often no.
    pub denied: i64,
}

/// What became of what one tool wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolView {
    /// The tool.
    pub tool: String,
    /// What became of it.
    #[serde(flatten)]
    pub fates: FatesView,
}

/// Whether people answered in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SloView {
    /// The time that an answer may take.
    pub target_s: i64,
    /// How many asks wanted a person's answer within it. What a rule answered and what was withdrawn is not among them,
    /// nor what still waits and is not late; what nobody answered is.
    pub counted: i64,
    /// How many of these were answered in time.
    pub in_time: i64,
}
