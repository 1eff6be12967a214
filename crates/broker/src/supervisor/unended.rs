//! Watches over sessions that are at work: one that the engine knows nothing of must not be so for ever.
//!
//! The engine says when a session comes to rest, and that ends its turns. This is for when it did not, or
//! nobody heard it: a prompt that was dropped with a stopped turn, an announcement between two servers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::id::SessionId;
use countersign_core::session::{Session, TurnOutcome};
use tokio_util::sync::CancellationToken;

use crate::error::BrokerError;
use crate::supervisor::run::EngineRun;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(2);
/// How often in a row a session has to be found at rest: just after a prompt the engine does not list it yet.
const PATIENCE: u32 = 3;

/// Ends turns of sessions that stay at rest until `over`.
pub(super) async fn watch(run: Arc<EngineRun>, over: CancellationToken) {
    let mut at_rest: HashMap<SessionId, u32> = HashMap::new();
    loop {
        tokio::select! {
            () = over.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        if let Err(error) = run.end_forgotten_turns(&mut at_rest).await {
            // The engine or the ledger cannot be reached, which others say loudly enough.
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "turns could not be watched"
            );
        }
    }
}

impl EngineRun {
    async fn end_forgotten_turns(
        &self,
        at_rest: &mut HashMap<SessionId, u32>,
    ) -> Result<(), BrokerError> {
        let workspace = &self.shared.workspace;
        let sessions = self
            .shared
            .store
            .sessions_at_work(workspace.id, Session::OPENCODE)
            .await?;
        if sessions.is_empty() {
            at_rest.clear();
            return Ok(());
        }
        let statuses = self
            .link
            .client
            .statuses(&workspace.path)
            .await
            .map_err(BrokerError::Engine)?;
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
