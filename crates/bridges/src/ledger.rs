//! Follows the ledger: asks become cards, turns become words in their threads.

use std::time::Duration;

use countersign_broker::{BridgeThread, BrokerError, StoreError};
use countersign_core::event::{Event, EventBody};
use countersign_core::id::{SessionId, TurnId};
use countersign_core::session::{Item, ToolStatus, TranscriptItem, TurnOutcome};

use crate::adapter::{MessageId, Outgoing, Reaction};
use crate::asks::AskError;
use crate::bridge::{About, Bridge, Saying};
use crate::text::{Block, Span, Text, split};

/// How many events are read at a time.
const PAGE: i64 = 200;
/// How long after a failure the ledger is asked again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How many items of a transcript are looked at to say what a turn said.
const NEWEST: i64 = 400;
/// How much of what a tool gave back is shown, in characters.
const OUTPUT: usize = 500;
/// How many messages a turn's words are at most; of more than that, all is in a file.
const MOST_PARTS: usize = 4;

impl Bridge {
    fn consumer(&self) -> String {
        format!("bridge:{}", self.name())
    }

    /// Follows the ledger until the server ends.
    pub(crate) async fn follow_ledger(self) {
        let mut head = self.broker.head();
        loop {
            head.mark_unchanged();
            let outcome = self.catch_up().await;
            let pause = outcome.is_err().then_some(LOOK_AGAIN);
            if let Err(error) = outcome {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(bridge = self.name(), error, "the ledger cannot be followed");
            }
            let woken = async {
                match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => {
                        if head.changed().await.is_err() {
                            std::future::pending::<()>().await;
                        }
                    }
                }
            };
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = woken => {}
            }
        }
    }

    /// Deals with every event that was not dealt with. What is said has keys, so that an event that is seen twice says
    /// nothing twice; the cursor moves after.
    async fn catch_up(&self) -> Result<(), AskError> {
        let consumer = self.consumer();
        loop {
            let cursor = self.store.cursor(&consumer).await?;
            let Some(cursor) = cursor else {
                // What happened before there was a bridge is nobody's wish.
                let head = self.store.refresh_head().await?;
                self.store.move_cursor(&consumer, head).await?;
                continue;
            };
            let events = self.store.events_after(cursor, PAGE).await?;
            let Some(last) = events.last().map(|event| event.seq) else {
                return Ok(());
            };
            for event in &events {
                self.look_at(event)
                    .await
                    .or_else(AskError::unless_lasting)?;
            }
            self.store.move_cursor(&consumer, last).await?;
        }
    }

    async fn look_at(&self, event: &Event) -> Result<(), AskError> {
        match &event.body {
            EventBody::AskOpened { ask, session, .. } => {
                self.show_ask(*ask).await?;
                self.mark(*session, Reaction::Waiting).await?;
            }
            EventBody::AskChanged { ask, session, .. } => {
                self.show_ask(*ask).await?;
                self.mark(*session, Reaction::Working).await?;
            }
            EventBody::TurnChanged {
                turn,
                session,
                ended: true,
            } => {
                self.finish_turn(*session, *turn).await?;
                self.said.notify_one();
            }
            EventBody::TurnChanged { .. }
            | EventBody::SessionChanged { .. }
            | EventBody::SettingsChanged { .. }
            | EventBody::ItemChanged { .. }
            | EventBody::JobChanged { .. }
            | EventBody::EngineChanged { .. }
            | EventBody::RuleChanged { .. }
            | EventBody::WorkspaceChanged { .. }
            | EventBody::AlarmRaised { .. } => {}
        }
        Ok(())
    }

    /// Shows how the turn of a thread stands, unless it is over.
    async fn mark(&self, session: SessionId, reaction: Reaction) -> Result<(), AskError> {
        let thread = self.store.bridge_thread_of(self.name(), session).await?;
        let Some(thread) = thread else {
            return Ok(());
        };
        let turn = match thread.turn {
            Some(turn) => self.store.turn(turn).await?,
            None => None,
        };
        if turn.is_some_and(|turn| turn.outcome.is_none()) {
            self.react(&thread, reaction).await?;
        }
        Ok(())
    }

    /// Makes a reaction the one on the message that began the newest turn of a thread.
    pub(crate) async fn react(
        &self,
        thread: &BridgeThread,
        reaction: Reaction,
    ) -> Result<(), StoreError> {
        let Some(message) = &thread.message else {
            return Ok(());
        };
        let saying = Saying::React {
            message: MessageId(message.clone()),
            reaction: Some(reaction),
        };
        let key = format!("react:{}:{message}", thread.place.channel);
        self.say(
            &key,
            &thread.place,
            &thread.route,
            &saying,
            About::default(),
        )
        .await
    }

    /// Says all that a turn said, and how it ended.
    async fn finish_turn(&self, session: SessionId, id: TurnId) -> Result<(), AskError> {
        let thread = self.store.bridge_thread_of(self.name(), session).await?;
        let turn = self.store.turn(id).await?;
        let (Some(thread), Some(turn)) = (thread, turn) else {
            return Ok(());
        };
        let Some(outcome) = &turn.outcome else {
            return Ok(());
        };
        let mut text = self.words_of(session, id).await?;
        let (reaction, end) = ending(outcome);
        if let Some(end) = end {
            text.blocks.extend(end.blocks);
        } else if text.is_empty() {
            text = Text::plain("(The agent said nothing.)");
        }
        self.say_turn(&thread, id, &text).await?;
        self.send_files(&thread, &turn).await?;
        if thread.turn == Some(id) {
            self.react(&thread, reaction).await?;
        }
        Ok(())
    }

    /// What was said and done in a turn.
    async fn words_of(&self, session: SessionId, turn: TurnId) -> Result<Text, AskError> {
        let caller = self.own_caller().await?;
        let items = match self
            .broker
            .items(&caller, session, 0, NEWEST, NEWEST + 1)
            .await
        {
            Ok(items) => items,
            Err(BrokerError::Missing { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(words(&items, turn))
    }

    /// Says the words of a turn in as many messages as they need, or in some and a file.
    async fn say_turn(
        &self,
        thread: &BridgeThread,
        turn: TurnId,
        text: &Text,
    ) -> Result<(), AskError> {
        let longest = self.adapter.capabilities().longest;
        let mut parts = split(text, |part| longest.holds(&self.adapter.render(part)));
        let is_long = parts.len() > MOST_PARTS;
        if is_long {
            let last = parts.pop();
            let count = parts.len() + 1 - MOST_PARTS;
            parts.truncate(MOST_PARTS - 1);
            let note =
                format!("⚠ {count} messages are left out here. All of it is in the file below.");
            parts.push(Text::plain(&note));
            parts.extend(last);
        }
        for (n, part) in parts.into_iter().enumerate() {
            let saying = Saying::Say(Outgoing::plain(part));
            self.say(
                &turn_key(turn, n),
                &thread.place,
                &thread.route,
                &saying,
                About::default(),
            )
            .await?;
        }
        if is_long {
            let saying = Saying::File {
                name: format!("{turn}.txt"),
                text: text.words(),
            };
            let key = format!("turn:{turn}:file");
            self.say(
                &key,
                &thread.place,
                &thread.route,
                &saying,
                About::default(),
            )
            .await?;
        }
        Ok(())
    }

    /// Shows what is being said, as often as the platform likes, until the server ends.
    pub(crate) async fn stream(self) {
        let mut words = self.broker.words();
        let pause = self.adapter.capabilities().edit_pause;
        let mut dirty: std::collections::BTreeSet<SessionId> = std::collections::BTreeSet::new();
        let mut tick = tokio::time::interval(pause);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.ending.cancelled() => return,
                delta = words.recv() => match delta {
                    Ok(delta) if !delta.thought => { dirty.insert(delta.session); }
                    Ok(_) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
                    Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
                },
                _ = tick.tick(), if !dirty.is_empty() => {
                    for session in std::mem::take(&mut dirty) {
                        if let Err(error) = self.show_growing(session).await {
                            let error = &error as &dyn std::error::Error;
                            tracing::info!(bridge = self.name(), error, "words could not be shown");
                        }
                    }
                }
            }
        }
    }

    /// Shows what the turn of a session has said so far: as much as one message holds, its end.
    async fn show_growing(&self, session: SessionId) -> Result<(), AskError> {
        let thread = self.store.bridge_thread_of(self.name(), session).await?;
        let Some((thread, turn)) = thread.and_then(|thread| {
            let turn = thread.turn?;
            Some((thread, turn))
        }) else {
            return Ok(());
        };
        let is_over = self
            .store
            .turn(turn)
            .await?
            .is_none_or(|turn| turn.outcome.is_some());
        if is_over {
            return Ok(());
        }
        let text = self.words_of(session, turn).await?;
        let longest = self.adapter.capabilities().longest;
        let parts = split(&text, |part| longest.holds(&self.adapter.render(part)));
        let Some(first) = parts.into_iter().next() else {
            return Ok(());
        };
        let saying = Saying::Say(Outgoing::plain(first));
        self.say(
            &turn_key(turn, 0),
            &thread.place,
            &thread.route,
            &saying,
            About::default(),
        )
        .await?;
        Ok(())
    }
}

fn turn_key(turn: TurnId, part: usize) -> String {
    format!("turn:{turn}:{part}")
}

/// How a turn ended, as a reaction and, where it did not end well, in words.
fn ending(outcome: &TurnOutcome) -> (Reaction, Option<Text>) {
    match outcome {
        TurnOutcome::Completed => (Reaction::Done, None),
        TurnOutcome::Denied => (
            Reaction::Stopped,
            Some(Text::plain("🛑 A denial ended the turn.")),
        ),
        TurnOutcome::Cancelled => (Reaction::Stopped, Some(Text::plain("🛑 Stopped."))),
        TurnOutcome::Failed { reason } => {
            let text = Text::default()
                .with(Block::paragraph([Span::bold("💥 The turn failed:")]))
                .with(Block::code("", reason));
            (Reaction::Failed, Some(text))
        }
    }
}

/// The beginning of what a tool gave back, with the count of what is left out.
fn output_of(output: &str) -> Vec<Block> {
    let output = output.trim();
    if output.is_empty() {
        return Vec::new();
    }
    let beginning: String = output.chars().take(OUTPUT).collect();
    let left = output.chars().count() - beginning.chars().count();
    let mut blocks = vec![Block::code("", &beginning)];
    if left > 0 {
        let note = format!("… and {left} characters more");
        blocks.push(Block::paragraph([Span::plain(&note)]));
    }
    blocks
}

/// What was said and done from the prompt of a turn to the next prompt of a person: when a turn is told of, the next one may
/// have begun.
fn words(items: &[TranscriptItem], turn: TurnId) -> Text {
    let is_prompt = |item: &TranscriptItem| matches!(item.item, Item::Prompt { follows: None, .. });
    let turn = turn.to_string();
    // Whatever the engine calls a prompt has the number of its turn in it.
    let number = turn
        .split_once('_')
        .map_or(turn.as_str(), |(_, number)| number);
    let is_its_own = |item: &TranscriptItem| is_prompt(item) && item.native_id.contains(number);
    let prompt = items.iter().position(is_its_own);
    let prompt = prompt.or_else(|| items.iter().rposition(is_prompt));
    let begin = prompt.map_or(0, |at| at + 1);
    let mut text = Text::default();
    let rest = items.iter().skip(begin);
    for item in rest.take_while(|item| !is_prompt(item)) {
        match &item.item {
            Item::Text { text: said } => text.blocks.extend(Text::from_markdown(said).blocks),
            Item::Tool {
                tool,
                status,
                output,
                ..
            } => {
                let sign = match status {
                    ToolStatus::Pending | ToolStatus::Running => "🔧",
                    ToolStatus::Completed => "✔",
                    ToolStatus::Failed => "✘",
                };
                let spans = [Span::plain(&format!("{sign} ")), Span::code(tool)];
                text.blocks.push(Block::paragraph(spans));
                text.blocks.extend(output_of(output));
            }
            Item::Notice { text: said } => text.blocks.push(Block::Quote {
                spans: vec![Span::plain(said)],
            }),
            Item::Prompt { .. }
            | Item::Attachment { .. }
            | Item::Thought { .. }
            | Item::Plan { .. } => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use countersign_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_turns_words_are_its_own_although_the_next_has_begun() {
        let now = Timestamp::from_micros(1);
        let [first, second] = [TurnId::generate(now), TurnId::generate(now)];
        let prompt = |turn: TurnId| {
            let item = Item::Prompt {
                text: "x".to_owned(),
                follows: None,
            };
            (format!("{turn}/prompt"), item)
        };
        let said = |text: &str| {
            let text = text.to_owned();
            (text.clone(), Item::Text { text })
        };
        let items = [prompt(first), said("one"), prompt(second), said("two")];
        let items: Vec<TranscriptItem> = (1..)
            .zip(items)
            .map(|(seq, (native_id, item))| TranscriptItem {
                seq,
                native_id,
                at: now,
                changed_at: None,
                item,
            })
            .collect();
        assert_eq!(words(&items, first).words(), "one");
        assert_eq!(words(&items, second).words(), "two");
        // Of a turn that the engine has not shown, what was said last is told.
        assert_eq!(words(&items, TurnId::generate(now)).words(), "two");
    }
}
