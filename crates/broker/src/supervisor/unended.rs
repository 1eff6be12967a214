//! Watches over sessions that are at work: one that the engine knows nothing of must not be so for ever.
//!
//! The engine says when a session comes to rest, and that ends its turns. This is for when it did not, or
//! nobody heard it: a prompt that was dropped with a stopped turn, an announcement between two servers.

use std::collections::HashMap;

use countersign_core::id::SessionId;
use countersign_core::session::{Session, TurnOutcome};

use crate::error::BrokerError;
use crate::supervisor::run::EngineRun;

/// How often in a row a session has to be found at rest: just after a prompt the engine does not list it yet.
const PATIENCE: u32 = 3;

/// How often in a row each session was found at rest.
pub(super) type AtRest = HashMap<SessionId, u32>;

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
            if statuses.contains_key(&session.native_id) {
                at_rest.remove(&session.id);
                continue;
            }
            let seen = at_rest.entry(session.id).or_default();
            *seen += 1;
            if *seen >= PATIENCE {
                let reason = "the engine came to rest without taking it up".to_owned();
                self.rest(&session, Some(TurnOutcome::Failed { reason }))
                    .await?;
            }
        }
        Ok(())
    }
}
