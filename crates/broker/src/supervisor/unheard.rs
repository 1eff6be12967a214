//! Watches over requests for leave that the engine holds and nobody heard of.
//!
//! The engine announces each, and that opens its ask. This is for announcements that never came: an engine that says
//! that its stream is open a moment before it writes to it, or a request that was to fall with a denial and did not.
//! A tool that waits for leave nobody knows it wants would wait for ever.

use std::collections::HashSet;

use countersign_core::ask::AskState;

use crate::error::BrokerError;
use crate::supervisor::held::Holding;
use crate::supervisor::run::EngineRun;

impl EngineRun {
    /// Takes in what the engine holds and has not told.
    pub(super) async fn take_unheard(&self) -> Result<(), BrokerError> {
        let store = &self.shared.store;
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
        for request in fresh {
            let ask = store.ask_by_native_id(self.link.run, &request).await?;
            if let Some(ask) = ask.filter(|ask| ask.state == AskState::Open)
                && held.holding(&ask) == Holding::NotHeld
            {
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
