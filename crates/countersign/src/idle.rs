//! The end of a server that was started in the background: it ends by itself when it has had nothing to do for a while.
//!
//! There is something to do while a job has not ended, an ask is open, an agent is at work or somebody is connected. What
//! cannot be found out counts as something to do.

use std::time::Duration;

use countersign_broker::Broker;
use countersign_core::session::Activity;
use countersign_server::Presence;
use tokio::time::Instant;

/// How long it stays if nothing is said.
const USUAL: Duration = Duration::from_mins(15);
const VARIABLE: &str = "COUNTERSIGN_IDLE_EXIT_S";
/// How often it is looked whether there is something to do.
const LOOK: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));

/// For how long there may be nothing to do.
pub(crate) fn limit(configured: Option<u64>) -> Duration {
    let named = std::env::var(VARIABLE).ok();
    let named = named.and_then(|text| text.trim().parse().ok());
    named.or(configured).map_or(USUAL, Duration::from_secs)
}

/// Waits until there has been nothing to do for `limit`.
pub(crate) async fn until_idle(broker: &Broker, presence: &Presence, limit: Duration) {
    let pause = (limit / 10).clamp(LOOK.0, LOOK.1);
    let mut since = Instant::now();
    let mut visits = presence.ever();
    loop {
        tokio::time::sleep(pause).await;
        let ever = presence.ever();
        if presence.now() > 0 || ever != visits || is_busy(broker).await {
            visits = ever;
            since = Instant::now();
        } else if since.elapsed() >= limit {
            return;
        }
    }
}

async fn is_busy(broker: &Broker) -> bool {
    let owner = broker.local_owner();
    let none = |counted: Result<i64, _>| counted.is_ok_and(|count| count == 0);
    if !none(broker.count_unended_jobs().await) || !none(broker.count_open_asks(&owner).await) {
        return true;
    }
    broker
        .sessions(&owner, None)
        .await
        .map_or(true, |sessions| {
            sessions
                .iter()
                .any(|context| context.session.activity == Activity::Busy)
        })
}
