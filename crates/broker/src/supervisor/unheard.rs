//! Watches over requests for leave that the engine holds and nobody heard of.
//!
//! The engine announces each, and that opens its ask. This is for announcements that never came: an engine that says
//! that its stream is open a moment before it writes to it, or a request that was to fall with a denial and did not.
//! A tool that waits for leave nobody knows it wants would wait for ever.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::ask::AskState;
use countersign_core::session::Session;
use tokio_util::sync::CancellationToken;

use crate::error::BrokerError;
use crate::supervisor::run::EngineRun;

/// How often is looked, while something goes on.
const LOOK: Duration = Duration::from_secs(2);

/// Takes in what the engine holds and has not told until `over`.
pub(super) async fn watch(run: Arc<EngineRun>, over: CancellationToken) {
    let following = run.following();
    loop {
        tokio::select! {
            () = over.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        // Until then the lists are read anyway.
        if !*following.borrow() {
            continue;
        }
        if let Err(error) = run.take_unheard().await {
            // The engine or the ledger cannot be reached, which others say loudly enough.
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "the engine's requests could not be watched"
            );
        }
    }
}

impl EngineRun {
    async fn take_unheard(&self) -> Result<(), BrokerError> {
        let store = &self.shared.store;
        let workspace = self.shared.workspace.id;
        let is_busy = !store
            .busy_sessions(workspace, Session::OPENCODE)
            .await?
            .is_empty()
            || !store
                .sessions_with_open_turns(workspace, Session::OPENCODE)
                .await?
                .is_empty();
        if !is_busy {
            return Ok(());
        }
        let known: HashSet<String> = self.live_requests().await?;
        self.take_held().await?;
        let fresh: Vec<String> = self
            .live_requests()
            .await?
            .difference(&known)
            .cloned()
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        // One that was answered at the engine just before it was opened here would stay open.
        let held = self.take_held().await?;
        for request in fresh.iter().filter(|request| !held.contains(*request)) {
            let ask = store.ask_by_native_id(self.link.run, request).await?;
            if let Some(ask) = ask.filter(|ask| ask.state == AskState::Open) {
                self.dropped(&ask).await?;
            }
        }
        Ok(())
    }

    async fn live_requests(&self) -> Result<HashSet<String>, BrokerError> {
        let live = self.shared.store.live_asks(self.link.run).await?;
        Ok(live.into_iter().map(|ask| ask.native_id).collect())
    }
}
