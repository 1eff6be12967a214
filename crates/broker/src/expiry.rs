//! Expiry: asks whose time is up end, whether or not anybody looks, and events and notifications are forgotten in the end.

use std::time::Duration;

use countersign_core::time::Clock;
use countersign_store::Store;
use tokio_util::sync::CancellationToken;

/// How often the clock is looked at while an ask can expire: a clock can be set, so no longer sleep.
const LOOK: Duration = Duration::from_millis(500);

/// Ends asks whose time is up until `ending`.
pub(crate) async fn run(store: Store, clock: Clock, ending: CancellationToken) {
    let mut head = store.head();
    loop {
        head.mark_unchanged();
        let wait = match store.next_expiry().await {
            // Nothing can expire before something changes.
            Ok(None) => Duration::MAX,
            Ok(Some(end)) if end <= clock.now() => {
                if let Err(error) = store.expire_due(clock.now()).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "asks could not be ended"
                    );
                }
                LOOK
            }
            Ok(Some(end)) => end.since(clock.now()).min(LOOK),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the ledger does not answer"
                );
                LOOK
            }
        };
        // Whatever changed may expire next. It is looked at a little later: whoever answers now needs the ledger more.
        let woken = async {
            tokio::select! {
                changed = head.changed() => {
                    tokio::time::sleep(LOOK).await;
                    changed.is_ok()
                }
                () = tokio::time::sleep(wait) => true,
            }
        };
        let goes_on = tokio::select! {
            () = ending.cancelled() => false,
            goes_on = woken => goes_on,
        };
        if !goes_on {
            return;
        }
    }
}

/// How long events are kept: for whoever comes back after a holiday.
const EVENTS_KEPT: Duration = Duration::from_hours(30 * 24);
/// How long notifications are kept that were sent, and the dead letters.
const SENT_KEPT: Duration = Duration::from_hours(7 * 24);
const DEAD_KEPT: Duration = Duration::from_hours(30 * 24);
/// How often old events are looked for.
const CLEAN_UP: Duration = Duration::from_hours(1);

/// Forgets old events until `ending`; whoever had come no further is told to read everything again.
pub(crate) async fn forget(store: Store, clock: Clock, ending: CancellationToken) {
    loop {
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(CLEAN_UP) => {}
        }
        if let Err(error) = store.forget_events(clock.now().before(EVENTS_KEPT)).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "old events were not forgotten"
            );
        }
        let now = clock.now();
        let (sent, dead) = (now.before(SENT_KEPT), now.before(DEAD_KEPT));
        if let Err(error) = store.forget_notifications(sent, dead).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "old notifications were not forgotten"
            );
        }
    }
}
