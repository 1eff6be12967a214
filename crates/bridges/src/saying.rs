//! Says what is to be said: in order for each place, several places at once, again after failures, and never twice.

use std::collections::HashSet;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use countersign_broker::{BridgeMessage, ChatPlace, StoreError};
use countersign_core::time::Timestamp;
use tokio::task::JoinSet;

use crate::adapter::{Failure, Key, MessageId, OutgoingFile, Place, Reaction, Sent};
use crate::bridge::{Bridge, Saying, place_of};
use crate::text::{Block, Span};

/// What stands before a person's id where the place is the one that only they and we are in.
pub(crate) const DIRECT: &str = "direct:";
/// How many rows are looked at: what is further behind waits.
const LOOKED_AT: i64 = 500;
/// How many places are served at once.
const AT_ONCE: usize = 8;
/// How often the ledger is looked at while nothing is known to be due.
const IDLE_LOOK: Duration = Duration::from_secs(10);
/// How long an attempt may take before it counts as unheard of.
const ATTEMPT: Duration = Duration::from_mins(2);
/// The pauses between attempts.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The most that is kept of what was said; what is still to be said is always kept.
const KEPT: i64 = 50_000;

impl Bridge {
    /// Says what is to be said until the server ends.
    pub(crate) async fn work_off_outbox(self) {
        let mut rounds: u32 = 0;
        loop {
            let pause = match self.say_what_is_due().await {
                Ok(pause) => pause,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(bridge = self.name(), error, "nothing can be said");
                    FIRST_PAUSE
                }
            };
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(1_000) {
                // Failing to tidy up does no harm.
                drop(self.store.forget_said(self.name(), KEPT).await);
                drop(self.store.forget_inbound(self.name(), KEPT).await);
            }
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = self.to_say.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Makes every attempt that is due, and returns how long to wait for the next.
    async fn say_what_is_due(&self) -> Result<Duration, StoreError> {
        let open = self
            .store
            .open_chat_messages(self.name(), LOOKED_AT)
            .await?;
        let now = self.clock.now();
        let (due, next) = due(&open, now);
        if due.is_empty() {
            return Ok(next.map_or(IDLE_LOOK, |next| next.since(now).min(IDLE_LOOK)));
        }
        let mut attempts = JoinSet::new();
        for row in due.into_iter().take(AT_ONCE) {
            let (bridge, id) = (self.clone(), row.id.clone());
            attempts.spawn(async move { bridge.attempt(&id).await });
        }
        while let Some(attempt) = attempts.join_next().await {
            if let Ok(Err(error)) = attempt {
                return Err(error);
            }
        }
        Ok(Duration::ZERO)
    }

    async fn attempt(&self, id: &str) -> Result<(), StoreError> {
        let Some(row) = self.store.chat_message(id).await? else {
            return Ok(());
        };
        // Nobody else tries meanwhile: this is for a server that dies now, and the next one should not let people wait.
        let retry_at = self.clock.now().after(pause_after(row.attempts));
        self.store.begin_saying(&row.id, retry_at).await?;
        let Ok(saying) = serde_json::from_str::<Saying>(&row.body) else {
            return self
                .store
                .give_up_saying(&row.id, "it cannot be read")
                .await;
        };
        let done = tokio::time::timeout(ATTEMPT, self.carry_out(&row, &saying)).await;
        let outcome = done.unwrap_or_else(|_| Err(Failure::Unknown("it took too long".to_owned())));
        let now = self.clock.now();
        match outcome {
            Ok(Carried { message, channel }) => {
                let capabilities = self.adapter.capabilities();
                let pause = if row.message.is_some() {
                    capabilities.edit_pause
                } else {
                    capabilities.send_pause
                };
                let former = match &saying {
                    Saying::React { reaction, .. } => serde_json::to_string(reaction).ok(),
                    Saying::Say(_) | Saying::File { .. } | Saying::Bytes { .. } => None,
                };
                let message = message.as_ref().map(|message| message.0.as_str());
                let said = self.store.mark_said(
                    &row.id,
                    row.version,
                    message,
                    channel.as_deref(),
                    former.as_deref(),
                    now.after(pause),
                );
                said.await?;
                if row.token.is_some() {
                    // What was pressed on the card before we knew what it is called can be taken now.
                    self.came.notify_one();
                }
                Ok(())
            }
            Err(Failure::Gone(problem) | Failure::Refused(problem)) => {
                tracing::warn!(bridge = self.name(), problem, "a message is given up");
                self.store.give_up_saying(&row.id, &problem).await
            }
            Err(failure) => {
                let pause = if let Failure::Later { after, .. } = &failure {
                    *after
                } else {
                    pause_after(row.attempts)
                };
                let problem = failure.to_string();
                tracing::info!(
                    bridge = self.name(),
                    problem,
                    "a message is tried again later"
                );
                let is_doubtful = row.is_doubtful || matches!(failure, Failure::Unknown(_));
                self.store
                    .postpone_saying(&row.id, now.after(pause), &problem, is_doubtful)
                    .await
            }
        }
    }

    async fn carry_out(&self, row: &BridgeMessage, saying: &Saying) -> Result<Carried, Failure> {
        let (place, channel) = self.resolve(&row.place).await?;
        let key = Key(row.id.clone());
        let known = row.message.clone().map(MessageId);
        let message = match (saying, known) {
            (Saying::Say(outgoing), Some(id)) => {
                self.adapter.edit(&place, &id, outgoing).await?;
                None
            }
            (Saying::File { .. } | Saying::Bytes { .. }, Some(_)) => None,
            (Saying::React { message, reaction }, _) => {
                let former = row.former.as_deref();
                let former: Option<Reaction> =
                    former.and_then(|former| serde_json::from_str(former).ok().flatten());
                self.adapter
                    .react(&place, message, former, *reaction)
                    .await?;
                None
            }
            (saying, None) => {
                let id = self.send(&place, saying, &key, row.is_doubtful).await?;
                if let Saying::Say(outgoing) = saying
                    && row.attempts > 0
                    && row.version > 1
                {
                    // An earlier attempt may have come through with what was to be said then.
                    self.adapter.edit(&place, &id, outgoing).await?;
                }
                Some(id)
            }
        };
        Ok(Carried { message, channel })
    }

    /// Sends something that the platform does not have yet, as far as we know.
    async fn send(
        &self,
        place: &Place,
        saying: &Saying,
        key: &Key,
        is_doubtful: bool,
    ) -> Result<MessageId, Failure> {
        let mut is_unknown = false;
        if is_doubtful && !self.adapter.capabilities().repeatable {
            match self.adapter.find_sent(place, key).await? {
                Sent::As(message) => return Ok(message),
                Sent::No => {}
                Sent::CannotTell => is_unknown = true,
            }
        }
        match saying {
            Saying::Say(outgoing) => {
                let mut outgoing = outgoing.clone();
                if is_unknown {
                    let note = "(This may be a repetition: the connection broke.)";
                    outgoing
                        .text
                        .blocks
                        .push(Block::paragraph([Span::plain(note)]));
                }
                self.adapter.send(place, &outgoing, key).await
            }
            Saying::File { name, text } => {
                let file = OutgoingFile {
                    name: name.clone(),
                    media_type: "text/plain; charset=utf-8".to_owned(),
                    content: text.clone().into(),
                };
                self.adapter.upload(place, &file, key).await
            }
            Saying::Bytes { name, base64 } => {
                let content = BASE64_STANDARD.decode(base64);
                let file = OutgoingFile {
                    name: name.clone(),
                    media_type: "application/octet-stream".to_owned(),
                    content: content.unwrap_or_default().into(),
                };
                self.adapter.upload(place, &file, key).await
            }
            Saying::React { .. } => Err(Failure::Refused("a reaction is no message".to_owned())),
        }
    }

    /// Whether a message that we do not know may be a card that is being sent: people see it, and press what is below it,
    /// before we are told what it is called.
    pub(crate) async fn may_be_a_card(
        &self,
        channel: &str,
        message: &MessageId,
    ) -> Result<bool, StoreError> {
        let name = self.name();
        let known = self.store.chat_message_called(name, channel, &message.0);
        if known.await?.is_some() {
            return Ok(false);
        }
        let open = self.store.open_chat_messages(name, LOOKED_AT).await?;
        Ok(open.iter().any(|row| {
            let is_there = row.place.channel == channel || row.place.channel.starts_with(DIRECT);
            row.token.is_some() && row.message.is_none() && row.attempts > 0 && is_there
        }))
    }

    /// The place itself, and its channel if it was only known by the person who is there.
    async fn resolve(&self, place: &ChatPlace) -> Result<(Place, Option<String>), Failure> {
        match place.channel.strip_prefix(DIRECT) {
            None => Ok((place_of(place), None)),
            Some(person) => {
                let direct = self.adapter.direct(person).await?;
                let channel = Some(direct.channel.clone());
                Ok((direct, channel))
            }
        }
    }
}

/// What was carried out.
struct Carried {
    /// What the platform calls it, if it is new.
    message: Option<MessageId>,
    /// The channel, if it was not known before.
    channel: Option<String>,
}

/// What is due of the open rows: the oldest that was not sent of each place, and changes of what was; and when the next
/// one is.
fn due(open: &[BridgeMessage], now: Timestamp) -> (Vec<&BridgeMessage>, Option<Timestamp>) {
    let mut held: HashSet<&ChatPlace> = HashSet::new();
    let mut busy: HashSet<&ChatPlace> = HashSet::new();
    let mut due = Vec::new();
    let mut next: Option<Timestamp> = None;
    for row in open {
        let is_new = row.message.is_none() && row.kind != "react";
        if is_new && !held.insert(&row.place) {
            // An older one has to be said first.
            continue;
        }
        if row.due_at > now {
            next = Some(next.map_or(row.due_at, |next| next.min(row.due_at)));
        } else if busy.insert(&row.place) {
            due.push(row);
        }
    }
    (due, next)
}

fn pause_after(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts.clamp(0, 6)).unwrap_or(6);
    let pause = FIRST_PAUSE * 2_u32.pow(doublings);
    pause.min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str, thread: &str, message: Option<&str>, due_at: i64) -> BridgeMessage {
        BridgeMessage {
            id: key.to_owned(),
            key: key.to_owned(),
            place: ChatPlace {
                bridge: "matrix".to_owned(),
                channel: "!room".to_owned(),
                thread: thread.to_owned(),
            },
            kind: "say".to_owned(),
            subject: None,
            token: None,
            route: "!room".to_owned(),
            body: String::new(),
            version: 1,
            sent_version: 0,
            former: None,
            message: message.map(str::to_owned),
            attempts: 0,
            is_doubtful: false,
            due_at: Timestamp::from_micros(due_at),
        }
    }

    #[test]
    fn a_message_that_has_to_wait_holds_up_its_own_thread_alone() {
        let open = [
            row("first", "a", None, 9),
            row("second", "a", None, 0),
            row("elsewhere", "b", None, 0),
            row("edit", "a", Some("$1"), 0),
        ];
        let (due, next) = due(&open, Timestamp::from_micros(5));
        let keys: Vec<&str> = due.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(keys, ["elsewhere", "edit"]);
        assert_eq!(next, Some(Timestamp::from_micros(9)));
    }

    #[test]
    fn pauses_grow_to_a_minute() {
        let pauses: Vec<u64> = (0..8).map(|n| pause_after(n).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    }
}
