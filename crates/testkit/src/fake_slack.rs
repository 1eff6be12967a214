//! A Slack of our own on loopback: one workspace with a channel, three people of whom one is an app, the part of the Web API
//! that apps of this kind use, and Socket Mode.
//!
//! It is as strict as Slack where Slack is known to be (tokens, scopes, membership, the limits of blocks), tells apps of
//! their own messages too, delivers a mention twice, gives nothing to apps that are not connected, and fails on demand: see
//! [`FakeSlack::cut`] and what follows it. That it is Slack enough is shown by Slack's own Bolt, which runs on it.

mod api;
mod blocks;
mod people;
mod socket;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use self::blocks::{buttons, pings, words};
use crate::loopback::LoopbackServer;

/// The token of the bot.
pub const BOT_TOKEN: &str = "xoxb-1-fake-bot";
/// The token of the app.
pub const APP_TOKEN: &str = "xapp-1-fake-app";
/// The bot.
pub const BOT: &str = "U0BOT0001";
/// What the bot is called among apps.
pub const BOT_ID: &str = "B0BOT0001";
/// Somebody.
pub const ALICE: &str = "U0ALICE01";
/// Somebody else.
pub const MALLORY: &str = "U0MALLORY";
/// The channel in which everybody is.
pub const CHANNEL: &str = "C0GENERAL";

/// What the app is allowed at first.
const SCOPES: [&str; 14] = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "reactions:read",
    "reactions:write",
];

/// A running Slack. Dropping it ends it.
#[derive(Debug)]
pub struct FakeSlack {
    http: LoopbackServer,
    state: Shared,
    _accepting: JoinSet<()>,
}

type Shared = Arc<Mutex<State>>;

/// A channel, or the place of two.
#[derive(Debug, Default)]
struct Channel {
    members: BTreeSet<String>,
    /// Every message, in order, replies too.
    messages: Vec<Value>,
}

/// A file: what it is called, and what is in it when it was sent.
#[derive(Debug, Default)]
struct File {
    name: String,
    content: Option<Vec<u8>>,
}

/// What a connection is told to do.
#[derive(Debug)]
enum Order {
    /// Send this.
    Send(Value),
    /// End without a word.
    Cut,
    /// Say nothing any more, and answer nothing.
    FallSilent,
}

#[derive(Debug, Default)]
struct State {
    channels: BTreeMap<String, Channel>,
    files: BTreeMap<String, File>,
    /// What only one person saw.
    whispers: Vec<Value>,
    scopes: BTreeSet<String>,
    /// Addresses by which an app may answer, and whom it tells.
    responses: BTreeMap<String, Value>,
    /// The newest time that was given away, in microseconds: each message has its own.
    newest: u64,
    /// How many things were numbered.
    count: u64,
    connections: Vec<mpsc::UnboundedSender<Order>>,
    /// Permissions to connect, each for once.
    tickets: BTreeSet<String>,
    /// How often an app connected.
    connected: usize,
    /// What was delivered and not acknowledged, by the envelope.
    open: BTreeMap<String, Value>,
    /// The newest envelope.
    last: Option<Value>,
    delivers_twice: bool,
    address: String,
    socket_address: String,
}

impl FakeSlack {
    /// Starts it.
    pub fn start() -> Self {
        let state = Shared::default();
        let http = LoopbackServer::start(api::router(Arc::clone(&state)));
        let listener = crate::ports::listen();
        let socket_address = listener.local_addr().expect("it listens");
        {
            let mut state = locked(&state);
            state.address = http.url();
            state.socket_address = format!("ws://{socket_address}");
            state.scopes = SCOPES.map(str::to_owned).into();
            let members = [BOT, ALICE, MALLORY].map(str::to_owned).into();
            let channel = Channel {
                members,
                messages: Vec::new(),
            };
            state.channels.insert(CHANNEL.to_owned(), channel);
        }
        let mut accepting = JoinSet::new();
        accepting.spawn(socket::accept(listener, Arc::clone(&state)));
        Self {
            http,
            state,
            _accepting: accepting,
        }
    }

    /// Returns where it is; the API is below it, at `/api`.
    pub fn url(&self) -> String {
        self.http.url()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Takes a scope from the app.
    pub fn take_scope(&self, scope: &str) {
        self.state().scopes.remove(scope);
    }

    /// Takes the app out of the channel.
    pub fn remove_from_channel(&self, user: &str) {
        let mut state = self.state();
        let channel = state.channels.get_mut(CHANNEL).expect("it is there");
        channel.members.remove(user);
    }

    /// Returns how many connections there are.
    pub fn connections(&self) -> usize {
        let state = self.state();
        let open = state.connections.iter().filter(|it| !it.is_closed());
        open.count()
    }

    /// Returns how often an app connected since the start.
    pub fn connected(&self) -> usize {
        self.state().connected
    }

    /// Returns how many deliveries were not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.state().open.len()
    }

    /// Ends every connection without a word: what happens until the app is back is delivered to nobody.
    pub fn cut(&self) {
        self.order(|| Order::Cut);
    }

    /// Has every connection say nothing any more, as where a network loses everything.
    pub fn fall_silent(&self) {
        self.order(|| Order::FallSilent);
    }

    /// Tells the app to open another connection, as Slack does every few hours.
    pub fn ask_to_reconnect(&self) {
        let said = json!({"type": "disconnect", "reason": "refresh_requested", "debug_info": {"host": "fake"}});
        self.order(|| Order::Send(said.clone()));
    }

    fn order(&self, order: impl Fn() -> Order) {
        let mut state = self.state();
        for connection in &state.connections {
            // It may have ended by itself.
            let _gone = connection.send(order());
        }
        // Nothing more goes to those that end, and nothing more is heard of what they were told.
        if !matches!(order(), Order::Send(_)) {
            state.connections.clear();
            state.open.clear();
        }
    }

    /// Delivers everything twice from now on.
    pub fn deliver_twice(&self) {
        self.state().delivers_twice = true;
    }

    /// Delivers the newest thing once more.
    pub fn deliver_again(&self) {
        let mut state = self.state();
        let last = state.last.clone().expect("something was delivered");
        state.hand_out(&last, 1);
    }
}

fn locked(state: &Shared) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// A number that nothing else has.
    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// A time that nothing else has.
    fn time(&mut self) -> String {
        #[expect(
            clippy::disallowed_methods,
            reason = "a message is called by the time at which it was sent"
        )]
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = u64::try_from(now.unwrap_or_default().as_micros()).unwrap_or(u64::MAX);
        self.newest = now.max(self.newest + 1);
        format!("{}.{:06}", self.newest / 1_000_000, self.newest % 1_000_000)
    }

    /// Delivers something to one connection of the app, or to nobody.
    fn deliver(&mut self, kind: &str, payload: &Value) {
        let said = json!({"type": kind, "payload": payload, "accepts_response_payload": kind != "events_api"});
        self.last = Some(said.clone());
        self.hand_out(&said, 0);
        if self.delivers_twice {
            self.hand_out(&said, 1);
        }
    }

    fn hand_out(&mut self, said: &Value, attempt: u64) {
        let number = self.number();
        let mut said = said.clone();
        let id = format!("envelope-{number}");
        said["envelope_id"] = json!(id);
        if attempt > 0 {
            said["retry_attempt"] = json!(attempt);
            said["retry_reason"] = json!("timeout");
        }
        self.connections
            .retain(|connection| !connection.is_closed());
        if let Some(connection) = self.connections.last()
            && connection.send(Order::Send(said.clone())).is_ok()
        {
            self.open.insert(id, said);
        }
    }

    /// Delivers an event.
    fn tell(&mut self, event: &Value) {
        let number = self.number();
        let payload = json!({
            "token": "verification", "team_id": "T0FAKE001", "api_app_id": "A0FAKE001",
            "type": "event_callback", "event_id": format!("Ev{number:08}"), "event_time": 1,
            "authorizations": [{"team_id": "T0FAKE001", "user_id": BOT, "is_bot": true}],
            "event": event,
        });
        self.deliver("events_api", &payload);
    }

    /// Puts a message into a channel, and tells of it.
    fn put(&mut self, channel: &str, mut message: Value) -> String {
        let ts = self.time();
        message["type"] = json!("message");
        message["ts"] = json!(ts);
        let thread = message["thread_ts"].as_str().map(str::to_owned);
        let there = self.channels.get_mut(channel).expect("it is there");
        if let Some(root) = thread
            && let Some(root) = there
                .messages
                .iter_mut()
                .find(|it| it["ts"] == root.as_str())
        {
            root["thread_ts"] = root["ts"].clone();
            root["reply_count"] = json!(root["reply_count"].as_u64().unwrap_or(0) + 1);
            root["latest_reply"] = json!(ts);
        }
        there.messages.push(message.clone());
        message["channel"] = json!(channel);
        message["event_ts"] = json!(ts);
        let kind = if channel.starts_with('D') {
            "im"
        } else {
            "channel"
        };
        message["channel_type"] = json!(kind);
        let text = message["text"].as_str().unwrap_or_default();
        let is_mention =
            kind == "channel" && message["user"] != BOT && text.contains(&format!("<@{BOT}>"));
        self.tell(&message);
        if is_mention {
            message["type"] = json!("app_mention");
            message["channel_type"].take();
            self.tell(&message);
        }
        ts
    }

    /// The place of two, made if it is not there.
    fn direct(&mut self, user: &str) -> String {
        let id = format!("D{}", &user[1..]);
        let channel = self.channels.entry(id.clone()).or_default();
        channel.members = [BOT, user].map(str::to_owned).into();
        id
    }
}
