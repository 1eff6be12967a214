//! Words as agents say them: passed on at once to whoever watches, and kept until they are a finished item.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::event::Delta;
use countersign_core::id::SessionId;
use countersign_core::session::Item;
use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;
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

/// What was last heard of a session that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pulse {
    /// When anything at all was heard of it.
    pub(crate) heard: Instant,
    /// Since when its provider fails and is tried again, without anything else having come of it, and what it says.
    pub(crate) retrying: Option<(Instant, String)>,
}

#[derive(Default)]
struct State {
    growing: HashMap<SessionId, BTreeMap<String, Growing>>,
    gathered: Vec<Delta>,
    pulses: HashMap<SessionId, Pulse>,
    /// The sessions of sub-agents, and the watched ones that they were started by.
    sub_agents: HashMap<SessionId, SessionId>,
}

impl State {
    /// The pulse of a session that is watched, or whose starter is.
    fn pulse(&mut self, session: SessionId) -> Option<&mut Pulse> {
        let watched = self.sub_agents.get(&session).copied().unwrap_or(session);
        self.pulses.get_mut(&watched)
    }

    /// Something was heard of a session, and it was more than that its provider fails.
    fn progress(&mut self, session: SessionId) {
        if let Some(pulse) = self.pulse(session) {
            pulse.heard = Instant::now();
            pulse.retrying = None;
        }
    }
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
        state.progress(delta.session);
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

    /// Has it noted from now on when something is heard of a session.
    pub(crate) fn watch(&self, session: SessionId) {
        self.lock().pulses.entry(session).or_insert_with(|| Pulse {
            heard: Instant::now(),
            retrying: None,
        });
    }

    /// Notes that `child` works for `parent`: what is heard of it is heard of that one, if it is watched.
    pub(crate) fn watch_child(&self, parent: SessionId, child: SessionId) {
        let mut state = self.lock();
        let watched = state.sub_agents.get(&parent).copied().unwrap_or(parent);
        if state.pulses.contains_key(&watched) {
            state.sub_agents.insert(child, watched);
        }
    }

    /// Forgets a session that nobody needs to watch any more.
    pub(crate) fn unwatch(&self, session: SessionId) {
        let mut state = self.lock();
        state.pulses.remove(&session);
        state.sub_agents.retain(|_, watched| *watched != session);
    }

    /// Notes that something was heard of a session.
    pub(crate) fn beat(&self, session: SessionId) {
        if let Some(pulse) = self.lock().pulse(session) {
            pulse.heard = Instant::now();
        }
    }

    /// Notes that a session has come on.
    pub(crate) fn progress(&self, session: SessionId) {
        self.lock().progress(session);
    }

    /// Notes that the provider of a session failed and is tried again.
    pub(crate) fn retries(&self, session: SessionId, message: &str) {
        if let Some(pulse) = self.lock().pulse(session) {
            pulse.heard = Instant::now();
            let since = pulse
                .retrying
                .as_ref()
                .map_or(pulse.heard, |(since, _)| *since);
            pulse.retrying = Some((since, message.to_owned()));
        }
    }

    /// What was last heard of a session that is watched.
    pub(crate) fn pulse(&self, session: SessionId) -> Option<Pulse> {
        self.lock().pulse(session).cloned()
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
