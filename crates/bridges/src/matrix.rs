//! Matrix, by its client-server API, in rooms that are not encrypted.
//!
//! It has no buttons: the options of a card are reactions that are seeded below it. A transaction id makes sending
//! repeatable. Threads are Matrix's own; a direct room is one that is in the account's `m.direct`.

mod client;
mod content;
mod following;
mod html;

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use self::client::{Client, refusal, send};
use self::content::{SEEDED, content, in_thread};
use crate::adapter::{
    Adapter, Buttons, Capabilities, Failure, Finding, IncomingFile, Key, Length, MessageId,
    Outgoing, OutgoingFile, Place, Pressed, Reaction, Tone,
};
use crate::http::{content_of, too_big, unanswered};
use crate::intake::{Intake, Stopped};
use crate::text::Text;
use crate::{Platform, Secret, UnfitBridge};

/// An event has 64 KiB at most, in which a text is twice, as words and as HTML, and perhaps escaped.
const LONGEST: usize = 14_000;
const BIGGEST_FILE: u64 = 20 << 20;

/// Matrix, as one user.
pub struct Matrix {
    client: Client,
    me: OnceCell<Me>,
}

/// Who we are there.
#[derive(Debug, Clone)]
struct Me {
    id: String,
    name: String,
}

impl Matrix {
    /// Talks to the homeserver at `url` with this access token.
    pub fn new(url: &str, token: Secret) -> Result<Self, UnfitBridge> {
        let invalid = |problem: &str| UnfitBridge::Invalid {
            field: "url",
            problem: problem.to_owned(),
        };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(invalid("has to begin with http:// or https://"));
        }
        let client = Client::new(url, token).map_err(|_| invalid("is no address"))?;
        Ok(Self {
            client,
            me: OnceCell::new(),
        })
    }

    async fn me(&self) -> Result<Me, Failure> {
        let me = self.me.get_or_try_init(async || {
            let answer = send(self.client.call(Method::GET, &["account", "whoami"])).await?;
            let id = answer["user_id"]
                .as_str()
                .ok_or_else(|| Failure::Unreached("the server does not say who we are".to_owned()))?
                .to_owned();
            let profile = self
                .client
                .call(Method::GET, &["profile", &id, "displayname"]);
            // Without a name we are called by our id.
            let name = send(profile).await.unwrap_or_default();
            let name = name["displayname"].as_str().unwrap_or_default().to_owned();
            Ok(Me { id, name })
        });
        me.await.cloned()
    }

    async fn put_event(
        &self,
        room: &str,
        kind: &str,
        transaction: &str,
        content: &Value,
    ) -> Result<MessageId, Failure> {
        let request = self
            .client
            .call(Method::PUT, &["rooms", room, "send", kind, transaction])
            .json(content);
        let answer = send(request).await?;
        let id = answer["event_id"].as_str();
        id.map(|id| MessageId(id.to_owned()))
            .ok_or_else(|| Failure::Unknown("the server does not say what it is called".to_owned()))
    }

    /// Reacts to a message; that we did already is as good.
    async fn annotate(
        &self,
        room: &str,
        message: &MessageId,
        sign: &str,
        transaction: &str,
    ) -> Result<(), Failure> {
        let content = json!({"m.relates_to": {
            "rel_type": "m.annotation", "event_id": message.0, "key": sign,
        }});
        match self
            .put_event(room, "m.reaction", transaction, &content)
            .await
        {
            Err(Failure::Refused(problem)) if problem.contains("M_DUPLICATE_ANNOTATION") => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Takes back reactions of ours for which `unwanted` holds.
    async fn take_back(
        &self,
        room: &str,
        message: &MessageId,
        unwanted: impl Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        let me = self.me().await?;
        let segments = [
            "rooms",
            room,
            "relations",
            &message.0,
            "m.annotation",
            "m.reaction",
        ];
        let query = [("limit", "100")];
        let request = self
            .client
            .request(Method::GET, "client/v1", &segments, &query);
        let found = send(request).await?;
        for event in found["chunk"].as_array().into_iter().flatten() {
            let sign = event["content"]["m.relates_to"]["key"].as_str();
            if event["sender"] != me.id.as_str() || !sign.is_some_and(&unwanted) {
                continue;
            }
            let Some(id) = event["event_id"].as_str() else {
                continue;
            };
            let segments = ["rooms", room, "redact", id, &transaction("redact")];
            let request = self.client.call(Method::PUT, &segments);
            send(request.json(&json!({}))).await?;
        }
        Ok(())
    }

    /// Notes that `room` is where only `person` and we are.
    async fn remember_direct(&self, person: &str, room: &str, me: &Me) -> Result<(), Failure> {
        let mut rooms = self.direct_rooms(me).await?;
        let Some(map) = rooms.as_object_mut() else {
            return Ok(());
        };
        let known = map.entry(person).or_insert_with(|| json!([]));
        if let Some(known) = known.as_array_mut()
            && !known.iter().any(|it| it == room)
        {
            known.insert(0, json!(room));
        }
        let segments = ["user", me.id.as_str(), "account_data", "m.direct"];
        let request = self.client.call(Method::PUT, &segments);
        send(request.json(&rooms)).await.map(drop)
    }

    async fn direct_rooms(&self, me: &Me) -> Result<Value, Failure> {
        let segments = ["user", me.id.as_str(), "account_data", "m.direct"];
        match send(self.client.call(Method::GET, &segments)).await {
            Ok(rooms) if rooms.is_object() => Ok(rooms),
            Ok(_) | Err(Failure::Gone(_)) => Ok(json!({})),
            Err(failure) => Err(failure),
        }
    }

    async fn find_direct(&self, person: &str) -> Result<Place, Failure> {
        let me = self.me().await?;
        let rooms = self.direct_rooms(&me).await?;
        let joined = send(self.client.call(Method::GET, &["joined_rooms"])).await?;
        let joined = joined["joined_rooms"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let known = rooms[person].as_array().into_iter().flatten();
        if let Some(room) = known
            .filter(|room| joined.contains(room))
            .find_map(Value::as_str)
        {
            return Ok(Place::channel(room));
        }
        let wish = json!({"is_direct": true, "invite": [person], "preset": "trusted_private_chat"});
        let made = send(self.client.call(Method::POST, &["createRoom"]).json(&wish)).await?;
        let room = made["room_id"].as_str().unwrap_or_default().to_owned();
        self.remember_direct(person, &room, &me).await?;
        Ok(Place::channel(room))
    }

    async fn edit_message(
        &self,
        place: &Place,
        id: &MessageId,
        message: &Outgoing,
    ) -> Result<(), Failure> {
        // The server takes changes of messages that were deleted, and nobody ever sees them.
        let segments = ["rooms", &place.channel, "event", &id.0];
        let before = send(self.client.call(Method::GET, &segments)).await?;
        if before["unsigned"]["redacted_because"].is_object()
            || before["content"]
                .as_object()
                .is_none_or(serde_json::Map::is_empty)
        {
            return Err(Failure::Gone("the message was deleted".to_owned()));
        }
        let content = content(message);
        let short: String = message.text.words().chars().take(200).collect();
        let edit = json!({
            "msgtype": "m.text",
            "body": format!("* {short}"),
            "m.mentions": {},
            "m.new_content": content,
            "m.relates_to": {"rel_type": "m.replace", "event_id": id.0},
        });
        self.put_event(
            &place.channel,
            "m.room.message",
            &transaction("edit"),
            &edit,
        )
        .await?;
        if before["content"][SEEDED].as_u64().unwrap_or(0) > 0 && message.buttons.is_empty() {
            self.take_back(&place.channel, id, |_| true).await?;
        }
        Ok(())
    }

    async fn fetch(&self, file: &IncomingFile, limit: u64) -> Result<Bytes, Failure> {
        if file.size.is_some_and(|size| size > limit) {
            return Err(too_big(file, limit));
        }
        let (server, media) = file
            .handle
            .strip_prefix("mxc://")
            .and_then(|rest| rest.split_once('/'))
            .ok_or_else(|| Failure::Refused("it is no file of Matrix".to_owned()))?;
        let segments = ["media", "download", server, media];
        let request = self
            .client
            .request(Method::GET, "client/v1", &segments, &[]);
        let response = request.send().await.map_err(|error| unanswered(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response.status(), None, &Value::Null));
        }
        content_of(response, file, limit).await
    }

    async fn check_room(&self, room: &str, joined: &Value) -> Finding {
        let tried = format!("the room {room}");
        let is_joined = joined["joined_rooms"].as_array();
        if !is_joined.is_some_and(|rooms| rooms.iter().any(|it| it == room)) {
            return Finding::wrong(
                tried,
                "we are not in it. Invite the bot's user to the room; it joins when the server runs",
            );
        }
        let segments = ["rooms", room, "state", "m.room.encryption"];
        match send(self.client.call(Method::GET, &segments)).await {
            Ok(_) => Finding::wrong(
                tried,
                "it is encrypted, and encrypted messages cannot be read here. Use a room without encryption",
            ),
            Err(Failure::Gone(_)) => Finding::well(tried),
            Err(failure) => Finding::wrong(tried, failure.to_string()),
        }
    }
}

/// A transaction that is made once.
fn transaction(what: &str) -> String {
    format!("{what}_{:032x}", rand::random::<u128>())
}

impl Adapter for Matrix {
    fn platform(&self) -> Platform {
        Platform::Matrix
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            buttons: Buttons::Reactions,
            command_sign: '!',
            longest: Length::Bytes(LONGEST),
            biggest_file: BIGGEST_FILE,
            edit_pause: Duration::from_millis(1_500),
            send_pause: Duration::from_millis(100),
            repeatable: true,
        }
    }

    fn render(&self, text: &Text) -> String {
        html::html(text)
    }

    fn follow<'a>(
        &'a self,
        cursor: Option<String>,
        intake: &'a Intake,
    ) -> BoxFuture<'a, Result<Stopped, Failure>> {
        Box::pin(self.follow_rooms(cursor, intake))
    }

    fn open_thread<'a>(
        &'a self,
        place: &'a Place,
        message: &'a MessageId,
        _title: &'a str,
    ) -> BoxFuture<'a, Result<Place, Failure>> {
        let thread = place.thread_of(message);
        Box::pin(async move { Ok(thread) })
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
            let content = in_thread(content(message), place);
            let room = &place.channel;
            let id = self.put_event(room, "m.room.message", &key.0, &content);
            let id = id.await?;
            for (n, button) in message.buttons.iter().enumerate() {
                let transaction = format!("{}_{n}", key.0);
                self.annotate(room, &id, &button.sign, &transaction).await?;
            }
            Ok(id)
        })
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
            let room = &place.channel;
            let wanted = reaction.map(Reaction::sign);
            if let Some(sign) = wanted {
                let transaction = transaction("react");
                self.annotate(room, message, sign, &transaction).await?;
            }
            // Not the former one alone: there may be one that we were never told of.
            self.take_back(room, message, |sign| Some(sign) != wanted)
                .await
        })
    }

    fn upload<'a>(
        &'a self,
        place: &'a Place,
        file: &'a OutgoingFile,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>> {
        Box::pin(async move {
            let request = self
                .client
                .request(
                    Method::POST,
                    "media/v3",
                    &["upload"],
                    &[("filename", &file.name)],
                )
                .header("content-type", &file.media_type)
                .body(file.content.clone());
            let answer = send(request).await?;
            let content = json!({
                "msgtype": "m.file",
                "body": file.name,
                "filename": file.name,
                "url": answer["content_uri"],
                "info": {"mimetype": file.media_type, "size": file.content.len()},
                "m.mentions": {},
            });
            let content = in_thread(content, place);
            self.put_event(&place.channel, "m.room.message", &key.0, &content)
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
        Box::pin(async move {
            match tone {
                Tone::Done => Ok(()),
                Tone::Refused => {
                    let place = self.find_direct(&press.by.id).await?;
                    let message = Outgoing::plain(Text::plain(text));
                    let key = Key(transaction("tell"));
                    self.send(&place, &message, &key).await.map(drop)
                }
            }
        })
    }

    fn check<'a>(&'a self, channels: &'a [String]) -> BoxFuture<'a, Vec<Finding>> {
        Box::pin(async move {
            let who = "the access token";
            let me = match self.me().await {
                Ok(me) => me,
                Err(failure) => return vec![Finding::wrong(who, failure.to_string())],
            };
            let mut findings = vec![Finding::well(format!("{who}, which is {}", me.id))];
            match send(self.client.call(Method::GET, &["joined_rooms"])).await {
                Ok(joined) => {
                    for room in channels {
                        findings.push(self.check_room(room, &joined).await);
                    }
                }
                Err(failure) => findings.push(Finding::wrong("the rooms", failure.to_string())),
            }
            findings
        })
    }
}
