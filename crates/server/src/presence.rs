//! Who is connected: for a server that ends by itself when nobody needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts connections. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Presence(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    now: AtomicUsize,
    ever: AtomicU64,
}

/// A connection, for as long as it is there.
#[derive(Debug)]
pub(crate) struct Visit(Presence);

impl Presence {
    /// How many connections there are.
    pub fn now(&self) -> usize {
        self.0.now.load(Ordering::SeqCst)
    }

    /// How many there have ever been.
    pub fn ever(&self) -> u64 {
        self.0.ever.load(Ordering::SeqCst)
    }

    pub(crate) fn enter(&self) -> Visit {
        self.0.ever.fetch_add(1, Ordering::SeqCst);
        self.0.now.fetch_add(1, Ordering::SeqCst);
        Visit(self.clone())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_left_is_remembered_and_no_longer_there() {
        let presence = Presence::default();
        let one = presence.enter();
        let other = presence.enter();
        assert_eq!((presence.now(), presence.ever()), (2, 2));
        drop(one);
        assert_eq!((presence.now(), presence.ever()), (1, 2));
        drop(other);
        assert_eq!((presence.now(), presence.ever()), (0, 2));
    }
}
