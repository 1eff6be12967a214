//! Notifications on the wire.

use countersign_core::notification::{Notification, Occasion};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Notifications, newest first, and whom the configuration says to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationList {
    /// Whom the configuration says to tell.
    pub targets: Vec<TargetView>,
    /// The notifications.
    pub notifications: Vec<Notification>,
}

/// Somebody or something that is told of what happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TargetView {
    /// What people call it.
    pub name: String,
    /// How it is told: `command`, `webhook` or `desktop`.
    pub kind: String,
    /// Where that leads, without anything that could be a secret.
    pub leads_to: String,
    /// What it is told of.
    pub events: Vec<Occasion>,
    /// The workspaces, by path or name; every one if none is named.
    pub workspaces: Vec<String>,
    /// Whether it is told what a happening was about.
    pub details: bool,
    /// How often it is tried before it is given up.
    pub tries: u32,
}

/// How many dead letters were put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationsRetried {
    /// How many.
    pub retried: u64,
}

/// How a try of a target ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TargetTest {
    /// Whether it took the message.
    pub sent: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The last of what the command printed, or the beginning of what the receiver answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}
