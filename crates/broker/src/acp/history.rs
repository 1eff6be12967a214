//! What an agent tells again of a session that it loads, as items of a transcript: each piece once, and of a long past
//! its newest part.

use std::collections::{BTreeMap, HashMap, HashSet};

use countersign_core::digest::Digest;
use countersign_core::id::RunId;
use countersign_core::session::{Item, ToolStatus};
use countersign_engine::acp::message::Params;
use countersign_engine::acp::tool_call::{ToolCallChange, ToolCalls};
use countersign_engine::acp::update::{self, Chunk, Update};

use crate::acp::intake::key_of_call;

/// The most pieces of the past that are kept.
const PIECES: usize = 5_000;
/// The most bytes of the past that are kept.
const BYTES: usize = 16 << 20;
/// What stands in the place of what is older.
const CUT: &str = "What was said before this is not shown: the past of this session is too long.";

/// Whose words they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Voice {
    Person,
    Agent,
    Thought,
}

/// Words that are not finished.
#[derive(Debug)]
struct Growing {
    voice: Voice,
    message: Option<String>,
    text: String,
    place: u64,
}

/// The past of a session.
#[derive(Debug)]
pub(super) struct History {
    run: RunId,
    /// What the agent calls the session.
    session: String,
    growing: Option<Growing>,
    calls: ToolCalls,
    /// The places of tool calls.
    called: HashMap<String, u64>,
    /// Messages that were told in full.
    told: HashSet<(Voice, String, Digest)>,
    /// Pieces by where they began in the agent's output.
    pieces: BTreeMap<u64, (String, Item)>,
    size: usize,
    is_cut: bool,
    title: Option<String>,
}

impl History {
    pub(super) fn new(run: RunId, session: &str) -> Self {
        Self {
            run,
            session: session.to_owned(),
            growing: None,
            calls: ToolCalls::default(),
            called: HashMap::new(),
            told: HashSet::new(),
            pieces: BTreeMap::new(),
            size: 0,
            is_cut: false,
            title: None,
        }
    }

    /// Takes in a `session/update` that began at `place` in the agent's output.
    pub(super) fn take(&mut self, place: u64, params: &Params) {
        let news = update::read(params);
        if news.session.as_deref() != Some(self.session.as_str()) {
            return;
        }
        match news.update {
            Update::User(chunk) => self.say(place, Voice::Person, chunk),
            Update::Text(chunk) => self.say(place, Voice::Agent, chunk),
            Update::Thought(chunk) => self.say(place, Voice::Thought, chunk),
            Update::Tool(change) => self.call(place, change),
            Update::Plan(steps) => {
                self.finish_words();
                self.put(place, format!("{}/{place}", self.run), Item::Plan { steps });
            }
            Update::Notice { text, .. } if !text.is_empty() => self.notice(place, text),
            Update::Title(Some(title)) => self.title = Some(title),
            // How things stand now is told by the agent that lives.
            Update::Commands(_)
            | Update::Mode(_)
            | Update::Options(_)
            | Update::Title(None)
            | Update::Usage(_)
            | Update::Notice { .. }
            | Update::State(_)
            | Update::Unknown { .. } => {}
        }
    }

    /// The pieces in their order, by what each is called, and the title if one was told.
    pub(super) fn finish(mut self) -> (Vec<(String, Item)>, Option<String>) {
        self.finish_words();
        let mut items = Vec::with_capacity(self.pieces.len() + 1);
        if self.is_cut {
            let text = CUT.to_owned();
            items.push((format!("{}/cut", self.run), Item::Notice { text }));
        }
        items.extend(
            self.pieces
                .into_values()
                .map(|(key, item)| (key, ended(item))),
        );
        (items, self.title)
    }

    fn say(&mut self, place: u64, voice: Voice, Chunk { message, text }: Chunk) {
        if let Some(growing) = &mut self.growing {
            let is_same = match (&growing.message, &message) {
                (Some(this), Some(other)) => this == other,
                (None, _) | (_, None) => true,
            };
            if growing.voice == voice && is_same && growing.text.len() < BYTES {
                growing.text.push_str(&text);
                return;
            }
            self.finish_words();
        }
        self.growing = Some(Growing {
            voice,
            message,
            text,
            place,
        });
    }

    fn finish_words(&mut self) {
        let Some(Growing {
            voice,
            message,
            text,
            place,
        }) = self.growing.take()
        else {
            return;
        };
        if text.is_empty() {
            return;
        }
        if let Some(message) = message {
            let digest = Digest::of_bytes(text.as_bytes());
            if self.told.len() > 2 * PIECES {
                self.told.clear();
            }
            if !self.told.insert((voice, message, digest)) {
                return;
            }
        }
        let item = match voice {
            Voice::Person => Item::Prompt {
                text,
                follows: None,
            },
            Voice::Agent => Item::Text { text },
            Voice::Thought => Item::Thought { text },
        };
        self.put(place, format!("{}/{place}", self.run), item);
    }

    fn notice(&mut self, place: u64, text: String) {
        self.finish_words();
        self.put(
            place,
            format!("{}/{place}", self.run),
            Item::Notice { text },
        );
    }

    fn call(&mut self, place: u64, change: ToolCallChange) {
        self.finish_words();
        let id = change.id.clone();
        let item = self.calls.take(change).item();
        let key = key_of_call(self.run, &id);
        let place = *self.called.entry(id).or_insert(place);
        self.put(place, key, item);
    }

    fn put(&mut self, place: u64, key: String, item: Item) {
        self.size += weight(&item);
        if let Some((_, before)) = self.pieces.insert(place, (key, item)) {
            self.size -= weight(&before);
        }
        while self.pieces.len() > PIECES || (self.size > BYTES && self.pieces.len() > 1) {
            let Some((_, (_, oldest))) = self.pieces.pop_first() else {
                return;
            };
            self.size -= weight(&oldest);
            self.is_cut = true;
        }
        if self.called.len() > 2 * PIECES {
            let pieces = &self.pieces;
            self.called.retain(|_, place| pieces.contains_key(place));
        }
    }
}

/// A tool call of the past that has not ended never will.
fn ended(item: Item) -> Item {
    match item {
        Item::Tool {
            tool,
            status: ToolStatus::Pending | ToolStatus::Running,
            input,
            output,
            changes,
            child,
        } => Item::Tool {
            tool,
            status: ToolStatus::Failed,
            input,
            output,
            changes,
            child,
        },
        other @ (Item::Prompt { .. }
        | Item::Attachment { .. }
        | Item::Text { .. }
        | Item::Thought { .. }
        | Item::Tool { .. }
        | Item::Plan { .. }
        | Item::Notice { .. }) => other,
    }
}

fn weight(item: &Item) -> usize {
    match item {
        Item::Prompt { text, .. }
        | Item::Text { text }
        | Item::Thought { text }
        | Item::Notice { text } => text.len(),
        Item::Tool {
            input,
            output,
            changes,
            ..
        } => {
            input.to_string().len()
                + output.len()
                + changes
                    .iter()
                    .map(|change| change.path.len() + change.patch.len())
                    .sum::<usize>()
        }
        Item::Plan { steps } => steps.iter().map(|step| step.text.len()).sum(),
        Item::Attachment { attachment } => attachment.name.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::time::Timestamp;
    use serde_json::{Value, json};

    fn history(updates: &[Value]) -> Vec<Item> {
        let mut history = History::new(RunId::generate(Timestamp::from_micros(0)), "s");
        for (place, update) in (0..).zip(updates) {
            let params = json!({ "sessionId": "s", "update": update });
            history.take(place, &Params::of(&params));
        }
        let (items, _) = history.finish();
        let keys: HashSet<_> = items.iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(keys.len(), items.len());
        items.into_iter().map(|(_, item)| item).collect()
    }

    fn chunk(kind: &str, message: Option<&str>, text: &str) -> Value {
        let content = json!({ "type": "text", "text": text });
        json!({ "sessionUpdate": format!("{kind}_chunk"), "messageId": message, "content": content })
    }

    #[test]
    fn what_is_told_in_chunks_is_one_piece_and_what_is_told_twice_too() {
        let prompt = |text: &str| Item::Prompt {
            text: text.to_owned(),
            follows: None,
        };
        let text = |text: &str| Item::Text {
            text: text.to_owned(),
        };
        let told = history(&[
            chunk("user_message", Some("1"), "do "),
            chunk("user_message", Some("1"), "it"),
            chunk("agent_message", Some("2"), "I "),
            chunk("agent_message", Some("2"), "will"),
            chunk("user_message", Some("1"), "do it"),
            chunk("agent_message", Some("2"), "I will"),
            chunk("user_message", Some("3"), "do it"),
        ]);
        assert_eq!(told, [prompt("do it"), text("I will"), prompt("do it")]);
    }

    #[test]
    fn a_tool_call_is_one_piece_in_its_first_place_and_one_that_never_ended_failed() {
        let told = history(&[
            json!({ "sessionUpdate": "tool_call", "toolCallId": "a", "title": "one", "status": "pending" }),
            chunk("agent_message", None, "meanwhile"),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed" }),
            json!({ "sessionUpdate": "tool_call", "toolCallId": "b", "title": "two", "status": "in_progress" }),
        ]);
        let status = |item: &Item| match item {
            Item::Tool { status, .. } => Some(*status),
            Item::Prompt { .. }
            | Item::Attachment { .. }
            | Item::Text { .. }
            | Item::Thought { .. }
            | Item::Plan { .. }
            | Item::Notice { .. } => None,
        };
        let statuses: Vec<_> = told.iter().map(status).collect();
        assert_eq!(
            statuses,
            [Some(ToolStatus::Completed), None, Some(ToolStatus::Failed)]
        );
    }

    #[test]
    fn of_a_long_past_the_newest_part_is_kept_and_that_is_said() {
        let updates: Vec<_> = (0..PIECES + 10)
            .map(|number| {
                chunk(
                    "user_message",
                    Some(&number.to_string()),
                    &number.to_string(),
                )
            })
            .collect();
        let told = history(&updates);
        assert_eq!(told.len(), PIECES + 1);
        assert!(matches!(&told[0], Item::Notice { text } if text == CUT));
        assert!(
            matches!(told.last(), Some(Item::Prompt { text, .. }) if *text == (PIECES + 9).to_string())
        );
    }

    #[test]
    fn another_sessions_past_is_none_of_this_one() {
        let mut history = History::new(RunId::generate(Timestamp::from_micros(0)), "s");
        let update = chunk("user_message", None, "hello");
        history.take(
            0,
            &Params::of(&json!({ "sessionId": "other", "update": update })),
        );
        assert!(history.finish().0.is_empty());
    }
}
