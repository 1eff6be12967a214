//! What there is on the fake Discord: one server with one channel, its threads, people, and the bot.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::Notify;

/// Discord's time began then, in milliseconds.
const EPOCH: u128 = 1_420_070_400_000;
const TIME: &str = "2026-01-01T00:00:00.000000+00:00";

/// Every permission that a bot of ours needs.
pub(super) const ENOUGH: u64 =
    (1 << 6) | (1 << 10) | (1 << 11) | (1 << 15) | (1 << 16) | (1 << 35) | (1 << 38);

/// A channel, a thread or a direct conversation.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) messages: BTreeMap<u64, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thread { parent: u64, archived: bool },
    Direct { person: u64 },
}

/// A session of the gateway, with all that it was told.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) events: Vec<Value>,
}

/// Something that was pressed or commanded.
#[derive(Debug, Clone)]
pub(super) struct Interaction {
    pub(super) token: String,
    pub(super) person: u64,
    pub(super) begun: Instant,
    pub(super) answered: Option<Answered>,
}

/// How an interaction was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The kind of the callback.
    pub kind: u64,
    /// How long it took.
    pub after: Duration,
}

pub(super) struct World {
    pub(super) guild: u64,
    pub(super) channel: u64,
    pub(super) bot: u64,
    pub(super) people: BTreeMap<u64, String>,
    pub(super) channels: BTreeMap<u64, Channel>,
    pub(super) nonces: HashMap<(u64, String), u64>,
    pub(super) pings: HashMap<u64, Vec<String>>,
    /// Reactions of the bot, by message.
    pub(super) reactions: HashMap<u64, Vec<String>>,
    pub(super) files: HashMap<u64, Vec<u8>>,
    pub(super) interactions: HashMap<u64, Interaction>,
    pub(super) given_up: HashSet<u64>,
    pub(super) whispers: Vec<(u64, String)>,
    pub(super) commands: Value,
    pub(super) permissions: u64,
    pub(super) may_read: bool,
    pub(super) sessions: HashMap<String, Session>,
    pub(super) told: std::sync::Arc<Notify>,
    pub(super) resumed: usize,
    /// What was against the specification.
    pub(super) violations: Vec<String>,
    pub(super) url: String,
    last: u64,
}

impl World {
    pub(super) fn new(told: std::sync::Arc<Notify>) -> Self {
        let mut world = Self {
            guild: 0,
            channel: 0,
            bot: 0,
            people: BTreeMap::new(),
            channels: BTreeMap::new(),
            nonces: HashMap::new(),
            pings: HashMap::new(),
            reactions: HashMap::new(),
            files: HashMap::new(),
            interactions: HashMap::new(),
            given_up: HashSet::new(),
            whispers: Vec::new(),
            commands: json!([]),
            permissions: ENOUGH,
            may_read: true,
            sessions: HashMap::new(),
            told,
            resumed: 0,
            violations: Vec::new(),
            url: String::new(),
            last: 0,
        };
        world.guild = world.new_id();
        world.bot = world.new_id();
        world.channel = world.new_channel(Kind::Text, "agents");
        world
    }

    /// A number that is greater than all before, made of the time as Discord's are.
    #[expect(
        clippy::disallowed_methods,
        reason = "Discord's numbers carry the time of day"
    )]
    pub(super) fn new_id(&mut self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = u64::try_from(now.as_millis().saturating_sub(EPOCH)).unwrap_or(0) << 22;
        self.last = now.max(self.last + 1);
        self.last
    }

    pub(super) fn new_channel(&mut self, kind: Kind, name: &str) -> u64 {
        let id = self.new_id();
        self.put_channel(id, kind, name);
        id
    }

    pub(super) fn put_channel(&mut self, id: u64, kind: Kind, name: &str) {
        let channel = Channel {
            kind,
            name: name.to_owned(),
            messages: BTreeMap::new(),
        };
        self.channels.insert(id, channel);
    }

    pub(super) fn direct_of(&mut self, person: u64) -> u64 {
        let kind = Kind::Direct { person };
        let known = self.channels.iter().find(|(_, it)| it.kind == kind);
        match known {
            Some((id, _)) => *id,
            None => self.new_channel(kind, ""),
        }
    }

    /// Tells every session of something.
    pub(super) fn tell(&mut self, kind: &str, data: &Value) {
        for session in self.sessions.values_mut() {
            let sequence = session.events.len() + 1;
            session
                .events
                .push(json!({"op": 0, "t": kind, "s": sequence, "d": data}));
        }
        self.told.notify_waiters();
    }

    pub(super) fn user(&self, id: u64) -> Value {
        let is_bot = id == self.bot;
        let name = if is_bot {
            "countersign"
        } else {
            self.people.get(&id).map_or("gone", String::as_str)
        };
        json!({
            "id": id.to_string(), "username": name, "discriminator": "0", "avatar": null, "public_flags": 0,
            "flags": 0, "global_name": null, "primary_guild": null, "bot": is_bot,
        })
    }

    pub(super) fn member(&self, id: u64) -> Value {
        json!({
            "avatar": null, "banner": null, "communication_disabled_until": null, "flags": 0, "joined_at": TIME,
            "nick": null, "pending": false, "premium_since": null, "roles": [], "user": self.user(id),
            "mute": false, "deaf": false,
        })
    }

    /// The server, as it is asked for.
    pub(super) fn server(&self) -> Value {
        let everyone = json!({
            "id": self.guild.to_string(), "name": "@everyone", "permissions": self.permissions.to_string(),
            "position": 0, "color": 0, "hoist": false, "managed": false, "mentionable": false, "icon": null,
            "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
            "unicode_emoji": null, "flags": 0, "description": null,
        });
        let owner = self.people.keys().next().copied().unwrap_or_default();
        json!({
            "id": self.guild.to_string(), "name": "Example", "icon": null, "description": null, "home_header": null,
            "splash": null, "discovery_splash": null, "features": [], "banner": null, "owner_id": owner.to_string(),
            "application_id": null, "region": "deprecated", "afk_channel_id": null, "afk_timeout": 300,
            "system_channel_id": null, "system_channel_flags": 0, "widget_enabled": false, "widget_channel_id": null,
            "verification_level": 0, "roles": [everyone], "default_message_notifications": 0, "mfa_level": 0,
            "explicit_content_filter": 0, "max_presences": null, "max_members": 500_000,
            "max_stage_video_channel_users": 50, "max_video_channel_users": 25, "vanity_url_code": null,
            "premium_tier": 0, "premium_subscription_count": 0, "preferred_locale": "en-US",
            "rules_channel_id": null, "safety_alerts_channel_id": null, "public_updates_channel_id": null,
            "premium_progress_bar_enabled": false, "nsfw": false, "nsfw_level": 0, "emojis": [], "stickers": [],
            "incidents_data": null,
        })
    }

    /// The server, as the gateway tells of it.
    pub(super) fn server_event(&self) -> Value {
        let mut server = self.server();
        let more = json!({
            "joined_at": TIME, "large": false, "unavailable": false, "member_count": 3, "voice_states": [],
            "members": [self.member(self.bot)], "channels": [self.channel(self.channel)], "threads": [],
            "presences": [], "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [],
        });
        let fields = server.as_object_mut().expect("it is an object");
        fields.extend(more.as_object().expect("it is an object").clone());
        server
    }

    pub(super) fn channel(&self, id: u64) -> Value {
        let Some(channel) = self.channels.get(&id) else {
            return Value::Null;
        };
        let last = channel.messages.keys().next_back().map(u64::to_string);
        let guild = self.guild.to_string();
        match channel.kind {
            Kind::Text => json!({
                "id": id.to_string(), "type": 0, "flags": 0, "guild_id": guild, "name": channel.name, "position": 0,
                "permission_overwrites": [], "last_message_id": last, "parent_id": null, "nsfw": false,
                "topic": null, "rate_limit_per_user": 0,
            }),
            Kind::Thread { parent, archived } => json!({
                "id": id.to_string(), "type": 11, "flags": 0, "guild_id": guild, "name": channel.name,
                "owner_id": self.bot.to_string(), "parent_id": parent.to_string(), "last_message_id": last,
                "message_count": 0, "member_count": 1, "total_message_sent": 0, "rate_limit_per_user": 0,
                "thread_metadata": {"archived": archived, "archive_timestamp": TIME, "auto_archive_duration": 1440,
                    "locked": false},
            }),
            Kind::Direct { person } => json!({
                "id": id.to_string(), "type": 1, "flags": 0, "recipients": [self.user(person)],
                "last_message_id": last,
            }),
        }
    }

    /// A message that nobody has yet.
    pub(super) fn new_message(&mut self, channel: u64, author: u64, content: &str) -> Value {
        let id = self.new_id();
        let mentions: Vec<Value> = self
            .people
            .keys()
            .chain([&self.bot])
            .filter(|person| content.contains(&format!("<@{person}>")))
            .map(|person| self.user(*person))
            .collect();
        json!({
            "id": id.to_string(), "channel_id": channel.to_string(), "type": 0, "content": content,
            "mentions": mentions, "mention_roles": [], "mention_everyone": false, "attachments": [], "embeds": [],
            "timestamp": TIME, "edited_timestamp": null, "flags": 0, "components": [],
            "author": self.user(author), "pinned": false, "tts": false,
        })
    }

    /// Puts a message where it belongs, and tells everybody.
    pub(super) fn put_message(
        &mut self,
        channel: u64,
        message: &Value,
        nonce: Option<&Value>,
    ) -> u64 {
        let id: u64 = message["id"]
            .as_str()
            .and_then(|id| id.parse().ok())
            .expect("it has an id");
        let Some(at) = self.channels.get_mut(&channel) else {
            return id;
        };
        at.messages.insert(id, message.clone());
        if let Kind::Thread { archived, .. } = &mut at.kind {
            *archived = false;
        }
        let is_direct = matches!(at.kind, Kind::Direct { .. });
        let mut event = message.clone();
        event["channel_type"] = json!(match at.kind {
            Kind::Text => 0,
            Kind::Thread { .. } => 11,
            Kind::Direct { .. } => 1,
        });
        if let Some(nonce) = nonce {
            event["nonce"] = nonce.clone();
        }
        if !is_direct {
            let author = message["author"]["id"]
                .as_str()
                .and_then(|id| id.parse().ok());
            let mut member = self.member(author.unwrap_or_default());
            member
                .as_object_mut()
                .expect("it is an object")
                .remove("user");
            event["guild_id"] = json!(self.guild.to_string());
            event["member"] = member;
        }
        self.tell("MESSAGE_CREATE", &event);
        id
    }

    /// A message as it is now, with the reactions on it.
    pub(super) fn message(&self, channel: u64, id: u64) -> Option<Value> {
        let mut message = self.channels.get(&channel)?.messages.get(&id)?.clone();
        let reactions = self.reactions.get(&id).into_iter().flatten();
        let reactions: Vec<Value> = reactions
            .map(|sign| {
                json!({"emoji": {"id": null, "name": sign}, "count": 1, "me": true, "me_burst": false,
                    "count_details": {"burst": 0, "normal": 1}, "burst_colors": []})
            })
            .collect();
        if !reactions.is_empty() {
            message["reactions"] = json!(reactions);
        }
        Some(message)
    }

    /// The interaction of somebody, with what all of them have.
    pub(super) fn interact(&mut self, person: u64, channel: u64, mut more: Value) -> u64 {
        let id = self.new_id();
        let token = format!("aW50ZXJhY3Rpb24{:032x}", rand::random::<u128>());
        let is_direct = self
            .channels
            .get(&channel)
            .is_some_and(|it| matches!(it.kind, Kind::Direct { .. }));
        let event = more.as_object_mut().expect("it is an object");
        let common = json!({
            "id": id.to_string(), "application_id": self.bot.to_string(), "token": token, "version": 1,
            "channel_id": channel.to_string(), "channel": self.channel(channel), "locale": "en-US",
            "entitlements": [], "authorizing_integration_owners": {"0": self.guild.to_string()},
            "app_permissions": self.permissions.to_string(), "attachment_size_limit": 10_485_760,
            "context": u8::from(is_direct),
        });
        event.extend(common.as_object().expect("it is an object").clone());
        if is_direct {
            event.insert("user".to_owned(), self.user(person));
        } else {
            let mut member = self.member(person);
            member["permissions"] = json!("0");
            event.insert("member".to_owned(), member);
            event.insert("guild_id".to_owned(), json!(self.guild.to_string()));
            event.insert("guild_locale".to_owned(), json!("en-US"));
        }
        let interaction = Interaction {
            token,
            person,
            begun: Instant::now(),
            answered: None,
        };
        self.interactions.insert(id, interaction);
        self.tell("INTERACTION_CREATE", &more);
        id
    }
}
