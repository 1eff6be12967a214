//! The proposals whose proposers wait in this server.
//!
//! They are in the ledger, which alone says what becomes of them. What is kept here was just written there, and spares
//! reading it back: whoever lists what waits and whoever answers it would read the same again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::ask::Ask;
use countersign_core::id::AskId;

/// The proposals whose proposers wait here, in the order in which they came.
#[derive(Clone, Default)]
pub(crate) struct Awaited(Arc<Mutex<BTreeMap<AskId, Stand>>>);

/// How a proposal stands, as far as it was heard here.
enum Stand {
    /// As it was opened.
    Open(Arc<Ask>),
    /// Answered, for its proposer to take.
    Answered(Arc<Ask>),
}

impl Awaited {
    /// Takes note of a proposal that was just opened. Whoever answered it before that is heard of by the events.
    pub(super) fn begin(&self, ask: &Arc<Ask>) {
        self.lock().insert(ask.id, Stand::Open(Arc::clone(ask)));
    }

    /// Says that nobody waits for a proposal any more.
    pub(super) fn end(&self, id: AskId) {
        self.lock().remove(&id);
    }

    /// Hands an ask that was answered to the one who waits for it, if that is here.
    pub(crate) fn hand_over(&self, ask: &Ask) {
        if let Some(stand) = self.lock().get_mut(&ask.id) {
            *stand = Stand::Answered(Arc::new(ask.clone()));
        }
    }

    /// What was handed over for the one who waits for `id`.
    pub(super) fn take_answered(&self, id: AskId) -> Option<Arc<Ask>> {
        let mut stands = self.lock();
        let answered = match stands.get(&id)? {
            Stand::Open(_) => return None,
            Stand::Answered(ask) => Arc::clone(ask),
        };
        stands.remove(&id);
        Some(answered)
    }

    /// The proposal called `id`, if nobody here has answered it.
    pub(super) fn open(&self, id: AskId) -> Option<Arc<Ask>> {
        match self.lock().get(&id)? {
            Stand::Open(ask) => Some(Arc::clone(ask)),
            Stand::Answered(_) => None,
        }
    }

    /// Those that nobody here has answered, oldest first.
    pub(super) fn all_open(&self) -> Vec<Arc<Ask>> {
        let stands = self.lock();
        let open = stands.values().filter_map(|stand| match stand {
            Stand::Open(ask) => Some(Arc::clone(ask)),
            Stand::Answered(_) => None,
        });
        open.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AskId, Stand>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
