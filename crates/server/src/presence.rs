//! Who is connected: for a server that ends by itself when nobody needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use countersign_api::EndOfServer;

/// Counts connections. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Presence(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    now: AtomicUsize,
    ever: AtomicU64,
    bystanders: AtomicUsize,
    ends_idle: AtomicBool,
}

/// A connection of somebody who only looks on: the server need not stay for it.
#[derive(Debug)]
pub(crate) struct Bystander(Presence);

/// A connection, for as long as it is there.
#[derive(Debug)]
pub(crate) struct Visit(Presence);

impl Presence {
    /// How many connections there are of those who need the server.
    pub fn now(&self) -> usize {
        let bystanders = self.0.bystanders.load(Ordering::SeqCst);
        self.0.now.load(Ordering::SeqCst).saturating_sub(bystanders)
    }

    /// How many there have ever been.
    pub fn ever(&self) -> u64 {
        self.0.ever.load(Ordering::SeqCst)
    }

    /// Notes that the server is about to end because nobody needs it.
    pub fn end_idle(&self) {
        self.0.ends_idle.store(true, Ordering::SeqCst);
    }

    /// Why the server ends, if it does.
    pub(crate) fn end(&self) -> EndOfServer {
        if self.0.ends_idle.load(Ordering::SeqCst) {
            EndOfServer::Idle
        } else {
            EndOfServer::Stopped
        }
    }

    pub(crate) fn enter(&self) -> Visit {
        self.0.ever.fetch_add(1, Ordering::SeqCst);
        self.0.now.fetch_add(1, Ordering::SeqCst);
        Visit(self.clone())
    }

    /// Notes that one of the connections is a bystander's.
    pub(crate) fn stand_by(&self) -> Bystander {
        self.0.bystanders.fetch_add(1, Ordering::SeqCst);
        Bystander(self.clone())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.0.bystanders.fetch_sub(1, Ordering::SeqCst);
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
    fn a_server_need_not_stay_for_a_bystander() {
        let presence = Presence::default();
        let connection = presence.enter();
        let bystander = presence.stand_by();
        assert_eq!(presence.now(), 0);
        drop(bystander);
        assert_eq!(presence.now(), 1);
        drop(connection);
        assert_eq!(presence.now(), 0);
    }

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
