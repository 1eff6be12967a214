//! Watches over sessions that are at work: one that the engine knows nothing of must not be so for ever.
//!
//! The engine says when a session comes to rest, and that ends its turns. This is for when it did not, or
//! nobody heard it: a prompt that was dropped with a stopped turn, an announcement between two servers; and for when the
//! engine cannot tell how a turn ended.

use std::collections::HashMap;

use countersign_core::id::SessionId;
use countersign_core::session::{Activity, Session, TurnOutcome};

use crate::error::BrokerError;
use crate::supervisor::Shared;
use crate::supervisor::held::Doing;
use crate::supervisor::run::EngineRun;

/// How often in a row a session has to be found at rest: just after a prompt the engine does not list it yet.
const PATIENCE: u32 = 3;
/// How often in a row the messages of a session at rest are read before its turns end without them.
const READING_PATIENCE: u32 = 10;

/// What was found of each session, as often in a row.
pub(super) type AtRest = HashMap<SessionId, Looks>;

/// How often in a row a session was looked at.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// It was found at rest.
    at_rest: u32,
    /// How its turns ended could not be read.
    unreadable: u32,
}

impl EngineRun {
    /// Ends the turns of those of `sessions`, which are all that are at work, that stay at rest.
    pub(super) async fn end_forgotten_turns(
        &self,
        sessions: Vec<Session>,
        at_rest: &mut AtRest,
    ) -> Result<(), BrokerError> {
        if sessions.is_empty() {
            at_rest.clear();
            return Ok(());
        }
        let statuses = self.statuses().await?;
        at_rest.retain(|id, _| sessions.iter().any(|session| session.id == *id));
        for session in sessions {
            let looks = at_rest.entry(session.id).or_default();
            let rested = match statuses.doing(&session) {
                Doing::Busy => {
                    *looks = Looks::default();
                    continue;
                }
                Doing::Idle if looks.at_rest + 1 < PATIENCE => {
                    looks.at_rest += 1;
                    continue;
                }
                Doing::Idle => {
                    let reason = "the engine came to rest without taking it up".to_owned();
                    let otherwise = TurnOutcome::Failed { reason };
                    self.rest(&session, Some(otherwise)).await
                }
                Doing::Unknown => self.rest_by_messages(&session).await,
            };
            let Err(BrokerError::Engine(error)) = rested else {
                rested?;
                continue;
            };
            looks.unreadable += 1;
            if looks.unreadable >= READING_PATIENCE && statuses.doing(&session) == Doing::Idle {
                let reason = format!("how it ended is not known: {}", error.sentence());
                self.rest_unread(&session, reason).await?;
            }
        }
        Ok(())
    }

    /// Ends the turns of a session that are known to be over by its messages alone: what it does cannot be read.
    async fn rest_by_messages(&self, session: &Session) -> Result<(), BrokerError> {
        if self.has_finished(session).await? {
            self.rest(session, None).await?;
        }
        Ok(())
    }

    /// Ends the turns of a session that has come to rest, of which nothing can be read.
    async fn rest_unread(&self, session: &Session, reason: String) -> Result<(), BrokerError> {
        let Shared {
            store, clock, live, ..
        } = &self.shared;
        live.forget(session.id);
        let turns = store.open_turns(session.id).await?;
        let failed = TurnOutcome::Failed { reason };
        self.conclude(session, &turns, &[], Some(failed)).await?;
        store
            .set_activity(session.id, Activity::Idle, clock.now())
            .await?;
        self.send_waiting_turns(session).await
    }
}
