//! Talking to an engine that is about to come, or is left alone until somebody needs it.

use std::time::Duration;

use countersign_core::event::EnginePhase;

use super::{Link, Supervisor};
use crate::error::BrokerError;

/// How long an engine that is being started is waited for.
const PATIENCE: Duration = Duration::from_secs(100);

impl Supervisor {
    /// The engine, if it can be talked to. One that waits to be called is called; one that is about to come is waited for
    /// until it can be talked to or is known not to come.
    pub(crate) async fn called_link(&self) -> Result<Link, BrokerError> {
        let mut status = self.report.status.subscribe();
        let phase = status.borrow_and_update().phase;
        let comes = match phase {
            EnginePhase::Absent => self.is_uncalled(),
            EnginePhase::Starting => true,
            EnginePhase::Ready | EnginePhase::Unreachable | EnginePhase::Gone => false,
        };
        if !comes {
            return self.link();
        }
        let mut link = self.report.link.subscribe();
        self.call();
        let coming = async {
            loop {
                tokio::select! {
                    found = link.wait_for(Option::is_some) => {
                        drop(found);
                        return;
                    }
                    changed = status.changed() => {
                        let phase = status.borrow_and_update().phase;
                        let is_coming = matches!(phase, EnginePhase::Starting | EnginePhase::Ready);
                        if changed.is_err() || !is_coming {
                            return;
                        }
                    }
                }
            }
        };
        // Whether it came is looked at, and not how the waiting ended.
        drop(tokio::time::timeout(PATIENCE, coming).await);
        self.link()
    }
}
