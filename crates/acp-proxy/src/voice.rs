//! Says things to whoever reads the editor's log of the agent, and each thing once. It never holds anything up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

/// Lines that may wait for a log that nobody reads; the rest is not said.
const QUEUE: usize = 32;

/// What can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    /// The server cannot be reached.
    Server,
    /// The server will not have us, or not from here.
    Unwelcome,
    /// A line was too long.
    LongLine,
    /// An id was used twice.
    Twice,
    /// There are too many asks.
    TooMany,
    /// The server will not have an ask.
    Refused,
    /// A token crosses the network for everybody to read.
    Exposed,
}

/// The way to the log. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Voice {
    lines: mpsc::Sender<String>,
    said: Arc<Mutex<BTreeSet<Topic>>>,
}

impl Voice {
    /// A voice, and what it says.
    pub(crate) fn new() -> (Self, mpsc::Receiver<String>) {
        let (lines, said) = mpsc::channel(QUEUE);
        let voice = Self {
            lines,
            said: Arc::default(),
        };
        (voice, said)
    }

    /// Says `text` about `topic`, unless something was said about it since it was last well.
    pub(crate) fn say(&self, topic: Topic, text: &str) {
        if self.said().insert(topic) {
            self.speak(text);
        }
    }

    /// What was said about `topic` does not hold any more: `text` is said if something was.
    pub(crate) fn is_well(&self, topic: Topic, text: &str) {
        if self.said().remove(&topic) {
            self.speak(text);
        }
    }

    fn speak(&self, text: &str) {
        let line = format!("countersign acp-proxy: {}\n", text.replace('\n', "; "));
        // A log that is full has more to say than this.
        let _unheard = self.lines.try_send(line);
    }

    fn said(&self) -> std::sync::MutexGuard<'_, BTreeSet<Topic>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes what is said to standard error, until nobody can say anything any more.
pub(crate) async fn write(mut said: mpsc::Receiver<String>) {
    let mut log = tokio::io::stderr();
    while let Some(line) = said.recv().await {
        // Without a log there is nobody to be told.
        let _written = log.write_all(line.as_bytes()).await;
        let _written = log.flush().await;
    }
}
