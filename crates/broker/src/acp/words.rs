//! Words that an agent is saying: passed on as they come, and an item of the transcript when they are finished.

use countersign_core::event::Delta;
use countersign_core::session::{Item, Session};
use countersign_store::{Store, StoreError};

use crate::acp::unwritten::Unwritten;
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
    pub(super) unwritten: &'a Unwritten,
}

impl Page<'_> {
    /// Has an item written down, or rewritten in its place, with the next write at the latest.
    pub(super) async fn put(&self, key: &str, item: &Item) -> Result<(), StoreError> {
        if self.unwritten.put(key, item) {
            self.write().await?;
        }
        Ok(())
    }

    /// Writes down every item that is not.
    pub(super) async fn write(&self) -> Result<(), StoreError> {
        let items = self.unwritten.take();
        if items.is_empty() {
            return Ok(());
        }
        let session = self.session;
        let now = self.clock.now();
        let written = self
            .store
            .put_items(session.workspace, session.id, &items, now)
            .await;
        if let Err(error) = written {
            self.unwritten.put_back(items);
            return Err(error);
        }
        for (key, _) in &items {
            self.live.finish(session.id, key);
        }
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
    /// How much of the text was passed on.
    passed_on: usize,
    start: u64,
}

impl Words {
    /// Where the words began that are no item yet.
    pub(super) fn start(&self) -> Option<u64> {
        self.0.as_ref().map(|growing| growing.start)
    }

    /// Takes words in; `key` tells what a piece that begins with them is called.
    pub(super) async fn say(
        &mut self,
        page: &Page<'_>,
        key: impl FnOnce() -> String,
        said: Said,
    ) -> Result<(), StoreError> {
        if said.text.is_empty() {
            return Ok(());
        }
        if !self.0.as_ref().is_some_and(|it| it.goes_on_with(&said)) {
            self.finish(page).await?;
        }
        let growing = self.0.get_or_insert_with(|| Growing {
            key: key(),
            is_thought: said.is_thought,
            message: said.message,
            text: String::new(),
            passed_on: 0,
            start: said.start,
        });
        growing.text.push_str(&said.text);
        Ok(())
    }

    /// Passes on what was said since the last time, to whoever watches.
    pub(super) fn pass_on(&mut self, page: &Page<'_>) {
        let Some(growing) = &mut self.0 else {
            return;
        };
        let new = &growing.text[growing.passed_on..];
        if new.is_empty() {
            return;
        }
        page.live.say(Delta {
            workspace: page.session.workspace,
            session: page.session.id,
            item: growing.key.clone(),
            thought: growing.is_thought,
            offset: 0,
            text: new.to_owned(),
        });
        growing.passed_on = growing.text.len();
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
