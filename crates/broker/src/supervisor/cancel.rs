//! Cancelling a turn: the ledger first, then the engine, then what the engine leaves lying about.

use countersign_core::ask::{AskPhase, Withdrawal};
use countersign_core::delivery::Undeliverable;
use countersign_core::id::TurnId;
use countersign_core::session::{Session, TurnOutcome};
use countersign_core::time::Clock;
use countersign_store::{AskFilter, Store};

use crate::error::BrokerError;
use crate::supervisor::Link;
use crate::supervisor::foreign::tidy_request;

/// More asks of one session than can be waiting.
const ASKS: i64 = 500;

/// Stops what a session and its sub-agents are doing. Their open asks are withdrawn before the engine is
/// told, so that no answer can come in between; the requests that the engine then still holds are refused.
pub(crate) async fn cancel_turn(
    store: &Store,
    clock: &Clock,
    link: &Link,
    session: &Session,
) -> Result<(), BrokerError> {
    let family = family(store, session).await?;
    let mut over = Vec::new();
    for member in &family {
        for phase in [AskPhase::Open, AskPhase::Answered] {
            let filter = AskFilter {
                phase: Some(phase),
                session: Some(member.id),
                ..AskFilter::default()
            };
            for ask in store.asks(filter, ASKS).await? {
                store
                    .withdraw(ask.id, &Withdrawal::TurnCancelled, clock.now())
                    .await?;
                store
                    .give_up(ask.id, &Undeliverable::TurnCancelled, clock.now())
                    .await?;
                over.push(ask);
            }
        }
    }
    link.client
        .abort(&session.directory, &session.native_id)
        .await
        .map_err(BrokerError::Engine)?;
    for ask in over.iter().filter(|ask| ask.run == link.run) {
        tidy_request(link, &ask.directory, &ask.native_id, &ask.subject).await;
    }
    Ok(())
}

/// Stops a session for good: what it does, and what somebody has told it since. None of it is taken up again.
pub(super) async fn stop_session(
    store: &Store,
    clock: &Clock,
    link: &Link,
    session: &Session,
) -> Result<(), BrokerError> {
    let end = async |turn: TurnId| {
        let cancelled = TurnOutcome::Cancelled;
        store
            .end_turn(session.workspace, turn, &cancelled, clock.now())
            .await
    };
    // What waits would be said as soon as the session has come to rest.
    for queued in store.queued_turns(session.id).await? {
        end(queued.turn).await?;
    }
    let cancelled = cancel_turn(store, clock, link, session).await;
    for turn in store.open_turns(session.id).await? {
        end(turn.id).await?;
    }
    cancelled
}

/// A session and the sessions of its sub-agents.
async fn family(store: &Store, session: &Session) -> Result<Vec<Session>, BrokerError> {
    let mut family = vec![session.clone()];
    let mut next = 0;
    while next < family.len() {
        let children = store.child_sessions(family[next].id).await?;
        family.extend(children);
        next += 1;
    }
    Ok(family)
}
