//! Words as agents say them: passed on at once to whoever watches, and kept until they are a finished item.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::event::Delta;
use countersign_core::id::SessionId;
use countersign_core::session::Item;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

/// How long words are gathered before they are passed on together.
const GATHER: Duration = Duration::from_millis(30);
/// A watcher that is further behind than this misses words; the finished item will have them all.
const BACKLOG: usize = 1_024;
/// More of one growing piece than this is not kept: it will be there when it is finished.
const PIECE_LIMIT: usize = 1 << 20;

/// A watcher's end.
pub type LiveWords = broadcast::Receiver<Arc<Delta>>;

/// A piece that is still growing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Growing {
    thought: bool,
    text: String,
    /// How many characters were said, kept or not.
    said: u64,
    /// Whether it has its place in the transcript already.
    pub(crate) is_placed: bool,
}

impl Growing {
    /// What it is in a transcript so far.
    pub(crate) fn into_item(self) -> Item {
        let text = self.text;
        if self.thought {
            Item::Thought { text }
        } else {
            Item::Text { text }
        }
    }
}

#[derive(Default)]
struct State {
    growing: HashMap<SessionId, BTreeMap<String, Growing>>,
    gathered: Vec<Delta>,
}

/// The words that are being said.
#[derive(Clone)]
pub(crate) struct Live {
    state: Arc<Mutex<State>>,
    watchers: broadcast::Sender<Arc<Delta>>,
    wake: Arc<Notify>,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::default(),
            watchers: broadcast::Sender::new(BACKLOG),
            wake: Arc::default(),
        }
    }

    pub(crate) fn words(&self) -> LiveWords {
        self.watchers.subscribe()
    }

    /// Adds words to a piece; how many there were before is known here.
    pub(crate) fn say(&self, mut delta: Delta) {
        let mut state = self.lock();
        let piece = state
            .growing
            .entry(delta.session)
            .or_default()
            .entry(delta.item.clone())
            .or_default();
        piece.thought = delta.thought;
        delta.offset = piece.said;
        piece.said += delta.text.chars().count() as u64;
        if piece.text.len() < PIECE_LIMIT {
            piece.text.push_str(&delta.text);
        }
        match state.gathered.last_mut() {
            Some(last) if last.session == delta.session && last.item == delta.item => {
                last.text.push_str(&delta.text);
            }
            _ => state.gathered.push(delta),
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Notes that a piece has its place in the transcript, though it may still grow.
    pub(crate) fn place(&self, session: SessionId, item: &str) {
        let mut state = self.lock();
        let pieces = state.growing.get_mut(&session);
        if let Some(piece) = pieces.and_then(|pieces| pieces.get_mut(item)) {
            piece.is_placed = true;
        }
    }

    /// Forgets a piece that is finished and written down.
    pub(crate) fn finish(&self, session: SessionId, item: &str) {
        let mut state = self.lock();
        state
            .gathered
            .retain(|delta| delta.session != session || delta.item != item);
        if let Some(pieces) = state.growing.get_mut(&session) {
            pieces.remove(item);
            if pieces.is_empty() {
                state.growing.remove(&session);
            }
        }
    }

    /// Forgets everything that a session was saying.
    pub(crate) fn forget(&self, session: SessionId) {
        self.lock().growing.remove(&session);
    }

    /// What is being said in a session, by the name of each piece.
    pub(crate) fn growing(&self, session: SessionId) -> BTreeMap<String, Growing> {
        self.lock()
            .growing
            .get(&session)
            .cloned()
            .unwrap_or_default()
    }

    /// Passes gathered words on until `ending`.
    pub(crate) async fn run(self, ending: CancellationToken) {
        loop {
            tokio::select! {
                () = ending.cancelled() => return,
                () = self.wake.notified() => {}
            }
            tokio::time::sleep(GATHER).await;
            let gathered = std::mem::take(&mut self.lock().gathered);
            for delta in gathered {
                // Nobody watching is no error.
                drop(self.watchers.send(Arc::new(delta)));
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere leaves words behind that are still words.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
