//! Works off what came in: answers and commands at once, prompts one after the other in each thread.

mod obeying;
mod prompting;

use std::collections::HashSet;
use std::time::Duration;

use countersign_broker::{BridgeThread, ChatPlace, Inbound, StoreError};
use tokio::task::JoinSet;

use crate::adapter::{Happening, MessageId, Outgoing, Pressed, Tone, What};
use crate::asks::AskError;
use crate::bridge::{About, Bridge, Saying};
use crate::card;
use crate::commands::Command;
use crate::text::Text;

/// How many rows are looked at: what is further behind waits.
const LOOKED_AT: i64 = 500;
/// How often what waits is looked at again.
const LOOK: Duration = Duration::from_secs(2);
/// How many threads are prompted at once.
const AT_ONCE: usize = 8;

/// What became of something that came in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is dealt with.
    Done,
    /// It has to wait.
    Waits,
}

impl Bridge {
    /// Works off answers and commands until the server ends: they wait for nothing.
    pub(crate) async fn work_off_inbox(self) {
        loop {
            if let Err(error) = self.take_answers().await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(bridge = self.name(), error, "what came in waits");
            }
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = self.came.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Works off prompts until the server ends, one after the other in each thread.
    pub(crate) async fn work_off_prompts(self) {
        loop {
            let pause = match self.take_prompts().await {
                Ok(true) => continue,
                Ok(false) => LOOK,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(bridge = self.name(), error, "what was said waits");
                    LOOK
                }
            };
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = self.said.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// What waits, and what it is.
    async fn waiting(&self) -> Result<Vec<(Inbound, Happening)>, AskError> {
        let mut waiting = Vec::new();
        for inbound in self.store.waiting_inbound(self.name(), LOOKED_AT).await? {
            match serde_json::from_str::<Happening>(&inbound.body) {
                Ok(happening) if !happening.by.is_bot => waiting.push((inbound, happening)),
                Ok(_) => self.store.finish_inbound(self.name(), &inbound.id).await?,
                Err(_) => {
                    tracing::warn!(
                        bridge = self.name(),
                        "something that came in cannot be read"
                    );
                    self.store.finish_inbound(self.name(), &inbound.id).await?;
                }
            }
        }
        Ok(waiting)
    }

    async fn take_answers(&self) -> Result<(), AskError> {
        let mut are_prompts = false;
        for (inbound, happening) in self.waiting().await? {
            let is_message = matches!(happening.what, What::Message { .. });
            let command = self.command_of(&inbound, &happening).await?;
            if is_message && command.is_none() {
                are_prompts = true;
                continue;
            }
            if let What::Reaction { message, .. } = &happening.what
                && self
                    .may_be_a_card(&happening.place.channel, message)
                    .await?
            {
                continue;
            }
            let taken = Box::pin(self.take_answer(&inbound, &happening, command)).await;
            taken.or_else(AskError::unless_lasting)?;
            self.store.finish_inbound(self.name(), &inbound.id).await?;
        }
        if are_prompts {
            self.said.notify_one();
        }
        Ok(())
    }

    async fn take_answer(
        &self,
        inbound: &Inbound,
        happening: &Happening,
        command: Option<Command>,
    ) -> Result<(), AskError> {
        match &happening.what {
            What::Press {
                payload, handle, ..
            } => {
                let mut parts = payload.split(':').skip(1);
                let token = parts.next().unwrap_or_default();
                let n = parts.next().and_then(|n| n.parse().ok());
                let card = self
                    .store
                    .chat_message_with_token(self.name(), token)
                    .await?;
                let (by, place) = (&happening.by, &happening.place);
                let n = n.unwrap_or(usize::MAX);
                self.press(by, place, Some(handle.clone()), card, n).await
            }
            What::Reaction { message, sign } => self.take_reaction(happening, message, sign).await,
            What::Command { handle, .. } => match command {
                Some(command) => {
                    let handle = Some(handle.clone());
                    self.obey(inbound, happening, handle, command).await
                }
                None => Ok(()),
            },
            What::Message { .. } => match command {
                Some(command) => self.obey(inbound, happening, None, command).await,
                None => Ok(()),
            },
        }
    }

    /// The command that a message is, if it is one and meant for us.
    async fn command_of(
        &self,
        inbound: &Inbound,
        happening: &Happening,
    ) -> Result<Option<Command>, AskError> {
        let text = match &happening.what {
            What::Message { text, .. } => text,
            What::Command {
                name, arguments, ..
            } => return Ok(Some(Command::named(name, arguments))),
            What::Press { .. } | What::Reaction { .. } => return Ok(None),
        };
        let sign = self.adapter.capabilities().command_sign;
        let Some(command) = Command::read(text, sign) else {
            return Ok(None);
        };
        let is_ours = is_meant(happening)
            || command.is_answer()
            || self.store.bridge_thread(&inbound.place).await?.is_some();
        Ok(is_ours.then_some(command))
    }

    /// Takes the oldest prompt of each thread; true if there may be more to take at once.
    async fn take_prompts(&self) -> Result<bool, AskError> {
        let mut seen: HashSet<ChatPlace> = HashSet::new();
        // Channels in which a thread is about to be opened: what was said in it already waits for that.
        let mut opening: HashSet<String> = HashSet::new();
        let mut taking = JoinSet::new();
        for (inbound, happening) in self.waiting().await? {
            let is_message = matches!(happening.what, What::Message { .. });
            if !is_message || self.command_of(&inbound, &happening).await?.is_some() {
                continue;
            }
            let channel = &inbound.place.channel;
            if inbound.place.thread.is_empty() {
                if is_meant(&happening) {
                    opening.insert(channel.clone());
                }
            } else if opening.contains(channel) && !is_meant(&happening) {
                let known = self.store.bridge_thread(&inbound.place).await?;
                if known.is_none() {
                    continue;
                }
            }
            if taking.len() < AT_ONCE && seen.insert(inbound.place.clone()) {
                let bridge = self.clone();
                taking.spawn(async move {
                    let taken = Box::pin(bridge.take_message(&inbound, &happening)).await;
                    let fate = match taken {
                        Ok(fate) => fate,
                        Err(error) => error.unless_lasting().map(|()| Fate::Done)?,
                    };
                    if fate == Fate::Done {
                        bridge
                            .store
                            .finish_inbound(bridge.name(), &inbound.id)
                            .await?;
                    }
                    Ok::<Fate, AskError>(fate)
                });
            }
        }
        let mut is_any_done = false;
        let mut failed = None;
        while let Some(taken) = taking.join_next().await {
            match taken {
                Ok(Ok(fate)) => is_any_done |= fate == Fate::Done,
                Ok(Err(error)) => failed = Some(error),
                Err(_) => {}
            }
        }
        failed.map_or(Ok(is_any_done), Err)
    }

    /// A reaction is an answer where the platform has no buttons, on a card, by a sign that stands for an option.
    async fn take_reaction(
        &self,
        happening: &Happening,
        message: &MessageId,
        sign: &str,
    ) -> Result<(), AskError> {
        if self.adapter.capabilities().buttons != crate::adapter::Buttons::Reactions {
            return Ok(());
        }
        let channel = &happening.place.channel;
        let called = self
            .store
            .chat_message_called(self.name(), channel, &message.0);
        let card = called.await?.filter(|row| row.token.is_some());
        let Some((ask, _)) = self.ask_of(card.as_ref()).await? else {
            return Ok(());
        };
        let Some(n) = card::pressed_by(sign, &card::offers(&ask)) else {
            return Ok(());
        };
        self.press(&happening.by, &happening.place, None, card, n)
            .await
    }

    /// Somebody says something to an agent.
    async fn take_message(
        &self,
        inbound: &Inbound,
        happening: &Happening,
    ) -> Result<Fate, AskError> {
        let What::Message {
            message,
            text,
            files,
            ..
        } = &happening.what
        else {
            return Ok(Fate::Done);
        };
        let known = self.store.bridge_thread(&inbound.place).await?;
        if known.is_none() && !is_meant(happening) {
            return Ok(Fate::Done);
        }
        let channel = &happening.place.channel;
        let Some(route) = self.route(channel, happening.is_direct) else {
            return Ok(Fate::Done);
        };
        let Some(caller) = self.talker(route, &happening.by.id).await? else {
            if is_meant(happening) {
                let text =
                    "You may not talk to agents here. Whoever set the bridge up can change that.";
                self.tell(&pressed(happening, None), Tone::Refused, text)
                    .await;
            }
            return Ok(Fate::Done);
        };
        let thread = match known {
            Some(thread) => thread,
            None => match self.open(happening, message, text, route).await? {
                Some(thread) => thread,
                None => return Ok(Fate::Waits),
            },
        };
        if self.is_busy(&thread, inbound).await? {
            self.note_waiting(&thread, inbound, message).await?;
            return Ok(Fate::Waits);
        }
        self.prompt(inbound, &caller, thread, route, message, text, files)
            .await
    }

    /// Says something in a thread, once.
    async fn reply(&self, key: &str, thread: &BridgeThread, text: &str) -> Result<(), StoreError> {
        let saying = Saying::Say(Outgoing::plain(Text::plain(text)));
        self.say(key, &thread.place, &thread.route, &saying, About::default())
            .await
    }
}

/// Whether something was said to us.
fn is_meant(happening: &Happening) -> bool {
    let mentions_us = matches!(
        &happening.what,
        What::Message {
            mentions_us: true,
            ..
        }
    );
    happening.is_direct || mentions_us
}

fn pressed(happening: &Happening, handle: Option<String>) -> Pressed {
    Pressed {
        place: happening.place.clone(),
        by: happening.by.clone(),
        handle,
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
