//! Telegram, by its Bot API and long polling: no address of ours has to be reached from outside.
//!
//! Buttons are Telegram's own. A conversation is a topic where the group has topics, the thread of replies to a message in
//! other supergroups, and the chat itself where there is neither.
//!
//! Sending cannot be repeated: Telegram knows no transaction ids, tells a bot nothing of what it said itself, and lets it
//! read no history. After an attempt of unknown fate nobody can tell ([`Sent::CannotTell`](crate::adapter::Sent)): the
//! core sends it once more and says that it may be a repetition. Both cards of an ask carry the same token, so either
//! answers it.

mod checking;
mod client;
mod following;
mod message;
mod pace;

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use self::client::Client;
use self::pace::{Act, Pace};
use crate::adapter::{
    Adapter, Buttons, Capabilities, Failure, Finding, IncomingFile, Key, Length, MessageId,
    Outgoing, OutgoingFile, Place, Pressed, Reaction, Tone,
};
use crate::http::{Form, too_big};
use crate::intake::{Intake, Stopped};
use crate::text::Text;
use crate::{Platform, Secret, UnfitBridge};

/// Where the Bot API is unless it is said otherwise.
const USUAL_URL: &str = "https://api.telegram.org";
const BIGGEST_FILE: u64 = 50 << 20;
/// The longest private reply to a press.
const LONGEST_ALERT: usize = 200;
/// The longest name of a topic.
const LONGEST_TITLE: usize = 128;
/// How many names and topics are remembered.
const REMEMBERED: usize = 1_000;

/// Telegram, as one bot.
pub struct Telegram {
    client: Client,
    me: OnceCell<Me>,
    pace: Pace,
    /// What people are called, so that a ping can be read.
    names: Mutex<HashMap<String, String>>,
    /// The topics that were made for messages: making one twice would make two.
    topics: Mutex<HashMap<(i64, i64), i64>>,
}

/// Who we are there.
#[derive(Debug, Clone)]
struct Me {
    id: i64,
    username: String,
    /// Whether everything that is said in groups comes to us.
    reads_all: bool,
}

/// What keeps a conversation together within a chat, as [`Place::thread`] has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thread {
    /// A topic of a forum.
    Topic(i64),
    /// The replies to a message, and to those.
    Replies(i64),
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(id) => write!(f, "topic:{id}"),
            Self::Replies(id) => write!(f, "reply:{id}"),
        }
    }
}

impl FromStr for Thread {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let unknown = || Failure::Refused(format!("`{text}` is no thread of Telegram"));
        let (kind, id) = text.split_once(':').ok_or_else(unknown)?;
        let id = id.parse().map_err(|_| unknown())?;
        match kind {
            "topic" => Ok(Self::Topic(id)),
            "reply" => Ok(Self::Replies(id)),
            _ => Err(unknown()),
        }
    }
}

impl Telegram {
    /// Talks to the Bot API at `url`, or at its usual address, with this token.
    pub fn new(url: Option<&str>, token: Secret) -> Result<Self, UnfitBridge> {
        let invalid = |problem: &str| UnfitBridge::Invalid {
            field: "url",
            problem: problem.to_owned(),
        };
        let url = url.unwrap_or(USUAL_URL);
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(invalid("has to begin with http:// or https://"));
        }
        // It is part of each address.
        let is_token = |sign: char| sign.is_ascii_alphanumeric() || ":_-".contains(sign);
        if !token.expose().chars().all(is_token) {
            return Err(UnfitBridge::Invalid {
                field: "token",
                problem: "is none of Telegram's: those are digits, a colon, and letters".to_owned(),
            });
        }
        let client = Client::new(url, token).map_err(|_| invalid("is no address"))?;
        Ok(Self {
            client,
            me: OnceCell::new(),
            pace: Pace::default(),
            names: Mutex::default(),
            topics: Mutex::default(),
        })
    }

    async fn me(&self) -> Result<Me, Failure> {
        let me = self.me.get_or_try_init(async || {
            let me = self.client.call("getMe", &json!({})).await?;
            let unsaid = || Failure::Unreached("Telegram does not say who we are".to_owned());
            Ok(Me {
                id: me["id"].as_i64().ok_or_else(unsaid)?,
                username: me["username"].as_str().ok_or_else(unsaid)?.to_owned(),
                reads_all: me["can_read_all_group_messages"] == true,
            })
        });
        me.await.cloned()
    }

    /// Remembers what somebody is called.
    fn learn_name(&self, user: &Value) {
        let Some(id) = user["id"].as_i64() else {
            return;
        };
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= REMEMBERED {
            names.clear();
        }
        names.insert(id.to_string(), following::name(user));
    }

    fn name_of(&self, id: &str) -> Option<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(id).cloned()
    }

    /// Asks what those are called whom a text means.
    async fn learn_names(&self, chat: i64, text: &Text) {
        for id in text.people() {
            if self.name_of(id).is_some() {
                continue;
            }
            let Ok(number) = id.parse::<i64>() else {
                continue;
            };
            let arguments = json!({"chat_id": chat, "user_id": number});
            // Without a name they are called by their id.
            let member = self.client.call("getChatMember", &arguments).await;
            let unnamed = json!({"id": number});
            let user = member.unwrap_or_default()["user"].take();
            self.learn_name(if user.is_object() { &user } else { &unnamed });
        }
    }

    async fn send_message(&self, place: &Place, message: &Outgoing) -> Result<MessageId, Failure> {
        let chat = chat_of(place)?;
        self.pace.begin(chat, Act::Say, Instant::now())?;
        self.learn_names(chat, &message.text).await;
        let mut arguments = message::content(message, |id| self.name_of(id));
        arguments["chat_id"] = json!(chat);
        match thread_of(place)? {
            Some(Thread::Topic(id)) => arguments["message_thread_id"] = json!(id),
            Some(Thread::Replies(id)) => arguments["reply_parameters"] = reply_to(id),
            None => {}
        }
        let sent = self.client.call("sendMessage", &arguments).await?;
        called(&sent)
    }

    async fn edit_message(
        &self,
        place: &Place,
        id: &MessageId,
        message: &Outgoing,
    ) -> Result<(), Failure> {
        let chat = chat_of(place)?;
        self.pace.begin(chat, Act::Change, Instant::now())?;
        self.learn_names(chat, &message.text).await;
        let mut arguments = message::content(message, |id| self.name_of(id));
        arguments["chat_id"] = json!(chat);
        arguments["message_id"] = json!(number_of(id)?);
        match self.client.call("editMessageText", &arguments).await {
            Err(Failure::Refused(problem)) if problem.contains("message is not modified") => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// A topic for the conversation about a message, made once.
    async fn topic_for(&self, chat: i64, message: i64, title: &str) -> Result<Thread, Failure> {
        let key = (chat, message);
        let known = {
            let topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
            topics.get(&key).copied()
        };
        if let Some(topic) = known {
            return Ok(Thread::Topic(topic));
        }
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = title.chars().take(LONGEST_TITLE).collect();
        let name = if title.is_empty() {
            "Session"
        } else {
            title.as_str()
        };
        let arguments = json!({"chat_id": chat, "name": name});
        let made = match self.client.call("createForumTopic", &arguments).await {
            Ok(made) => made,
            // We may not make any: the replies to the message are a thread as well.
            Err(Failure::Refused(_)) => return Ok(Thread::Replies(message)),
            Err(failure) => return Err(failure),
        };
        let topic = made["message_thread_id"].as_i64();
        let topic =
            topic.ok_or_else(|| Failure::Unknown("it does not say which topic".to_owned()))?;
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if topics.len() >= REMEMBERED {
            topics.clear();
        }
        topics.insert(key, topic);
        Ok(Thread::Topic(topic))
    }

    async fn thread_for(
        &self,
        place: &Place,
        message: &MessageId,
        title: &str,
    ) -> Result<Place, Failure> {
        if place.thread.is_some() {
            return Ok(place.clone());
        }
        let (chat, message) = (chat_of(place)?, number_of(message)?);
        let about = self
            .client
            .call("getChat", &json!({"chat_id": chat}))
            .await?;
        let thread = if about["is_forum"] == true {
            Some(self.topic_for(chat, message, title).await?)
        } else {
            // Elsewhere replies do not say which thread they are of.
            (about["type"] == "supergroup").then_some(Thread::Replies(message))
        };
        Ok(Place {
            channel: place.channel.clone(),
            thread: thread.map(|thread| thread.to_string()),
        })
    }

    async fn send_file(&self, place: &Place, file: &OutgoingFile) -> Result<MessageId, Failure> {
        let chat = chat_of(place)?;
        self.pace.begin(chat, Act::Say, Instant::now())?;
        let mut form = Form::new().field("chat_id", &chat.to_string());
        match thread_of(place)? {
            Some(Thread::Topic(id)) => form = form.field("message_thread_id", &id.to_string()),
            Some(Thread::Replies(id)) => {
                form = form.field("reply_parameters", &reply_to(id).to_string());
            }
            None => {}
        }
        let form = form.file("document", file);
        let sent = self.client.call_with_file("sendDocument", form).await?;
        called(&sent)
    }

    async fn fetch(&self, file: &IncomingFile, limit: u64) -> Result<Bytes, Failure> {
        let is_too_big = |size: Option<u64>| size.is_some_and(|size| size > limit);
        if is_too_big(file.size) {
            return Err(too_big(file, limit));
        }
        let arguments = json!({"file_id": file.handle});
        let about = self.client.call("getFile", &arguments).await?;
        if is_too_big(about["file_size"].as_u64()) {
            return Err(too_big(file, limit));
        }
        let path = about["file_path"].as_str();
        let path = path.ok_or_else(|| Failure::Gone("the file cannot be fetched".to_owned()))?;
        self.client.file(path, file, limit).await
    }

    async fn reply(&self, press: &Pressed, tone: Tone, text: &str) -> Result<(), Failure> {
        if let Some(handle) = &press.handle {
            let alert: String = text.chars().take(LONGEST_ALERT).collect();
            let arguments = json!({
                "callback_query_id": handle,
                "text": alert,
                "show_alert": tone == Tone::Refused,
            });
            match self.client.call("answerCallbackQuery", &arguments).await {
                // It was pressed too long ago to be answered there.
                Err(Failure::Gone(_)) => {}
                outcome => return outcome.map(drop),
            }
        }
        match tone {
            Tone::Done => Ok(()),
            Tone::Refused => {
                let place = Place::channel(&press.by.id);
                let message = Outgoing::plain(Text::plain(text));
                self.send_message(&place, &message).await.map(drop)
            }
        }
    }
}

/// A reply to a message, which is sent as well when that was deleted.
fn reply_to(id: i64) -> Value {
    json!({"message_id": id, "allow_sending_without_reply": true})
}

/// What a message that was sent is called.
fn called(sent: &Value) -> Result<MessageId, Failure> {
    let id = sent["message_id"].as_i64();
    id.map(|id| MessageId(id.to_string()))
        .ok_or_else(|| Failure::Unknown("Telegram does not say what it is called".to_owned()))
}

fn chat_of(place: &Place) -> Result<i64, Failure> {
    let chat = place.channel.parse();
    chat.map_err(|_| Failure::Refused(format!("`{}` is no chat of Telegram", place.channel)))
}

fn number_of(message: &MessageId) -> Result<i64, Failure> {
    let number = message.0.parse();
    number.map_err(|_| Failure::Refused(format!("`{message}` is no message of Telegram")))
}

fn thread_of(place: &Place) -> Result<Option<Thread>, Failure> {
    place.thread.as_deref().map(str::parse).transpose()
}

/// A reaction as Telegram lets bots have it: it takes these and few others.
const fn emoji(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Queued => "🫡",
        Reaction::Working => "👀",
        Reaction::Waiting => "🙏",
        Reaction::Done => "👍",
        Reaction::Failed => "💔",
        Reaction::Stopped => "😐",
    }
}

impl Adapter for Telegram {
    fn platform(&self) -> Platform {
        Platform::Telegram
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            buttons: Buttons::Native,
            command_sign: '/',
            longest: Length::Utf16(message::LONGEST),
            biggest_file: BIGGEST_FILE,
            edit_pause: Duration::from_secs(3),
            send_pause: Duration::from_secs(1),
            repeatable: false,
        }
    }

    fn render(&self, text: &Text) -> String {
        message::write(text, |id| self.name_of(id)).words
    }

    fn follow<'a>(
        &'a self,
        cursor: Option<String>,
        intake: &'a Intake,
    ) -> BoxFuture<'a, Result<Stopped, Failure>> {
        Box::pin(self.follow_updates(cursor, intake))
    }

    fn open_thread<'a>(
        &'a self,
        place: &'a Place,
        message: &'a MessageId,
        title: &'a str,
    ) -> BoxFuture<'a, Result<Place, Failure>> {
        Box::pin(self.thread_for(place, message, title))
    }

    fn direct<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Result<Place, Failure>> {
        // The chat of somebody and us has the same number as they.
        Box::pin(async move { Ok(Place::channel(person)) })
    }

    fn send<'a>(
        &'a self,
        place: &'a Place,
        message: &'a Outgoing,
        _key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>> {
        Box::pin(self.send_message(place, message))
    }

    fn edit<'a>(
        &'a self,
        place: &'a Place,
        id: &'a MessageId,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(self.edit_message(place, id, message))
    }

    fn react<'a>(
        &'a self,
        place: &'a Place,
        message: &'a MessageId,
        _former: Option<Reaction>,
        reaction: Option<Reaction>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let signs = reaction.map(|it| json!({"type": "emoji", "emoji": emoji(it)}));
            let arguments = json!({
                "chat_id": chat_of(place)?,
                "message_id": number_of(message)?,
                "reaction": signs.into_iter().collect::<Vec<_>>(),
            });
            let set = self.client.call("setMessageReaction", &arguments).await;
            set.map(drop)
        })
    }

    fn upload<'a>(
        &'a self,
        place: &'a Place,
        file: &'a OutgoingFile,
        _key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>> {
        Box::pin(self.send_file(place, file))
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
        Box::pin(self.reply(press, tone, text))
    }

    fn check<'a>(&'a self, channels: &'a [String]) -> BoxFuture<'a, Vec<Finding>> {
        Box::pin(self.check_all(channels))
    }
}
