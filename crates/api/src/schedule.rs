//! Scheduled prompts on the wire.

use countersign_core::schedule::Schedule;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Scheduled prompts, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleList {
    /// The schedules.
    pub schedules: Vec<Schedule>,
}
