//! Discord: what happens by its gateway, what is done by its HTTP API.
//!
//! A conversation is a thread of the message that began it, options are buttons, and whoever presses one is answered where
//! only they see it. Discord knows a message by its nonce for a few minutes: sending it again within them gives the same
//! message, and after them nobody can tell, which is then said.

mod catching_up;
mod checking;
mod client;
mod content;
mod dialect;
mod events;
mod following;
mod interactions;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use self::client::{Client, code, refusal, send};
use self::interactions::Unanswered;
use crate::adapter::{
    Adapter, Buttons, Capabilities, Failure, Finding, IncomingFile, Key, Length, MessageId,
    Outgoing, OutgoingFile, Place, Pressed, Reaction, Sent, Tone,
};
use crate::http::{content_of, percent_encoded, too_big, unanswered};
use crate::intake::{Intake, Stopped};
use crate::text::Text;
use crate::{Platform, Secret, UnfitBridge};

/// What a bot may send without anybody's boosts.
const BIGGEST_FILE: u64 = 10 << 20;
/// The longest name of a thread.
const LONGEST_TITLE: usize = 100;
/// After so many minutes without a word a thread is put away, and the next word brings it back.
const PUT_AWAY_AFTER: u32 = 1_440;
/// Discord knows a message by its nonce for “a few minutes”: so long it certainly does.
const KNOWN_FOR: Duration = Duration::from_secs(90);
/// How many channels are remembered.
const REMEMBERED: usize = 10_000;

/// Discord, as one bot.
pub struct Discord {
    client: Client,
    token: Secret,
    /// The channels that anything is done in.
    channels: Vec<u64>,
    me: OnceCell<u64>,
    /// Where channels are, as far as it was asked for.
    places: Mutex<HashMap<u64, Place>>,
    unanswered: Unanswered,
    attempts: Attempts,
}

/// When each message was first sent that may have been taken, for as long as Discord knows it by its nonce.
#[derive(Debug, Default)]
struct Attempts(Mutex<HashMap<String, Instant>>);

impl Attempts {
    /// Notes an attempt.
    fn begin(&self, key: &Key) {
        let mut attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.retain(|_, first| first.elapsed() < KNOWN_FOR);
        attempts.entry(key.0.clone()).or_insert_with(Instant::now);
    }

    /// Whether Discord still knows what was sent so.
    fn is_fresh(&self, key: &Key) -> bool {
        let attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = attempts.get(&key.0);
        first.is_some_and(|first| first.elapsed() < KNOWN_FOR)
    }
}

impl Discord {
    /// Talks to Discord, or to what is at `url`, with this bot's token. Nothing is heard of other channels than these and
    /// their threads; after an absence that Discord does not remember, what was said in them is read.
    pub fn new<'a>(
        url: Option<&str>,
        token: &Secret,
        channels: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, UnfitBridge> {
        Ok(Self {
            client: Client::new(url, token)?,
            token: token.clone(),
            channels: channels
                .into_iter()
                .filter_map(|id| id.parse().ok())
                .collect(),
            me: OnceCell::new(),
            places: Mutex::default(),
            unanswered: Unanswered::default(),
            attempts: Attempts::default(),
        })
    }

    /// What Discord calls us.
    async fn me(&self) -> Result<u64, Failure> {
        let me = self.me.get_or_try_init(async || {
            let answer = send(self.client.call(Method::GET, "users/@me")).await?;
            number(&answer["id"])
                .ok_or_else(|| Failure::Unreached("Discord does not say who we are".to_owned()))
        });
        me.await.copied()
    }

    /// The place that a channel of a server is; nothing if it is not to be seen.
    async fn place_of(&self, channel: u64) -> Result<Option<Place>, Failure> {
        if let Some(place) = self.places().get(&channel) {
            return Ok(Some(place.clone()));
        }
        let found = send(
            self.client
                .call(Method::GET, format_args!("channels/{channel}")),
        );
        let found = match found.await.map_err(Failure::from) {
            Ok(found) => found,
            Err(Failure::Gone(_) | Failure::Refused(_)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let place = match number(&found["parent_id"]).filter(|_| is_thread(&found)) {
            Some(parent) => thread_of(parent, channel),
            None => channel_called(channel),
        };
        let mut places = self.places();
        if places.len() >= REMEMBERED {
            places.clear();
        }
        places.insert(channel, place.clone());
        Ok(Some(place))
    }

    /// Whether anything is done there.
    fn is_for(&self, place: &Place) -> bool {
        let channel = place.channel.parse();
        channel.is_ok_and(|channel| self.channels.contains(&channel))
    }

    fn places(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find_direct(&self, person: &str) -> Result<Place, Failure> {
        let person = known(person)?;
        let wish = json!({"recipient_id": person.to_string()});
        let request = self
            .client
            .call(Method::POST, "users/@me/channels")
            .json(&wish);
        let made = send(request).await?;
        let channel = number(&made["id"]);
        channel
            .map(channel_called)
            .ok_or_else(|| Failure::Unknown("Discord does not say where it is".to_owned()))
    }

    async fn post(&self, request: reqwest::RequestBuilder) -> Result<MessageId, Failure> {
        let answer = send(request).await?;
        let id = answer["id"].as_str();
        id.map(|id| MessageId(id.to_owned()))
            .ok_or_else(|| Failure::Unknown("Discord does not say what it is called".to_owned()))
    }

    async fn open(
        &self,
        place: &Place,
        message: &MessageId,
        title: &str,
    ) -> Result<Place, Failure> {
        if place.thread.is_some() {
            return Ok(place.clone());
        }
        let (channel, message) = (known(&place.channel)?, known(&message.0)?);
        let title: String = title.chars().filter(|sign| !sign.is_control()).collect();
        let title: String = title.trim().chars().take(LONGEST_TITLE).collect();
        let title = if title.is_empty() {
            "Countersign"
        } else {
            &title
        };
        let wish = json!({"name": title, "auto_archive_duration": PUT_AWAY_AFTER});
        let path = format!("channels/{channel}/messages/{message}/threads");
        let made = send(self.client.call(Method::POST, path).json(&wish)).await;
        match made {
            Ok(_) => {}
            Err(refusal) if refusal.code == code::HAS_THREAD => {}
            Err(refusal) => return Err(refusal.failure),
        }
        // A thread is called as the message that it is of.
        Ok(thread_of(channel, message))
    }

    /// Takes back every reaction of ours but the one that is wanted.
    async fn make_only(&self, path: &str, wanted: Option<&str>) -> Result<(), Failure> {
        let message = send(self.client.call(Method::GET, path)).await?;
        for reaction in message["reactions"].as_array().into_iter().flatten() {
            let Some(sign) = reaction["emoji"]["name"].as_str() else {
                continue;
            };
            if reaction["me"] == true && reaction["emoji"]["id"].is_null() && Some(sign) != wanted {
                let path = format!("{path}/reactions/{}/@me", percent_encoded(sign));
                send(self.client.call(Method::DELETE, path)).await?;
            }
        }
        Ok(())
    }

    async fn fetch(&self, file: &IncomingFile, limit: u64) -> Result<Bytes, Failure> {
        if file.size.is_some_and(|size| size > limit) {
            return Err(too_big(file, limit));
        }
        let request = self.client.file(&file.handle)?;
        let response = request.send().await.map_err(|error| unanswered(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response.status(), None, &Value::Null).failure);
        }
        content_of(response, file, limit).await
    }
}

/// One of Discord's numbers, which are written as text.
fn number(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

/// What somebody wrote down as one of Discord's numbers: nothing else becomes part of a path.
fn known(id: &str) -> Result<u64, Failure> {
    id.parse()
        .map_err(|_| Failure::Refused(format!("`{id}` is no id of Discord's: those are numbers")))
}

fn is_thread(channel: &Value) -> bool {
    matches!(channel["type"].as_u64(), Some(10..=12))
}

fn channel_called(channel: u64) -> Place {
    Place::channel(channel.to_string())
}

fn thread_of(parent: u64, thread: u64) -> Place {
    Place {
        channel: parent.to_string(),
        thread: Some(thread.to_string()),
    }
}

/// The channel that messages of a place are in: a thread is one itself.
fn channel_of(place: &Place) -> Result<u64, Failure> {
    known(place.thread.as_ref().unwrap_or(&place.channel))
}

/// Where a message is. The one that a thread is of is not in it, but where the thread is.
fn path_to(place: &Place, message: &MessageId) -> Result<String, Failure> {
    let channel = if place.thread.as_ref() == Some(&message.0) {
        known(&place.channel)?
    } else {
        channel_of(place)?
    };
    Ok(format!(
        "channels/{channel}/messages/{}",
        known(&message.0)?
    ))
}

impl Adapter for Discord {
    fn platform(&self) -> Platform {
        Platform::Discord
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            buttons: Buttons::Native,
            command_sign: '/',
            longest: Length::Utf16(content::LONGEST),
            biggest_file: BIGGEST_FILE,
            edit_pause: Duration::from_millis(1_500),
            send_pause: Duration::from_secs(1),
            repeatable: false,
        }
    }

    fn render(&self, text: &Text) -> String {
        dialect::markdown(text)
    }

    fn follow<'a>(
        &'a self,
        cursor: Option<String>,
        intake: &'a Intake,
    ) -> BoxFuture<'a, Result<Stopped, Failure>> {
        Box::pin(self.follow_gateway(cursor, intake))
    }

    fn open_thread<'a>(
        &'a self,
        place: &'a Place,
        message: &'a MessageId,
        title: &'a str,
    ) -> BoxFuture<'a, Result<Place, Failure>> {
        Box::pin(self.open(place, message, title))
    }

    fn direct<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Result<Place, Failure>> {
        Box::pin(self.find_direct(person))
    }

    fn send<'a>(
        &'a self,
        place: &'a Place,
        message: &'a Outgoing,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>> {
        Box::pin(async move {
            let path = format!("channels/{}/messages", channel_of(place)?);
            let message = content::with_key(content::message(message), key);
            self.attempts.begin(key);
            self.post(self.client.call(Method::POST, path).json(&message))
                .await
        })
    }

    fn find_sent<'a>(
        &'a self,
        _place: &'a Place,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        // Discord finds it when it is sent again, for as long as it knows the nonce: as good as if it had not been sent.
        let sent = if self.attempts.is_fresh(key) {
            Sent::No
        } else {
            Sent::CannotTell
        };
        Box::pin(async move { Ok(sent) })
    }

    fn edit<'a>(
        &'a self,
        place: &'a Place,
        id: &'a MessageId,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let request = self.client.call(Method::PATCH, path_to(place, id)?);
            send(request.json(&content::message(message))).await?;
            Ok(())
        })
    }

    fn react<'a>(
        &'a self,
        place: &'a Place,
        message: &'a MessageId,
        _former: Option<Reaction>,
        reaction: Option<Reaction>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let path = path_to(place, message)?;
            let wanted = reaction.map(Reaction::sign);
            if let Some(sign) = wanted {
                let path = format!("{path}/reactions/{}/@me", percent_encoded(sign));
                send(self.client.call(Method::PUT, path)).await?;
            }
            // Not the former one alone: there may be one that we were never told of.
            self.make_only(&path, wanted).await
        })
    }

    fn upload<'a>(
        &'a self,
        place: &'a Place,
        file: &'a OutgoingFile,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>> {
        Box::pin(async move {
            let path = format!("channels/{}/messages", channel_of(place)?);
            let (kind, body) = content::form(file, key);
            self.attempts.begin(key);
            let request = self.client.call(Method::POST, path);
            self.post(request.header(CONTENT_TYPE, kind).body(body))
                .await
        })
    }

    fn download<'a>(
        &'a self,
        file: &'a IncomingFile,
        limit: u64,
    ) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(self.fetch(file, limit))
    }

    fn reply_privately<'a>(
        &'a self,
        press: &'a Pressed,
        tone: Tone,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(self.answer_privately(press, tone, text))
    }

    fn check<'a>(&'a self, channels: &'a [String]) -> BoxFuture<'a, Vec<Finding>> {
        Box::pin(self.check_all(channels))
    }
}
