//! A Discord of our own: one server, one channel, people and a bot, with the HTTP API and the gateway that the bot needs.
//!
//! What the bot sends is checked with Discord's published OpenAPI, and so is what it is answered. It keeps Discord's rules
//! where they matter here: three seconds for interactions, nonces, who is pinged, and sessions that are resumed or forgotten.

mod gateway;
mod interactions;
mod messages;
mod rest;
mod spec;
mod world;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use self::world::{Kind, World};
use crate::loopback::LoopbackServer;
use crate::ports;

pub use self::world::Answered;

/// The bot's token.
pub const TOKEN: &str = "MTk4.fake-bot.token-of-the-tests";

struct Shared {
    world: Mutex<World>,
    told: Arc<Notify>,
    gateway: String,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running fake. Dropping it ends it.
pub struct FakeDiscord {
    shared: Arc<Shared>,
    cut: watch::Sender<u64>,
    server: LoopbackServer,
    _gateway: JoinSet<()>,
}

impl FakeDiscord {
    /// Starts it, with the bot in its server.
    pub fn start() -> Self {
        let listener = ports::listen();
        let address = listener
            .local_addr()
            .expect("a listening socket has an address");
        let told = Arc::new(Notify::new());
        let shared = Arc::new(Shared {
            world: Mutex::new(World::new(Arc::clone(&told))),
            told,
            gateway: format!("ws://{address}"),
        });
        let (cut, is_cut) = watch::channel(0);
        let mut gateway = JoinSet::new();
        gateway.spawn(gateway::accept(listener, Arc::clone(&shared), is_cut));
        let router = Router::new()
            .fallback(rest::handle)
            .with_state(Arc::clone(&shared));
        let server = LoopbackServer::start(router);
        shared.world().url = server.url();
        Self {
            shared,
            cut,
            server,
            _gateway: gateway,
        }
    }

    /// Returns where its API is, without a trailing slash.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Has files be fetched from `url`, where something stands before it.
    pub fn be_reached_at(&self, url: &str) {
        url.clone_into(&mut self.shared.world().url);
    }

    /// The channel in which everybody is.
    pub fn channel(&self) -> String {
        self.shared.world().channel.to_string()
    }

    /// Makes another channel, which the bot sees too.
    pub fn other_channel(&self) -> String {
        self.shared
            .world()
            .new_channel(Kind::Text, "other")
            .to_string()
    }

    /// What the bot is called.
    pub fn bot(&self) -> String {
        self.shared.world().bot.to_string()
    }

    /// Makes somebody, and returns what they are called.
    pub fn person(&self, name: &str) -> String {
        let mut world = self.shared.world();
        let id = world.new_id();
        world.people.insert(id, name.to_owned());
        id.to_string()
    }

    /// Says something in a channel or a thread, with the bot's mention before it if that is wanted.
    pub fn say(&self, person: &str, channel: &str, text: &str, mention: bool) -> String {
        let mut world = self.shared.world();
        let text = if mention {
            format!("<@{}> {text}", world.bot)
        } else {
            text.to_owned()
        };
        let channel = number(channel);
        let message = world.new_message(channel, number(person), &text);
        world.put_message(channel, &message, None).to_string()
    }

    /// Says something to the bot alone, and returns where.
    pub fn say_directly(&self, person: &str, text: &str) -> String {
        let channel = self.shared.world().direct_of(number(person)).to_string();
        self.say(person, &channel, text, false);
        channel
    }

    /// Sends a file of text.
    pub fn send_file(&self, person: &str, channel: &str, name: &str, content: &str) {
        let mut world = self.shared.world();
        let id = world.new_id();
        world.files.insert(id, content.as_bytes().to_vec());
        let mut message = world.new_message(number(channel), number(person), "");
        let mut attachment = messages::attachment(&world, id, name, content.len());
        attachment["content_type"] = json!("text/plain; charset=utf-8");
        message["attachments"] = json!([attachment]);
        world.put_message(number(channel), &message, None);
    }

    /// Presses the button of this number (from zero) of a message, and returns what the interaction is called.
    pub fn press(&self, person: &str, channel: &str, message: &str, n: usize) -> String {
        let mut world = self.shared.world();
        let found = world
            .message(number(channel), number(message))
            .expect("the message is there");
        let rows = found["components"].as_array().into_iter().flatten();
        let mut buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
        let button = buttons.nth(n).expect("it has such a button");
        let data =
            json!({"custom_id": button["custom_id"], "component_type": 2, "id": button["id"]});
        let event = json!({"type": 3, "data": data, "message": found});
        world
            .interact(number(person), number(channel), event)
            .to_string()
    }

    /// Presses a button of a message that is not there any more, or has no such button: programs keep what they showed.
    pub fn press_stale(&self, person: &str, channel: &str, message: &str, payload: &str) -> String {
        let mut world = self.shared.world();
        let mut found = world
            .message(number(channel), number(message))
            .unwrap_or_default();
        found["id"] = json!(message);
        let data = json!({"custom_id": payload, "component_type": 2, "id": 2});
        let event = json!({"type": 3, "data": data, "message": found});
        world
            .interact(number(person), number(channel), event)
            .to_string()
    }

    /// Gives a command, with the values of its options.
    pub fn command(
        &self,
        person: &str,
        channel: &str,
        name: &str,
        options: &[(&str, &str)],
    ) -> String {
        let mut world = self.shared.world();
        let options: Vec<Value> = options
            .iter()
            .map(|(name, value)| json!({"type": 3, "name": name, "value": value}))
            .collect();
        let id = world.new_id().to_string();
        let data = json!({"id": id, "type": 1, "name": name, "options": options});
        let event = json!({"type": 2, "data": data});
        world
            .interact(number(person), number(channel), event)
            .to_string()
    }

    /// How an interaction was answered, if it was.
    pub fn answer_to(&self, interaction: &str) -> Option<Answered> {
        let world = self.shared.world();
        world
            .interactions
            .get(&number(interaction))?
            .answered
            .clone()
    }

    /// Gives an interaction up, as Discord does when nobody answers for three seconds.
    pub fn give_up(&self, interaction: &str) {
        let mut world = self.shared.world();
        world.given_up.insert(number(interaction));
    }

    /// Tells every session of the newest message or interaction once more.
    pub fn deliver_again(&self) {
        let mut world = self.shared.world();
        let is_doubled = |event: &&Value| {
            let kind = event["t"].as_str().unwrap_or_default();
            kind == "MESSAGE_CREATE" || kind == "INTERACTION_CREATE"
        };
        let events = world.sessions.values().map(|session| &session.events);
        let longest = events.max_by_key(|events| events.len());
        let newest = longest
            .and_then(|events| events.iter().rev().find(is_doubled))
            .cloned();
        if let Some(event) = newest {
            let kind = event["t"].as_str().unwrap_or_default().to_owned();
            world.tell(&kind, &event["d"]);
        }
    }

    /// Deletes a message.
    pub fn delete(&self, channel: &str, message: &str) {
        let mut world = self.shared.world();
        let at = world.channels.get_mut(&number(channel));
        at.expect("the channel is there")
            .messages
            .remove(&number(message));
    }

    /// The messages of the bot that stand in a channel, in their order; none where there is no such channel.
    pub fn messages(&self, channel: &str) -> Vec<Value> {
        let world = self.shared.world();
        let found = world.channels.get(&number(channel));
        let messages = found
            .into_iter()
            .flat_map(|it| it.messages.values().cloned());
        let bot = world.bot.to_string();
        messages.filter(|it| it["author"]["id"] == *bot).collect()
    }

    /// Whom a message pinged.
    pub fn pings(&self, message: &str) -> Vec<String> {
        let world = self.shared.world();
        world
            .pings
            .get(&number(message))
            .cloned()
            .unwrap_or_default()
    }

    /// The reactions of the bot on a message.
    pub fn reactions(&self, message: &str) -> Vec<String> {
        let world = self.shared.world();
        world
            .reactions
            .get(&number(message))
            .cloned()
            .unwrap_or_default()
    }

    /// The contents of the bot's files in a channel.
    pub fn files(&self, channel: &str) -> Vec<Vec<u8>> {
        let messages = self.messages(channel);
        let world = self.shared.world();
        let attached = messages
            .iter()
            .flat_map(|it| it["attachments"].as_array().into_iter().flatten());
        let ids = attached.filter_map(|it| it["id"].as_str()).map(number);
        ids.filter_map(|id| world.files.get(&id).cloned()).collect()
    }

    /// What only this person saw: private replies, and direct messages of the bot.
    pub fn whispers(&self, person: &str) -> Vec<String> {
        let direct = self.shared.world().direct_of(number(person)).to_string();
        let said = self.messages(&direct);
        let said = said
            .iter()
            .filter_map(|it| it["content"].as_str().map(str::to_owned));
        let world = self.shared.world();
        let told = world
            .whispers
            .iter()
            .filter(|(to, _)| *to == number(person));
        told.map(|(_, text)| text.clone()).chain(said).collect()
    }

    /// Where the bot and somebody are alone.
    pub fn direct_of(&self, person: &str) -> String {
        self.shared.world().direct_of(number(person)).to_string()
    }

    /// Puts a thread away, as Discord does after a time without a word.
    pub fn put_away(&self, thread: &str) {
        let mut world = self.shared.world();
        let at = world
            .channels
            .get_mut(&number(thread))
            .expect("the thread is there");
        if let Kind::Thread { archived, .. } = &mut at.kind {
            *archived = true;
        }
    }

    /// Cuts every connection to the gateway, without a word.
    pub fn cut_gateway(&self) {
        self.cut.send_modify(|cut| *cut += 1);
    }

    /// Forgets every session, and cuts the connections: none is resumed.
    pub fn forget_sessions(&self) {
        self.shared.world().sessions.clear();
        self.cut_gateway();
    }

    /// Forgets what was sent before, as Discord does after some minutes.
    pub fn forget_nonces(&self) {
        self.shared.world().nonces.clear();
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.shared.world().sessions.len()
    }

    /// How often a session was resumed.
    pub fn resumed(&self) -> usize {
        self.shared.world().resumed
    }

    /// The commands that people are offered.
    pub fn commands(&self) -> Vec<String> {
        let world = self.shared.world();
        let commands = world.commands.as_array().into_iter().flatten();
        let names = commands.filter_map(|it| it["name"].as_str().map(str::to_owned));
        names.collect()
    }

    /// Gives the bot these permissions and no others.
    pub fn permit(&self, permissions: u64) {
        self.shared.world().permissions = permissions;
    }

    /// Lets the bot read messages, or not.
    pub fn let_read(&self, may_read: bool) {
        self.shared.world().may_read = may_read;
    }

    /// Panics if anything was sent or answered that is against Discord's specification.
    #[track_caller]
    pub fn assert_sound(&self) {
        let violations = self.shared.world().violations.clone();
        assert_eq!(violations, Vec::<String>::new());
    }
}

fn number(id: &str) -> u64 {
    id.parse().expect("it is one of Discord's numbers")
}
