//! What happens, by Discord's gateway.
//!
//! twilight keeps the connection, its heartbeat and its session. An event counts for the session when the next one is
//! asked for, which is after it is durable: what is not, is told again when the session is resumed. A session that Discord
//! has forgotten is begun anew, and what was said meanwhile is [read](super::catching_up).

use std::time::Duration;

use countersign_core::time::{Clock, Timestamp};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twilight_gateway::{ConfigBuilder, Intents, Message, Session, Shard, ShardId};

use super::client::send;
use super::interactions::Handle;
use super::{Discord, channel_called, events, number};
use crate::adapter::{Failure, Happening, Place};
use crate::intake::{Intake, Stopped};

/// What we want to be told of.
const INTENTS: Intents = Intents::GUILDS
    .union(Intents::GUILD_MESSAGES)
    .union(Intents::DIRECT_MESSAGES)
    .union(Intents::MESSAGE_CONTENT);
/// How often a connection is tried before that counts as a failure: at first where the session was, then where any is.
const TRIES: u32 = 2;
/// Discord's numbers grow with time, within so much.
const SKEW: Duration = Duration::from_secs(10);
/// How many direct conversations are remembered, the newest ones.
const DIRECT: usize = 100;
/// When Discord's time began, in milliseconds.
const EPOCH: u64 = 1_420_070_400_000;

/// Why Discord closes a connection for good.
const UNKNOWN_TOKEN: u16 = 4004;
const REFUSED_INTENTS: u16 = 4014;

/// Where we are, as it is kept in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// What Discord may go on with.
    session: Option<Session>,
    resume_url: Option<String>,
    /// What was said after this has to be read if it does not.
    pub(super) since: u64,
    /// The direct conversations that there were, for Discord does not list them.
    pub(super) direct: Vec<u64>,
}

impl Cursor {
    /// From `now` on.
    fn new(now: Timestamp) -> Self {
        let milliseconds = u64::try_from(now.as_micros() / 1_000).unwrap_or_default();
        Self {
            session: None,
            resume_url: None,
            // Before the first number that Discord gives then.
            since: (milliseconds.saturating_sub(EPOCH) << 22).saturating_sub(1),
            direct: Vec::new(),
        }
    }

    /// Notes that something was said, and where.
    pub(super) fn saw(&mut self, message: u64, direct: Option<u64>) {
        let skew = u64::try_from(SKEW.as_millis()).unwrap_or_default() << 22;
        self.since = self.since.max(message.saturating_sub(skew));
        if let Some(channel) = direct
            && self.direct.last() != Some(&channel)
        {
            self.direct.retain(|known| *known != channel);
            self.direct.push(channel);
            let many = self.direct.len().saturating_sub(DIRECT);
            self.direct.drain(..many);
        }
    }

    fn text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// What an event is to us.
enum Heard {
    Nothing,
    Stopped,
    /// A command in a channel that we are not for.
    Elsewhere(Handle),
    /// Something to take in, and what a reply is bound to.
    Happened(Vec<Happening>, Option<Handle>),
}

impl Discord {
    pub(super) async fn follow_gateway(
        &self,
        cursor: Option<String>,
        intake: &Intake,
    ) -> Result<Stopped, Failure> {
        let me = self.me().await?;
        let mut cursor: Option<Cursor> = cursor.and_then(|text| serde_json::from_str(&text).ok());
        let mut shard = self.shard(cursor.as_ref()).await?;
        let mut late = FuturesUnordered::new();
        let mut tries = 0;
        loop {
            let next = tokio::select! {
                () = intake.stopped() => return Ok(Stopped),
                Some(()) = late.next() => continue,
                next = shard.next() => next,
            };
            let event = match next {
                Some(Ok(Message::Text(event))) => event,
                Some(Ok(Message::Close(frame))) => {
                    if let Some(failure) = frame.and_then(|frame| lasting(frame.code)) {
                        return Err(failure);
                    }
                    continue;
                }
                Some(Err(error)) => {
                    tries += 1;
                    if tries >= TRIES {
                        return Err(Failure::Unreached(error.to_string()));
                    }
                    continue;
                }
                None => return Err(Failure::Unreached("Discord closed the gateway".to_owned())),
            };
            tries = 0;
            let Ok(event) = serde_json::from_str::<Value>(&event) else {
                continue;
            };
            let (happenings, handle) = match self.hear(&event, &mut cursor, me, intake).await? {
                Heard::Nothing => continue,
                Heard::Stopped => return Ok(Stopped),
                Heard::Elsewhere(handle) => {
                    late.push(Box::pin(self.turn_away(handle)) as BoxFuture<'_, ()>);
                    continue;
                }
                Heard::Happened(happenings, handle) => (happenings, handle),
            };
            let Some(cursor) = cursor.as_mut() else {
                continue;
            };
            cursor.session = shard.session().cloned();
            cursor.resume_url = shard.resume_url().map(str::to_owned);
            if intake.take(happenings, cursor.text()).await.is_err() {
                return Ok(Stopped);
            }
            if let Some(handle) = handle {
                late.push(Box::pin(self.answer_in_time(handle)));
            }
        }
    }

    /// What an event of the gateway is to us.
    async fn hear(
        &self,
        event: &Value,
        cursor: &mut Option<Cursor>,
        me: u64,
        intake: &Intake,
    ) -> Result<Heard, Failure> {
        let data = &event["d"];
        let heard = match (event["t"].as_str(), cursor) {
            (Some("READY"), cursor) => {
                if let Some(application) = number(&data["application"]["id"]) {
                    self.register_commands(application).await;
                }
                match cursor {
                    // What was said before anybody followed is nobody's wish.
                    None => *cursor = Some(Cursor::new(Clock::System.now())),
                    Some(cursor) => {
                        if self.catch_up(cursor, me, intake).await? == Some(Stopped) {
                            return Ok(Heard::Stopped);
                        }
                    }
                }
                Heard::Happened(Vec::new(), None)
            }
            (Some("MESSAGE_CREATE"), Some(cursor)) => {
                let Some((place, is_direct)) = self.place_of_event(data).await? else {
                    return Ok(Heard::Nothing);
                };
                if !is_direct && !self.is_for(&place) {
                    // What is said elsewhere is none of our business, and is kept nowhere.
                    return Ok(Heard::Nothing);
                }
                let direct = number(&data["channel_id"]).filter(|_| is_direct);
                cursor.saw(number(&data["id"]).unwrap_or_default(), direct);
                match events::message(data, place, is_direct, me) {
                    Some(happening) => Heard::Happened(vec![happening], None),
                    None => Heard::Nothing,
                }
            }
            (Some("INTERACTION_CREATE"), _) => {
                let Some((place, is_direct)) = self.place_of_event(data).await? else {
                    return Ok(Heard::Nothing);
                };
                let is_ours = is_direct || self.is_for(&place);
                match events::interaction(data, place, is_direct) {
                    Some((_, handle)) if !is_ours => Heard::Elsewhere(handle),
                    Some((happening, handle)) => {
                        self.owe(&handle);
                        Heard::Happened(vec![happening], Some(handle))
                    }
                    None => Heard::Nothing,
                }
            }
            _ => Heard::Nothing,
        };
        Ok(heard)
    }

    /// A connection that is yet to be made, and goes on where we were if Discord does.
    async fn shard(&self, cursor: Option<&Cursor>) -> Result<Shard, Failure> {
        let told = send(self.client.call(Method::GET, "gateway/bot")).await?;
        let limit = &told["session_start_limit"];
        if limit["remaining"] == 0
            && let Some(after) = limit["reset_after"].as_u64()
        {
            let problem = "too many sessions were begun".to_owned();
            let after = Duration::from_millis(after);
            return Err(Failure::Later { after, problem });
        }
        let unreadable =
            || Failure::Unreached("Discord does not say where its gateway is".to_owned());
        let url = told["url"]
            .as_str()
            .filter(|url| is_gateway(url))
            .ok_or_else(unreadable)?;
        let mut config = ConfigBuilder::new(self.token.expose().to_owned(), INTENTS)
            .proxy_url(url.trim_end_matches('/').to_owned());
        if let Some(cursor) = cursor
            && let Some(session) = cursor.session.clone()
        {
            config = config.session(session);
            let again = cursor.resume_url.as_deref().filter(|url| is_gateway(url));
            if let Some(url) = again {
                config = config.resume_url(url.to_owned());
            }
        }
        Ok(Shard::with_config(ShardId::ONE, config.build()))
    }

    /// Where something happened, and whether only one person and we are there; nothing if it is not to be seen.
    async fn place_of_event(&self, event: &Value) -> Result<Option<(Place, bool)>, Failure> {
        let Some(channel) = number(&event["channel_id"]) else {
            return Ok(None);
        };
        if event["guild_id"].is_null() {
            return Ok(Some((channel_called(channel), true)));
        }
        let place = self.place_of(channel).await?;
        Ok(place.map(|place| (place, false)))
    }
}

/// Whether it is an address that a connection can be made to.
fn is_gateway(url: &str) -> bool {
    let host = url
        .strip_prefix("wss://")
        .or_else(|| url.strip_prefix("ws://"));
    host.is_some_and(|host| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:/[]".contains(&byte);
        !host.is_empty() && host.bytes().all(is_plain)
    })
}

/// What it means that Discord closed a connection, where it will do so again.
fn lasting(code: u16) -> Option<Failure> {
    match code {
        UNKNOWN_TOKEN => Some(Failure::Unauthorised(
            "Discord does not know the token".to_owned(),
        )),
        REFUSED_INTENTS => Some(Failure::Refused(
            "the bot may not read messages: switch on “Message Content Intent” on its page of the developer portal"
                .to_owned(),
        )),
        4010..=4013 => Some(Failure::Refused(format!("the gateway closed with {code}"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_goes_forward() {
        let mut cursor = Cursor::new(Timestamp::from_micros(1_800_000_000_000_000));
        let begun = cursor.since;
        cursor.saw(1, None);
        assert_eq!(cursor.since, begun, "what is old does not take us back");
        let later = begun + (60_000 << 22);
        cursor.saw(later, Some(1));
        assert_eq!(cursor.since, later - (10_000 << 22));
        for channel in 0..2_000 {
            cursor.saw(later, Some(channel));
        }
        assert_eq!(cursor.direct.len(), DIRECT);
        assert_eq!(cursor.direct.last(), Some(&1_999));
        let kept: Cursor = serde_json::from_str(&cursor.text().unwrap()).unwrap();
        assert_eq!(kept, cursor);
    }

    #[test]
    fn only_addresses_of_gateways_are_gone_to() {
        for url in ["wss://gateway.discord.gg", "ws://127.0.0.1:8080/"] {
            assert!(is_gateway(url), "{url}");
        }
        for url in ["https://discord.com", "wss://", "wss://a b", "wss://a?b"] {
            assert!(!is_gateway(url), "{url}");
        }
    }
}
