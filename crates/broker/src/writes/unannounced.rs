//! What was written down unsynced, and is told to everybody once it is on the disk.
//!
//! Whoever writes next has it on the disk too, so a moment is waited for that. One task sees to all that comes meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Broker;

/// How long somebody else's write is waited for.
const NEXT_WRITE: Duration = Duration::from_millis(5);

/// What is to be told.
#[derive(Clone, Default)]
pub(crate) struct Unannounced(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    /// The number of the newest event.
    newest: i64,
    /// Whether a task sees to it.
    is_seen_to: bool,
}

impl Unannounced {
    /// Takes note of an event. Whoever is told `true` has to see to it.
    fn note(&self, number: i64) -> bool {
        let mut noted = self.lock();
        noted.newest = noted.newest.max(number);
        !std::mem::replace(&mut noted.is_seen_to, true)
    }

    fn newest(&self) -> i64 {
        self.lock().newest
    }

    /// Whether all is told, up to event number `known`: then nobody sees to it any more.
    fn is_told(&self, known: i64) -> bool {
        let mut noted = self.lock();
        noted.is_seen_to = noted.newest > known;
        !noted.is_seen_to
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Broker {
    /// Has everybody told of what was written down unsynced, up to event number `unannounced`, once it is on the disk.
    pub(crate) fn announce_later(&self, unannounced: Option<i64>) {
        let Some(number) = unannounced else { return };
        if !self.writers.unannounced.note(number) {
            return;
        }
        let (store, unannounced) = (self.store.clone(), self.writers.unannounced.clone());
        self.tasks.spawn(async move {
            loop {
                let newest = unannounced.newest();
                tokio::time::sleep(NEXT_WRITE).await;
                store.announce_durably(newest).await;
                if unannounced.is_told(*store.head().borrow()) {
                    return;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sees_to_all_that_comes_until_all_is_told() {
        let unannounced = Unannounced::default();
        assert!(unannounced.note(3));
        assert!(!unannounced.note(5), "somebody does already");
        assert_eq!(unannounced.newest(), 5);
        assert!(!unannounced.is_told(4), "there is one more");
        assert!(!unannounced.note(4));
        assert!(unannounced.is_told(5));
        assert!(unannounced.note(6), "nobody does any more");
    }
}
