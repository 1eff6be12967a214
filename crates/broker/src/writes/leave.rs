//! Leave to write: used once, and given back if it is not.

use std::fmt;
use std::sync::Arc;

use countersign_core::ask::Ask;
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::grant::Caller;
use countersign_store::{Ground, Record, StoreError};
use tokio::runtime::Handle;

use crate::Broker;
use crate::error::BrokerError;
use crate::unstoppable::to_the_end;

/// Leave to write what was proposed, this one time.
///
/// If it is dropped, nothing was written, and the ledger says so. Whoever writes therefore holds it in a task that the
/// client's going away does not end.
pub struct Leave {
    ask: Arc<Ask>,
    /// In a box: leave travels with the verdicts that carry none.
    broker: Box<Broker>,
    is_used: bool,
}

impl Leave {
    pub(super) fn new(ask: Arc<Ask>, broker: Broker) -> Self {
        Self {
            ask,
            broker: Box::new(broker),
            is_used: false,
        }
    }

    /// The ask, with who allowed it.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    fn use_up(mut self) -> Arc<Ask> {
        self.is_used = true;
        Arc::clone(&self.ask)
    }
}

impl fmt::Debug for Leave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leave")
            .field("ask", &self.ask)
            .finish_non_exhaustive()
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        let why = if std::thread::panicking() {
            Undeliverable::NotWritten {
                message: "the server failed at it".to_owned(),
            }
        } else {
            Undeliverable::ClientGone
        };
        let (id, store, now) = (
            self.ask.id,
            self.broker.store.clone(),
            self.broker.clock.now(),
        );
        // Where nothing runs any more, the next server ends it.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let giving_back = async move {
            if let Err(error) = store.give_up(id, &why, now).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    ask.id = %id,
                    "it could not be noted that `{id}` was not written"
                );
            }
        };
        drop(self.broker.tasks.spawn_on(giving_back, &runtime));
    }
}

impl Broker {
    /// Notes that what the leave was given for is done, and records with it what the caller did.
    pub async fn wrote(
        &self,
        caller: &Caller,
        leave: Leave,
        (evidence, ground): (Evidence, Option<Ground>),
        records: Vec<Record>,
    ) -> Result<(), BrokerError> {
        let by = caller.actor().clone();
        let (ask, broker, now) = (leave.use_up(), self.clone(), self.clock.now());
        self.note(async move {
            let by = (&by, records);
            let recording = broker
                .store
                .mark_written(&ask, &evidence, by, ground.clone(), now);
            broker.announce_later(recording.await?);
            if let Some(ground) = ground {
                // At once: whoever writes next need not wait for it then. Whoever wrote this need not even begin it.
                let tasks = broker.tasks.clone();
                broker.tasks.spawn(async move {
                    tasks.spawn_blocking(move || ground.lay());
                });
            }
            Ok(())
        })
        .await
    }

    /// Notes that nothing was written, and why.
    pub async fn could_not_write(&self, leave: Leave, reason: &str) -> Result<(), BrokerError> {
        let (ask, store, now) = (leave.use_up(), self.store.clone(), self.clock.now());
        let why = Undeliverable::NotWritten {
            message: reason.to_owned(),
        };
        self.note(async move { store.give_up(ask.id, &why, now).await.map(drop) })
            .await
    }

    /// Writes something down to the end, whether or not anybody waits for it.
    async fn note(
        &self,
        writing: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) -> Result<(), BrokerError> {
        let noted = to_the_end(&self.tasks, Box::pin(writing)).await;
        // Nothing comes of it only if it panics, or with the end of the runtime.
        Ok(noted.ok_or(BrokerError::Stopping)??)
    }
}
