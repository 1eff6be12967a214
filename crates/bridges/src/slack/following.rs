//! What happens in Slack: over a connection while there is one, and read up afterwards where there was none.
//!
//! Socket Mode keeps nothing for those who are not there. So whenever a connection begins, what was said since is read,
//! from a little before the newest that is known: events come in no strict order. What is read twice has the same id.
//! While that goes on, messages that come over the connection wait, so that each thread stays in order; presses and
//! commands do not.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use countersign_core::time::Clock;
use serde_json::Value;

use super::socket::{Envelope, Heard, Socket};
use super::{Me, Slack, events};
use crate::adapter::{Failure, Happening};
use crate::intake::{Intake, Stopped};

/// How far before the newest that is known reading begins.
const OVERLAP: Duration = Duration::from_mins(10);
/// How old the beginning of a thread may be in which something new is looked for.
const LOOKBACK: Duration = Duration::from_hours(14 * 24);
/// How many pages of a channel or a thread are read.
const MOST_PAGES: usize = 25;
/// How many messages a page has: Slack wants no more.
const PAGE: &str = "200";
/// How many happenings are taken together.
const TOGETHER: usize = 100;
/// How many messages wait while what was missed is read. After more than that it begins anew.
const MOST_HELD: usize = 1_000;
/// How often Slack may want us to wait for one page.
const MOST_WAITS: usize = 20;
/// How long a connection that ends is still listened to.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// A time in Slack, which is also what a message is called: seconds, a point, and six digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Time(u64);

impl Time {
    const SECOND: u64 = 1_000_000;

    fn now() -> Self {
        let micros = Clock::System.now().as_micros();
        Self(u64::try_from(micros).unwrap_or_default())
    }

    fn read(text: &str) -> Option<Self> {
        let (seconds, rest) = text.split_once('.')?;
        let digits: String = rest.chars().chain("000000".chars()).take(6).collect();
        let seconds: u64 = seconds.parse().ok()?;
        Some(Self(
            seconds
                .checked_mul(Self::SECOND)?
                .checked_add(digits.parse().ok()?)?,
        ))
    }

    fn before(self, span: Duration) -> Self {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(micros))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / Self::SECOND, self.0 % Self::SECOND)
    }
}

/// Where following is: what the cursor says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    /// The newest message that is known.
    newest: Time,
    /// When it was followed for the first time: what was said before is nobody's wish.
    begin: Time,
}

impl Position {
    fn new() -> Self {
        let now = Time::now();
        Self {
            newest: now,
            begin: now,
        }
    }

    fn read(cursor: &str) -> Option<Self> {
        let (newest, begin) = cursor.split_once(' ')?;
        Some(Self {
            newest: Time::read(newest)?,
            begin: Time::read(begin)?,
        })
    }

    fn cursor(self) -> String {
        format!("{} {}", self.newest, self.begin)
    }

    /// From where on what was said is read.
    fn from(self) -> Time {
        self.newest.before(OVERLAP).max(self.begin)
    }
}

/// How following a connection ended.
enum Ended {
    /// The core wants no more.
    Stopped,
    /// Slack wants us to open another one.
    Renewed,
}

impl Slack {
    pub(super) async fn follow_events(
        &self,
        cursor: Option<String>,
        intake: &Intake,
    ) -> Result<Stopped, Failure> {
        let following = async {
            let me = self.me().await?;
            let known = cursor.as_deref().and_then(Position::read);
            let mut position = known.unwrap_or_else(Position::new);
            let mut is_behind = known.is_some();
            let mut socket = self.connect(1).await?;
            loop {
                let ended = self.follow_socket(&mut socket, &mut position, is_behind, &me, intake);
                match ended.await? {
                    Ended::Stopped => return Ok(Stopped),
                    Ended::Renewed => {
                        let next = self.connect(2).await?;
                        self.hear_last_words(&mut socket, &me, intake).await;
                        socket = next;
                        is_behind = true;
                    }
                }
            }
        };
        tokio::select! {
            () = intake.stopped() => Ok(Stopped),
            followed = following => followed,
        }
    }

    async fn connect(&self, ours: u64) -> Result<Socket, Failure> {
        let url = self.client.open_connection().await?;
        Socket::connect(&url, ours).await
    }

    async fn follow_socket(
        &self,
        socket: &mut Socket,
        position: &mut Position,
        mut is_behind: bool,
        me: &Me,
        intake: &Intake,
    ) -> Result<Ended, Failure> {
        let mut held: Vec<Envelope> = Vec::new();
        let mut catching_up = pin!(self.catch_up(position.from(), me, intake));
        if !is_behind
            && intake
                .take(Vec::new(), Some(position.cursor()))
                .await
                .is_err()
        {
            return Ok(Ended::Stopped);
        }
        loop {
            let heard = tokio::select! {
                newest = &mut catching_up, if is_behind => {
                    let Some(newest) = newest? else {
                        return Ok(Ended::Stopped);
                    };
                    is_behind = false;
                    position.newest = position.newest.max(newest);
                    if intake.take(Vec::new(), Some(position.cursor())).await.is_err() {
                        return Ok(Ended::Stopped);
                    }
                    for envelope in std::mem::take(&mut held) {
                        let taken = take(socket, envelope, me, intake, Some(&mut *position));
                        if taken.await?.is_err() {
                            return Ok(Ended::Stopped);
                        }
                    }
                    continue;
                }
                heard = socket.hear() => heard?,
            };
            match heard {
                Heard::EndsSoon => return Ok(Ended::Renewed),
                Heard::Envelope(envelope) if is_behind && envelope.kind == "events_api" => {
                    if held.len() == MOST_HELD {
                        let problem = "more is said than can be read up".to_owned();
                        return Err(Failure::Unreached(problem));
                    }
                    held.push(envelope);
                }
                Heard::Envelope(envelope) => {
                    let position = (!is_behind).then_some(&mut *position);
                    if take(socket, envelope, me, intake, position).await?.is_err() {
                        return Ok(Ended::Stopped);
                    }
                }
            }
        }
    }

    /// Takes presses and commands that still come over a connection which ends. Messages are read up.
    async fn hear_last_words(&self, socket: &mut Socket, me: &Me, intake: &Intake) {
        while let Ok(Ok(Heard::Envelope(envelope))) =
            tokio::time::timeout(LAST_WORDS, socket.hear()).await
        {
            if envelope.kind != "events_api"
                && !matches!(take(socket, envelope, me, intake, None).await, Ok(Ok(())))
            {
                return;
            }
        }
    }

    /// Reads what was said after `from`, and hands it in. Returns the newest of it, or nothing if the core wants no more.
    async fn catch_up(
        &self,
        from: Time,
        me: &Me,
        intake: &Intake,
    ) -> Result<Option<Time>, Failure> {
        let mut newest = from;
        let mut channels = self.channels.clone();
        channels.extend(self.direct_channels().await?);
        for channel in channels {
            let said = match self.said_since(&channel, from).await {
                Ok(said) => said,
                Err(failure @ (Failure::Gone(_) | Failure::Refused(_))) => {
                    tracing::warn!(bridge = "slack", channel, %failure, "a channel cannot be read");
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            newest = said.keys().last().copied().unwrap_or(newest).max(newest);
            let of_message = |message| events::of_message(&channel, message, me);
            let happenings: Vec<Happening> = said.values().filter_map(of_message).collect();
            for part in happenings.chunks(TOGETHER) {
                if intake.take(part.to_vec(), None).await.is_err() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(newest))
    }

    async fn direct_channels(&self) -> Result<Vec<String>, Failure> {
        let query = [("types", "im"), ("limit", PAGE)];
        let found = self.pages("users.conversations", &query, "channels").await;
        let found = match found {
            Ok((found, _)) => found,
            Err(failure @ Failure::Refused(_)) => {
                tracing::warn!(bridge = "slack", %failure, "direct messages cannot be read");
                Vec::new()
            }
            Err(failure) => return Err(failure),
        };
        let ids = found.iter().filter_map(|channel| channel["id"].as_str());
        Ok(ids.map(str::to_owned).collect())
    }

    /// The messages of a channel and of its threads after `from`.
    async fn said_since(
        &self,
        channel: &str,
        from: Time,
    ) -> Result<BTreeMap<Time, Value>, Failure> {
        let (since, oldest) = (from.to_string(), from.before(LOOKBACK).to_string());
        let query = [("channel", channel), ("oldest", &oldest), ("limit", PAGE)];
        let (found, _) = self
            .pages("conversations.history", &query, "messages")
            .await?;
        let time = |text: &Value| text.as_str().and_then(Time::read);
        let mut said = BTreeMap::new();
        let mut keep = |message: Value| {
            if let Some(at) = time(&message["ts"]).filter(|at| *at > from) {
                said.insert(at, message);
            }
        };
        for message in found {
            if time(&message["latest_reply"]).is_some_and(|latest| latest > from)
                && let Some(root) = message["ts"].as_str()
            {
                let query = [
                    ("channel", channel),
                    ("ts", root),
                    ("oldest", &since),
                    ("limit", PAGE),
                ];
                let replies = self
                    .pages("conversations.replies", &query, "messages")
                    .await?;
                replies.0.into_iter().for_each(&mut keep);
            }
            keep(message);
        }
        Ok(said)
    }

    /// What a method lists under `name`, page after page, and whether that is all of it.
    pub(super) async fn pages(
        &self,
        method: &str,
        query: &[(&str, &str)],
        name: &str,
    ) -> Result<(Vec<Value>, bool), Failure> {
        let mut found = Vec::new();
        let mut next = String::new();
        for _ in 0..MOST_PAGES {
            let mut query = query.to_vec();
            if !next.is_empty() {
                query.push(("cursor", &next));
            }
            let mut page = self.read_patiently(method, &query).await?;
            if let Value::Array(items) = page[name].take() {
                found.extend(items);
            }
            let cursor = page["response_metadata"]["next_cursor"].as_str();
            match cursor.filter(|cursor| !cursor.is_empty()) {
                Some(cursor) => next = cursor.to_owned(),
                None => return Ok((found, true)),
            }
        }
        Ok((found, false))
    }

    /// Reads, and waits where Slack wants us to: whoever began anew would only ask the same again.
    async fn read_patiently(&self, method: &str, query: &[(&str, &str)]) -> Result<Value, Failure> {
        for _ in 0..MOST_WAITS {
            match self.client.read(method, query).await {
                Err(Failure::Later { after, .. }) => tokio::time::sleep(after).await,
                answer => return answer.map(|answer| answer.body),
            }
        }
        Err(Failure::Unreached(
            "Slack wants us to wait all the time".to_owned(),
        ))
    }
}

/// Hands in what an envelope holds, and acknowledges it when it is durable.
async fn take(
    socket: &mut Socket,
    envelope: Envelope,
    me: &Me,
    intake: &Intake,
    position: Option<&mut Position>,
) -> Result<Result<(), Stopped>, Failure> {
    let payload = &envelope.payload;
    let happening = match envelope.kind.as_str() {
        "events_api" => events::of_event(payload, me),
        "interactive" => events::of_interaction(payload),
        "slash_commands" => events::of_command(payload),
        _ => None,
    };
    if let Some(happening) = happening {
        let at = payload["event"]["ts"].as_str().and_then(Time::read);
        let cursor = position.map(|position| {
            position.newest = position.newest.max(at.unwrap_or(position.newest));
            position.cursor()
        });
        if intake.take(vec![happening], cursor).await.is_err() {
            return Ok(Err(Stopped));
        }
    }
    socket.acknowledge(&envelope.id).await.map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_times_are_in_order() {
        let time = |text| Time::read(text).unwrap();
        let position = Position {
            newest: time("1731869700.000100"),
            begin: time("1731860000.5"),
        };
        let cursor = position.cursor();
        assert_eq!(cursor, "1731869700.000100 1731860000.500000");
        assert_eq!(Position::read(&cursor), Some(position));
        assert!(time("999.999999") < time("1000.000000"));
        assert_eq!(Time::read("not a time"), None);
    }

    #[test]
    fn what_was_said_before_it_was_followed_is_never_read() {
        let begin = Time::read("1000.0").unwrap();
        let position = |newest| Position {
            newest: Time::read(newest).unwrap(),
            begin,
        };
        assert_eq!(position("1100.0").from(), begin);
        assert_eq!(position("2000.0").from(), Time::read("1400.0").unwrap());
    }
}
