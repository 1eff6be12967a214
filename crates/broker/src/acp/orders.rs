//! What people have a session do: it is in the ledger first, and carried out though whoever wanted it hangs up.

use std::time::Duration;

use countersign_core::actor::Actor;
use countersign_core::session::{Session, Turn};
use countersign_core::time::Timestamp;
use countersign_store::{Attached, NewTurn, StoreError};
use tokio::sync::oneshot;

use crate::acp::{Agents, Conversation, Order, Shared, lock, unavailable};
use crate::error::BrokerError;

/// How long a caller waits for a cancelled turn to be on its way out.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

impl Agents {
    /// Begins a turn with what comes along with its prompt, and has it taken up.
    pub(crate) async fn begin_turn(
        &self,
        session: &Session,
        turn: NewTurn,
        attached: Vec<Attached>,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Turn, BrokerError> {
        let (this, session, by) = (self.clone(), session.clone(), by.clone());
        let begun = self.shared().tasks.spawn(async move {
            let store = &this.shared().store;
            let (turn, _) = store
                .begin_turn_with(session.workspace, turn, &attached, &by, now)
                .await?;
            this.attend(&session);
            Ok(turn)
        });
        begun
            .await
            .unwrap_or_else(|_| Err(unavailable("the turn could not be begun")))
    }

    /// Stops what a session is doing; returns when that is under way.
    pub(crate) async fn cancel(&self, session: &Session, by: &Actor) -> Result<(), BrokerError> {
        let (this, session, by) = (self.clone(), session.clone(), by.clone());
        let cancelled = self
            .shared()
            .tasks
            .spawn(async move { Ok(this.cancel_turns(&session, &by).await?) });
        cancelled
            .await
            .unwrap_or_else(|_| Err(unavailable("the session could not be stopped")))
    }

    /// That it was cancelled is in the ledger first: whichever life of the agent has the turn then, or takes it up, ends
    /// it.
    async fn cancel_turns(&self, session: &Session, by: &Actor) -> Result<(), StoreError> {
        let Shared { store, clock, .. } = self.shared();
        store
            .cancel_turns(session.workspace, session.id, by, clock.now())
            .await?;
        let conversation = lock(&self.0.conversations).get(&session.id).cloned();
        let Some(Conversation { orders, .. }) = conversation else {
            // Nobody speaks with the agent: turns that wait are ended by whoever would take them up.
            if !store.open_turns(session.id).await?.is_empty() {
                self.attend(session);
            }
            return Ok(());
        };
        let (done, is_done) = oneshot::channel();
        let cancelled = async {
            if orders.send(Order::Cancel(done)).await.is_ok() {
                // One that ends just now leaves its turns to the next, which finds them cancelled.
                drop(is_done.await);
            }
        };
        // An agent that is just being started is cancelled as soon as it is there.
        drop(tokio::time::timeout(CANCEL_PATIENCE, cancelled).await);
        Ok(())
    }
}
