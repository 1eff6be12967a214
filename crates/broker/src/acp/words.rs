//! Words that an agent is saying: passed on at once, and an item of the transcript when they are finished.

use countersign_core::event::Delta;
use countersign_core::session::{Item, Session};
use countersign_store::{Store, StoreError};

use crate::live::Live;
use countersign_core::time::Clock;

/// The longest piece of text that is one item.
const TEXT_LIMIT: usize = 256 * 1024;
/// The most output that one item may come from: what is not an item yet is held by the keeper.
const SPAN_LIMIT: u64 = 1024 * 1024;

/// Where words go.
pub(super) struct Page<'a> {
    pub(super) store: &'a Store,
    pub(super) clock: &'a Clock,
    pub(super) live: &'a Live,
    pub(super) session: &'a Session,
}

impl Page<'_> {
    /// Writes an item down, or rewrites it in its place.
    pub(super) async fn put(&self, key: &str, item: &Item) -> Result<(), StoreError> {
        let session = self.session;
        self.store
            .put_item(session.workspace, session.id, key, item, self.clock.now())
            .await?;
        self.live.finish(session.id, key);
        Ok(())
    }
}

/// Some words as they come in.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) is_thought: bool,
    /// What the agent calls the message.
    pub(super) message: Option<String>,
    pub(super) text: String,
    /// Where they began in the agent's output.
    pub(super) start: u64,
}

/// What is being said.
#[derive(Debug, Default)]
pub(super) struct Words(Option<Growing>);

#[derive(Debug)]
struct Growing {
    key: String,
    is_thought: bool,
    message: Option<String>,
    text: String,
    start: u64,
}

impl Words {
    /// Where the words began that are no item yet.
    pub(super) fn start(&self) -> Option<u64> {
        self.0.as_ref().map(|growing| growing.start)
    }

    /// Takes words in; `key` is what a piece that begins with them is called.
    pub(super) async fn say(
        &mut self,
        page: &Page<'_>,
        key: String,
        said: Said,
    ) -> Result<(), StoreError> {
        if said.text.is_empty() {
            return Ok(());
        }
        if !self.0.as_ref().is_some_and(|it| it.goes_on_with(&said)) {
            self.finish(page).await?;
        }
        let growing = self.0.get_or_insert_with(|| Growing {
            key,
            is_thought: said.is_thought,
            message: said.message,
            text: String::new(),
            start: said.start,
        });
        growing.text.push_str(&said.text);
        page.live.say(Delta {
            workspace: page.session.workspace,
            session: page.session.id,
            item: growing.key.clone(),
            thought: growing.is_thought,
            offset: 0,
            text: said.text,
        });
        Ok(())
    }

    /// Makes an item of what was said.
    pub(super) async fn finish(&mut self, page: &Page<'_>) -> Result<(), StoreError> {
        let Some(growing) = &self.0 else {
            return Ok(());
        };
        let text = growing.text.clone();
        let item = if growing.is_thought {
            Item::Thought { text }
        } else {
            Item::Text { text }
        };
        page.put(&growing.key, &item).await?;
        self.0 = None;
        Ok(())
    }
}

impl Growing {
    fn goes_on_with(&self, said: &Said) -> bool {
        let same_message = match (&self.message, &said.message) {
            (Some(this), Some(other)) => this == other,
            (None, _) | (_, None) => true,
        };
        same_message
            && self.is_thought == said.is_thought
            && self.text.len() < TEXT_LIMIT
            && said.start.saturating_sub(self.start) < SPAN_LIMIT
    }
}
