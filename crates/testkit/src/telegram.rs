//! Telegram without Telegram: [`FakeTelegram`], which does what its Bot API is known to do, and [`TelegramEmulator`], a
//! program of other people that does some of it.
//!
//! The fake holds every call against the published description of the Bot API, keeps to its rules of what is confirmed by
//! asking for more, and looks for mentions in words as Telegram does. A bot library that is not ours is run against it.

mod emulator;
mod methods;
mod spec;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::routing::any;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::loopback::LoopbackServer;

pub use emulator::TelegramEmulator;

/// What the bot of a fake is let in with.
pub const TOKEN: &str = "123456:the-bots-own-token";
/// What the bot of a fake is called.
pub const BOT_NAME: &str = "countersign_bot";
const BOT: i64 = 123_456;

/// A kind of group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A small one, as groups begin.
    Basic,
    /// One whose replies say which thread they are of.
    Super,
    /// One with topics.
    Forum,
}

/// A running fake. Dropping it ends it.
#[derive(Debug)]
pub struct FakeTelegram {
    server: LoopbackServer,
    state: Shared,
}

/// A message of the bot, as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidByBot {
    /// What it is called.
    pub id: i64,
    /// Where it is: `topic:…`, `reply:…`, or nothing.
    pub thread: Option<String>,
    /// Its words.
    pub words: String,
    /// Who is pinged by it: ids, and `@names`.
    pub pings: Vec<String>,
    /// What somebody says by tapping on it.
    pub tappable: Vec<String>,
    /// The labels and payloads of its buttons.
    pub buttons: Vec<(String, String)>,
    /// Its file, if it has one.
    pub file: Option<(String, Vec<u8>)>,
}

/// What somebody alone was told who pressed a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Who.
    pub user: i64,
    /// What.
    pub text: String,
    /// Whether they have to close it.
    pub is_alert: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Shared {
    world: Arc<Mutex<World>>,
    /// Something happened, or somebody else asks.
    stirred: Arc<Notify>,
}

#[derive(Debug, Default)]
pub(super) struct World {
    last_id: i64,
    chats: BTreeMap<i64, Value>,
    users: BTreeMap<i64, Value>,
    /// Who began a chat with the bot: it can write to no others.
    started: BTreeSet<i64>,
    /// All messages by chat and id.
    messages: BTreeMap<(i64, i64), Value>,
    reactions: HashMap<(i64, i64), Vec<String>>,
    files: HashMap<String, (String, Vec<u8>)>,
    updates: Vec<Value>,
    /// The newest update, for those that are delivered twice.
    newest: Option<Value>,
    is_doubled: bool,
    /// How many polls were begun: a new one ends the one before.
    polls: u64,
    is_followed: bool,
    /// Presses that wait for an answer.
    presses: HashMap<String, i64>,
    alerts: Vec<Alert>,
    /// Calls that the description of the Bot API does not allow.
    problems: Vec<String>,
    may_not_make_topics: bool,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World {
    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    fn update(&mut self, kind: &str, what: &Value) {
        let id = self.next_id();
        let update = json!({"update_id": id, kind: what});
        self.newest = Some(update.clone());
        self.updates.push(update);
    }

    fn message(&self, chat: i64, id: i64) -> Option<&Value> {
        self.messages.get(&(chat, id))
    }

    /// Puts a message into its thread, as the platform does: by its topic, or by what it replies to.
    fn place(&self, message: &mut Value, topic: Option<i64>, reply_to: Option<i64>) {
        let chat = message["chat"]["id"].as_i64().unwrap_or(0);
        if let Some(replied) = reply_to.and_then(|id| self.message(chat, id)) {
            let mut shown = replied.clone();
            if let Some(shown) = shown.as_object_mut() {
                // Only one level is told.
                shown.remove("reply_to_message");
            }
            message["reply_to_message"] = shown;
            if message["chat"]["type"] == "supergroup" {
                let root = replied["message_thread_id"].as_i64().or(reply_to);
                message["message_thread_id"] = json!(root);
            }
            if replied["is_topic_message"] == true {
                message["is_topic_message"] = json!(true);
            }
        }
        if let Some(topic) = topic {
            message["message_thread_id"] = json!(topic);
            message["is_topic_message"] = json!(true);
        }
    }

    fn keep(&mut self, message: &Value) {
        let chat = message["chat"]["id"].as_i64().unwrap_or(0);
        let id = message["message_id"].as_i64().unwrap_or(0);
        self.messages.insert((chat, id), message.clone());
    }
}

/// The number of a topic, or of the message whose replies are a thread.
fn parts(thread: Option<&str>) -> (Option<i64>, Option<i64>) {
    let number = |kind: &str| thread?.strip_prefix(kind)?.parse().ok();
    (number("topic:"), number("reply:"))
}

impl FakeTelegram {
    /// Starts one, with nobody there but the bot.
    pub fn start() -> Self {
        let state = Shared {
            world: Arc::default(),
            stirred: Arc::default(),
        };
        let router = Router::new()
            .route("/{bot}/{method}", any(methods::call))
            .route("/file/{bot}/{name}", any(methods::download))
            .with_state(state.clone());
        Self {
            server: LoopbackServer::start(router),
            state,
        }
    }

    /// Returns its address without a trailing slash.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Whether the bot has asked for what happens from now on.
    pub fn is_followed(&self) -> bool {
        self.state.world().is_followed
    }

    /// Somebody, who has begun a chat with the bot.
    pub fn user(&self, id: i64, name: &str) -> i64 {
        let mut world = self.state.world();
        let user =
            json!({"id": id, "is_bot": false, "first_name": name, "username": name.to_lowercase()});
        world.users.insert(id, user);
        let chat = json!({"id": id, "type": "private", "first_name": name});
        world.chats.insert(id, chat);
        world.started.insert(id);
        id
    }

    /// A group in which everybody is, and the bot as an administrator.
    pub fn group(&self, id: i64, kind: Group) -> i64 {
        let chat = match kind {
            Group::Basic => json!({"id": id, "type": "group", "title": "Small"}),
            Group::Super => json!({"id": id, "type": "supergroup", "title": "Big"}),
            Group::Forum => {
                json!({"id": id, "type": "supergroup", "title": "Topics", "is_forum": true})
            }
        };
        self.state.world().chats.insert(id, chat);
        id
    }

    /// The bot may make no topics from now on.
    pub fn forbid_topics(&self) {
        self.state.world().may_not_make_topics = true;
    }

    /// Somebody blocks the bot.
    pub fn block(&self, user: i64) {
        self.state.world().started.remove(&user);
    }

    /// Somebody says something in a thread, or in the chat itself; returns what it is called. What looks like a mention of
    /// the bot, or like a command, is one.
    pub fn say(&self, user: i64, chat: i64, thread: Option<&str>, text: &str) -> i64 {
        let units = |text: &str| text.encode_utf16().count();
        let name = format!("@{BOT_NAME}");
        let entity = if text.starts_with('/') {
            let command = text.split_whitespace().next().unwrap_or_default();
            Some(json!({"type": "bot_command", "offset": 0, "length": units(command)}))
        } else {
            let at = text.find(&name);
            at.map(|at| {
                json!({"type": "mention", "offset": units(&text[..at]), "length": units(&name)})
            })
        };
        let entities: Vec<Value> = entity.into_iter().collect();
        self.post(
            user,
            chat,
            thread,
            &json!({"text": text, "entities": entities}),
        )
    }

    /// Somebody sends a file.
    pub fn send_file(&self, user: i64, chat: i64, thread: Option<&str>, name: &str, content: &str) {
        let id = format!("file-{name}");
        let file = (name.to_owned(), content.as_bytes().to_vec());
        self.state.world().files.insert(id.clone(), file);
        let document = json!({
            "file_id": id, "file_unique_id": id, "file_name": name, "mime_type": "text/plain",
            "file_size": content.len(),
        });
        self.post(user, chat, thread, &json!({"document": document}));
    }

    fn post(&self, user: i64, chat: i64, thread: Option<&str>, content: &Value) -> i64 {
        let mut world = self.state.world();
        let id = world.next_id();
        let mut message = json!({
            "message_id": id, "date": 1_700_000_000 + id, "from": world.users[&user], "chat": world.chats[&chat],
        });
        if let (Some(message), Some(content)) = (message.as_object_mut(), content.as_object()) {
            message.extend(content.clone());
        }
        let (topic, reply) = parts(thread);
        world.place(&mut message, topic, reply);
        world.keep(&message);
        world.update("message", &message);
        drop(world);
        self.state.stirred.notify_waiters();
        id
    }

    /// Somebody presses a button with this payload, of a message that the platform has.
    pub fn press(&self, user: i64, chat: i64, message: i64, payload: &str) {
        let mut world = self.state.world();
        let id = format!("press-{}", world.next_id());
        let pressed = world.message(chat, message).cloned();
        let pressed = pressed.unwrap_or_else(
            || json!({"message_id": message, "chat": world.chats[&chat], "date": 0}),
        );
        let query = json!({
            "id": id, "from": world.users[&user], "message": pressed, "chat_instance": "1", "data": payload,
        });
        world.presses.insert(id, user);
        world.update("callback_query", &query);
        drop(world);
        self.state.stirred.notify_waiters();
    }

    /// The newest update is delivered once more.
    pub fn deliver_again(&self) {
        self.state.world().is_doubled = true;
        self.state.stirred.notify_waiters();
    }

    /// A message is deleted.
    pub fn delete(&self, chat: i64, message: i64) {
        self.state.world().messages.remove(&(chat, message));
    }

    /// What the bot said in a chat and still stands there, in its order.
    pub fn said(&self, chat: i64) -> Vec<SaidByBot> {
        let world = self.state.world();
        let messages = world.messages.range((chat, i64::MIN)..=(chat, i64::MAX));
        let ours = messages.filter(|(_, message)| message["from"]["id"] == BOT);
        ours.map(|((_, id), message)| seen(&world, *id, message))
            .collect()
    }

    /// What people were told who pressed something.
    pub fn alerts(&self) -> Vec<Alert> {
        self.state.world().alerts.clone()
    }

    /// How many presses were answered by nobody.
    pub fn unanswered(&self) -> usize {
        self.state.world().presses.len()
    }

    /// The reactions of the bot to a message.
    pub fn reactions(&self, chat: i64, message: i64) -> Vec<String> {
        let world = self.state.world();
        world
            .reactions
            .get(&(chat, message))
            .cloned()
            .unwrap_or_default()
    }

    /// Fails if a call was made that the description of the Bot API does not allow.
    pub fn assert_well_called(&self) {
        let problems = self.state.world().problems.clone();
        assert!(problems.is_empty(), "{problems:#?}");
    }
}

fn seen(world: &World, id: i64, message: &Value) -> SaidByBot {
    let rows = message["reply_markup"]["inline_keyboard"].as_array();
    let buttons = rows.into_iter().flatten().filter_map(Value::as_array);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (pings, tappable) = found_in(message);
    let number = message["message_thread_id"].as_i64();
    let kind = if message["is_topic_message"] == true {
        "topic"
    } else {
        "reply"
    };
    SaidByBot {
        id,
        thread: number.map(|number| format!("{kind}:{number}")),
        words: text(&message["text"]),
        pings,
        tappable,
        buttons: buttons
            .flatten()
            .map(|button| (text(&button["text"]), text(&button["callback_data"])))
            .collect(),
        file: message["document"]["file_id"]
            .as_str()
            .and_then(|file| world.files.get(file).cloned()),
    }
}

/// Whom a message pings, and what is said by tapping on it: what its entities say, and what the platform finds in its words
/// by itself, which it does everywhere but in code.
fn found_in(message: &Value) -> (Vec<String>, Vec<String>) {
    let units: Vec<u16> = message["text"]
        .as_str()
        .unwrap_or_default()
        .encode_utf16()
        .collect();
    let mut is_code = vec![false; units.len()];
    let mut pings = Vec::new();
    for entity in message["entities"].as_array().into_iter().flatten() {
        let number = |name: &str| usize::try_from(entity[name].as_u64().unwrap_or(0)).unwrap_or(0);
        let (from, length) = (number("offset"), number("length"));
        match entity["type"].as_str() {
            Some("code" | "pre") => is_code[from..from + length].fill(true),
            Some("text_mention") => pings.push(entity["user"]["id"].to_string()),
            _ => {}
        }
    }
    let shown = units.iter().zip(&is_code);
    let shown: Vec<u16> = shown
        .map(|(unit, is_code)| if *is_code { 0 } else { *unit })
        .collect();
    let shown = String::from_utf16_lossy(&shown);
    let is_word = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let mut tappable = Vec::new();
    for (at, sign) in shown
        .char_indices()
        .filter(|(_, sign)| "@/".contains(*sign))
    {
        let rest = &shown[at + 1..];
        let end = rest.find(|sign| !is_word(sign)).unwrap_or(rest.len());
        let before = shown[..at].chars().next_back();
        if end == 0 || before.is_some_and(is_word) {
            continue;
        }
        match sign {
            '@' => pings.push(format!("@{}", &rest[..end])),
            _ if !before.is_some_and(|sign| "/:".contains(sign))
                && !rest[end..].starts_with('/') =>
            {
                tappable.push(format!("/{}", &rest[..end]));
            }
            _ => {}
        }
    }
    (pings, tappable)
}
