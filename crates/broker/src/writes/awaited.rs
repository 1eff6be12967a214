//! The proposals whose proposers wait in this server.
//!
//! They are in the ledger, which alone says what becomes of them. What is kept here was just written there, and spares
//! reading it back: whoever lists what waits and whoever answers it would read the same again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::ask::{Ask, AskState};
use countersign_core::id::AskId;
use tokio::sync::oneshot;

/// The proposals whose proposers wait here, in the order in which they came.
#[derive(Clone, Default)]
pub(crate) struct Awaited(Arc<Mutex<BTreeMap<AskId, Proposed>>>);

/// A proposal that nobody here has answered.
struct Proposed {
    /// As it was opened.
    ask: Arc<Ask>,
    /// To whoever waits for it: how it stands when it is answered.
    answered: oneshot::Sender<AskState>,
}

/// Where it comes how a proposal stands when it is answered, if it is answered here.
pub(super) type Answered = oneshot::Receiver<AskState>;

impl Awaited {
    /// Takes note of a proposal that was just opened, unless it is over. Whoever answered it before that is heard of by the
    /// events.
    pub(super) fn begin(&self, ask: &Arc<Ask>) -> Answered {
        let (answered, hears) = oneshot::channel();
        if ask.state == AskState::Open {
            let ask = Arc::clone(ask);
            self.lock().insert(ask.id, Proposed { ask, answered });
        }
        hears
    }

    /// Says that nobody waits for a proposal any more.
    pub(super) fn end(&self, id: AskId) {
        self.lock().remove(&id);
    }

    /// Tells the one who waits for an ask that it was answered, and stands so now. Says whether that is here.
    pub(crate) fn hand_over(&self, id: AskId, state: &AskState) -> bool {
        let proposed = self.lock().remove(&id);
        proposed.is_some_and(|proposed| proposed.answered.send(state.clone()).is_ok())
    }

    /// The proposal called `id`, if nobody here has answered it.
    pub(super) fn open(&self, id: AskId) -> Option<Arc<Ask>> {
        let stands = self.lock();
        stands.get(&id).map(|proposed| Arc::clone(&proposed.ask))
    }

    /// Those that nobody here has answered, oldest first.
    pub(super) fn all_open(&self) -> Vec<Arc<Ask>> {
        let stands = self.lock();
        let open = stands.values().map(|proposed| Arc::clone(&proposed.ask));
        open.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AskId, Proposed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
