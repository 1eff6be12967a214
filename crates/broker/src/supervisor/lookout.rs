//! Looks now and then at what goes on: what the engine did not tell, or nobody heard, must not stay so for ever.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::session::Session;
use tokio_util::sync::CancellationToken;

use crate::error::BrokerError;
use crate::supervisor::run::EngineRun;
use crate::supervisor::unended::AtRest;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(2);

/// Looks after sessions that are at work until `over`.
pub(super) async fn keep(run: Arc<EngineRun>, over: CancellationToken) {
    let mut at_rest = AtRest::default();
    loop {
        tokio::select! {
            () = over.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        note(run.look(&mut at_rest).await);
    }
}

impl EngineRun {
    async fn look(&self, at_rest: &mut AtRest) -> Result<(), BrokerError> {
        let store = &self.shared.store;
        let workspace = self.shared.workspace.id;
        let sessions = store.sessions_at_work(workspace, Session::OPENCODE).await?;
        // Until it is listened to the lists are read anyway.
        let is_following = *self.following().borrow();
        if is_following && self.has_unread() {
            note(self.reconcile_asks().await);
            // What it says of sessions is of no use now; that it can be read is.
            note(self.statuses().await.map(drop));
        } else if is_following && !sessions.is_empty() {
            note(self.take_unheard().await);
        }
        self.end_forgotten_turns(sessions, at_rest).await
    }
}

fn note(looked: Result<(), BrokerError>) {
    if let Err(error) = looked {
        // The engine or the ledger cannot be reached, which others say loudly enough.
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "what goes on could not be looked at"
        );
    }
}
