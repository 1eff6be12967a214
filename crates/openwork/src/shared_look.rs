//! One look at the disk for everybody who asks before it begins.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Looks of one kind, of which one at a time is under way.
///
/// Whoever asks is told how things were at some moment after asking. A look that is under way may have seen them before;
/// the next one has not, and is for all who ask until it begins.
pub(crate) struct SharedLook<T>(Arc<Mutex<Looks<T>>>);

struct Looks<T> {
    is_under_way: bool,
    next: Option<Look<T>>,
}

struct Look<T> {
    work: Box<dyn FnOnce() -> T + Send>,
    found: watch::Sender<Option<T>>,
}

impl<T> Default for SharedLook<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Looks {
            is_under_way: false,
            next: None,
        })))
    }
}

impl<T: Clone + Send + Sync + 'static> SharedLook<T> {
    /// What `work` finds where waiting for the disk is allowed, or what the work of somebody finds who asked before and
    /// still waits; nothing comes of work that panics.
    pub(crate) async fn look(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let mut found = self.join(work);
        let found = found.wait_for(Option::is_some).await.ok()?;
        found.clone()
    }

    fn join(&self, work: impl FnOnce() -> T + Send + 'static) -> watch::Receiver<Option<T>> {
        let mut looks = lock(&self.0);
        if let Some(next) = &looks.next {
            return next.found.subscribe();
        }
        let (sender, receiver) = watch::channel(None);
        looks.next = Some(Look {
            work: Box::new(work),
            found: sender,
        });
        if !looks.is_under_way {
            looks.is_under_way = true;
            let looks = Arc::clone(&self.0);
            // Not awaited: whoever asked first may go, and the others still wait.
            drop(tokio::task::spawn_blocking(move || {
                look_while_asked(&looks);
            }));
        }
        receiver
    }
}

fn look_while_asked<T>(looks: &Mutex<Looks<T>>) {
    loop {
        let mut now = lock(looks);
        let Some(look) = now.next.take() else {
            now.is_under_way = false;
            return;
        };
        drop(now);
        // One that panics has said so already, and the next may fare better.
        if let Ok(found) = catch_unwind(AssertUnwindSafe(look.work)) {
            look.found.send_replace(Some(found));
        }
    }
}

fn lock<T>(looks: &Mutex<Looks<T>>) -> MutexGuard<'_, Looks<T>> {
    looks.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn those_who_ask_while_one_looks_share_the_next() {
        let looks = SharedLook::default();
        let begun = Arc::new(AtomicUsize::new(0));
        let (go, gate) = mpsc::channel::<()>();
        let (entered, in_it) = tokio::sync::oneshot::channel();
        let first = looks.join({
            let begun = Arc::clone(&begun);
            move || {
                let _ = entered.send(());
                let _ = gate.recv();
                begun.fetch_add(1, Ordering::SeqCst)
            }
        });
        in_it.await.unwrap();
        let later: Vec<_> = (0..5)
            .map(|_| {
                let begun = Arc::clone(&begun);
                looks.join(move || begun.fetch_add(1, Ordering::SeqCst))
            })
            .collect();
        go.send(()).unwrap();
        let mut found = Vec::new();
        for mut receiver in std::iter::once(first).chain(later) {
            found.push(*receiver.wait_for(Option::is_some).await.unwrap());
        }
        assert_eq!(
            found,
            [Some(0), Some(1), Some(1), Some(1), Some(1), Some(1)]
        );
        assert_eq!(looks.look(|| 7).await, Some(7));
    }

    #[tokio::test]
    async fn a_look_that_panics_does_not_stand_in_the_way() {
        let looks = SharedLook::default();
        let found = looks.look(|| -> usize { panic!("the disk is gone") }).await;
        assert_eq!(found, None);
        assert_eq!(looks.look(|| 1).await, Some(1));
    }
}
