//! Web Push on the wire.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a browser has to know to be told of new asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PushView {
    /// The server's public key, in base 64 for URLs: `applicationServerKey`.
    pub public_key: String,
    /// Whether the caller's own browser is told.
    pub subscribed: bool,
}

/// Where a browser wants to be told: its `PushSubscription`, as JSON.
#[derive(Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct NewPushSubscription {
    /// The address at its push service.
    pub endpoint: String,
    /// What messages are encrypted with.
    pub keys: PushKeys,
}

/// What a browser's messages are encrypted with.
#[derive(Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct PushKeys {
    /// Its public key, in base 64 for URLs.
    pub p256dh: String,
    /// Its secret, in base 64 for URLs.
    pub auth: String,
}
