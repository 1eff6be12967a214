//! Slack, in Socket Mode: no address of ours has to be reachable.
//!
//! Two secrets: the bot's token for everything that is said, the app's token for the connection over which events come.
//! A thread is Slack's own, and a message is called by its time. Slack has no transaction ids: the name of a message's first
//! block, which nobody sees, is the key, and [`Adapter::find_sent`] looks for it.

mod blocks;
mod checking;
mod client;
mod events;
mod following;
mod socket;
mod words;

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::Url;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use self::blocks::{blocks, notice, rich_text};
use self::client::Client;
use crate::adapter::{
    Adapter, Buttons, Capabilities, Failure, Finding, IncomingFile, Key, Length, MessageId,
    Outgoing, OutgoingFile, Place, Pressed, Reaction, Sent, Tone,
};
use crate::http::too_big;
use crate::intake::{Intake, Stopped};
use crate::text::{Block, Span, Text};
use crate::{Platform, Secret, UnfitBridge};

/// Where Slack's API is.
const USUAL_URL: &str = "https://slack.com/api";
/// The longest text, as blocks: Slack says only that there is a limit, and what is known of it is that 15,500 characters
/// were taken and 17,700 were not.
const LONGEST: usize = 12_000;
const BIGGEST_FILE: u64 = 20 << 20;
/// Every reaction of ours.
const REACTIONS: [Reaction; 6] = [
    Reaction::Queued,
    Reaction::Working,
    Reaction::Waiting,
    Reaction::Done,
    Reaction::Failed,
    Reaction::Stopped,
];

/// Slack, as one app in one workspace.
pub struct Slack {
    client: Client,
    /// The channels that are read when a connection begins, besides the direct ones.
    channels: Vec<String>,
    me: OnceCell<Me>,
}

/// Who we are there.
#[derive(Debug, Clone)]
struct Me {
    user: String,
    bot: String,
}

impl Slack {
    /// Talks to Slack, at `url` if it is not where it usually is, with the bot's token and the app's, in these channels.
    pub fn new(
        url: Option<&str>,
        token: Secret,
        app_token: Secret,
        channels: Vec<String>,
    ) -> Result<Self, UnfitBridge> {
        let invalid = |field: &'static str, problem: &str| UnfitBridge::Invalid {
            field,
            problem: problem.to_owned(),
        };
        let url = Url::parse(url.unwrap_or(USUAL_URL)).ok();
        let url = url
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
            .ok_or_else(|| invalid("url", "has to begin with http:// or https://"))?;
        if !token.expose().starts_with("xoxb-") {
            let problem = "is not a bot's: it has to begin with `xoxb-`";
            return Err(invalid("token", problem));
        }
        if !app_token.expose().starts_with("xapp-") {
            let problem = "is not an app's: it has to begin with `xapp-`";
            return Err(invalid("app_token", problem));
        }
        let client = Client::new(url, token, app_token)
            .map_err(|_| invalid("url", "cannot be talked to"))?;
        Ok(Self {
            client,
            channels,
            me: OnceCell::new(),
        })
    }

    async fn me(&self) -> Result<Me, Failure> {
        let me = self.me.get_or_try_init(async || {
            let answer = self.client.read("auth.test", &[]).await?;
            let field = |name: &str| answer.body[name].as_str().map(str::to_owned);
            match (field("user_id"), field("bot_id")) {
                (Some(user), Some(bot)) => Ok(Me { user, bot }),
                _ => Err(Failure::Unauthorised("the token is no bot's".to_owned())),
            }
        });
        me.await.cloned()
    }

    async fn post(
        &self,
        place: &Place,
        message: &Outgoing,
        key: &Key,
    ) -> Result<MessageId, Failure> {
        let body = json!({
            "channel": place.channel,
            "text": notice(&message.text),
            "blocks": blocks(message, Some(key)),
            "parse": "none",
            "unfurl_links": false,
            "unfurl_media": false,
        });
        let body = in_thread(body, place);
        let answer = self.client.write("chat.postMessage", &body).await?;
        let ts = answer["ts"].as_str();
        ts.map(|ts| MessageId(ts.to_owned()))
            .ok_or_else(|| Failure::Unknown("Slack does not say what it is called".to_owned()))
    }

    /// Looks for a message of ours whose first block is called so: in the whole of a thread, or among the newest of a
    /// channel.
    async fn find(&self, place: &Place, key: &Key) -> Result<Sent, Failure> {
        let me = self.me().await?;
        let channel = place.channel.as_str();
        let (found, is_all) = if let Some(thread) = &place.thread {
            let query = [("channel", channel), ("ts", thread), ("limit", "200")];
            self.pages("conversations.replies", &query, "messages")
                .await?
        } else {
            let query = [("channel", channel), ("limit", "999")];
            let newest = self.client.read("conversations.history", &query).await?;
            let found = newest.body["messages"].as_array().cloned();
            (found.unwrap_or_default(), true)
        };
        let is_it = |message: &&Value| {
            let is_ours =
                message["user"] == me.user.as_str() || message["bot_id"] == me.bot.as_str();
            let mut blocks = message["blocks"].as_array().into_iter().flatten();
            is_ours && blocks.any(|block| block["block_id"] == key.0.as_str())
        };
        let message = found.iter().find(is_it);
        Ok(match message.and_then(|message| message["ts"].as_str()) {
            Some(ts) => Sent::As(MessageId(ts.to_owned())),
            None if is_all => Sent::No,
            None => Sent::CannotTell,
        })
    }

    /// Which reactions of ours are on a message.
    async fn reactions(
        &self,
        place: &Place,
        message: &MessageId,
    ) -> Result<Vec<&'static str>, Failure> {
        let me = self.me().await?;
        let query = [
            ("channel", place.channel.as_str()),
            ("timestamp", message.0.as_str()),
            ("full", "true"),
        ];
        let answer = self.client.read("reactions.get", &query).await?;
        let found = answer.body["message"]["reactions"].as_array();
        let ours = found.into_iter().flatten().filter(|reaction| {
            let mut users = reaction["users"].as_array().into_iter().flatten();
            users.any(|user| *user == me.user.as_str())
        });
        let known = |reaction: &Value| {
            let mut names = REACTIONS.into_iter().map(name_of);
            names.find(|name| reaction["name"] == *name)
        };
        Ok(ours.filter_map(known).collect())
    }

    /// Puts a reaction on a message or takes it back; that it is so already is as good.
    async fn mark(
        &self,
        method: &str,
        place: &Place,
        message: &MessageId,
        name: &str,
    ) -> Result<(), Failure> {
        let body = json!({"channel": place.channel, "timestamp": message.0, "name": name});
        match self.client.write(method, &body).await {
            Err(Failure::Refused(problem))
                if problem == "already_reacted" || problem == "no_reaction" =>
            {
                Ok(())
            }
            outcome => outcome.map(drop),
        }
    }

    async fn set_reaction(
        &self,
        place: &Place,
        message: &MessageId,
        reaction: Option<Reaction>,
    ) -> Result<(), Failure> {
        let wanted = reaction.map(name_of);
        if let Some(name) = wanted {
            self.mark("reactions.add", place, message, name).await?;
        }
        // Not the former one alone: there may be one that we were never told of.
        for name in self.reactions(place, message).await? {
            if Some(name) != wanted {
                self.mark("reactions.remove", place, message, name).await?;
            }
        }
        Ok(())
    }

    async fn open_direct(&self, person: &str) -> Result<Place, Failure> {
        let answer = self
            .client
            .write("conversations.open", &json!({"users": person}))
            .await?;
        let channel = answer["channel"]["id"].as_str();
        let channel = channel
            .ok_or_else(|| Failure::Unreached("Slack does not say where that is".to_owned()))?;
        Ok(Place::channel(channel))
    }

    async fn upload_file(
        &self,
        place: &Place,
        file: &OutgoingFile,
        key: &Key,
    ) -> Result<MessageId, Failure> {
        let length = file.content.len().to_string();
        let query = [("filename", file.name.as_str()), ("length", &length)];
        let answer = self.client.read("files.getUploadURLExternal", &query);
        let answer = not_done(answer.await)?.body;
        let (Some(url), Some(id)) = (answer["upload_url"].as_str(), answer["file_id"].as_str())
        else {
            let problem = "Slack does not say where the file goes".to_owned();
            return Err(Failure::Unreached(problem));
        };
        not_done(self.client.put(url, file.content.clone()).await)?;
        let name = Text {
            blocks: vec![Block::paragraph([Span::code(&file.name)])],
        };
        let body = json!({
            "files": [{"id": id, "title": file.name}],
            "channel_id": place.channel,
            "blocks": blocks(&Outgoing::plain(name), Some(key)),
        });
        let body = in_thread(body, place);
        self.client
            .write("files.completeUploadExternal", &body)
            .await?;
        // Slack makes the message later and does not say what it is called; nothing is ever changed in it.
        Ok(MessageId(id.to_owned()))
    }

    /// Tells somebody alone: where they are, by the address that came with what they did, or in a direct message.
    async fn whisper(&self, press: &Pressed, text: &str) -> Result<(), Failure> {
        let message = Outgoing::plain(Text::plain(text));
        let (notice, blocks) = (notice(&message.text), blocks(&message, None));
        let body = json!({
            "channel": press.place.channel, "user": press.by.id, "text": notice, "blocks": blocks,
        });
        let body = in_thread(body, &press.place);
        let is_told = |told: &Result<(), Failure>| {
            !matches!(told, Err(Failure::Gone(_) | Failure::Refused(_)))
        };
        let told = self.client.write("chat.postEphemeral", &body).await;
        let told = told.map(drop);
        if is_told(&told) {
            return told;
        }
        if let Some(url) = press.handle.as_deref().filter(|url| !url.is_empty()) {
            let body = json!({
                "response_type": "ephemeral", "replace_original": false,
                "text": notice, "blocks": blocks,
            });
            let told = self.client.respond(url, &body).await;
            if is_told(&told) {
                return told;
            }
        }
        let place = self.open_direct(&press.by.id).await?;
        let key = Key(format!("tell_{:032x}", rand::random::<u128>()));
        self.post(&place, &message, &key).await.map(drop)
    }
}

/// The same, in the thread that the place is, if it is one.
fn in_thread(mut body: Value, place: &Place) -> Value {
    if let Some(thread) = &place.thread {
        body["thread_ts"] = json!(thread);
    }
    body
}

/// An attempt after which nothing is seen yet, whatever became of it: it can be made again.
fn not_done<T>(outcome: Result<T, Failure>) -> Result<T, Failure> {
    match outcome {
        Err(Failure::Unknown(problem)) => Err(Failure::Unreached(problem)),
        outcome => outcome,
    }
}

/// What Slack calls a reaction.
const fn name_of(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Queued => "clock1",
        Reaction::Working => "eyes",
        Reaction::Waiting => "hand",
        Reaction::Done => "white_check_mark",
        Reaction::Failed => "boom",
        Reaction::Stopped => "octagonal_sign",
    }
}

impl Adapter for Slack {
    fn platform(&self) -> Platform {
        Platform::Slack
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            buttons: Buttons::Native,
            // Slack's programs keep `/` for themselves, and take no command of an app in a thread.
            command_sign: '!',
            longest: Length::Characters(LONGEST),
            biggest_file: BIGGEST_FILE,
            // Fifty changes a minute are taken, of all messages together.
            edit_pause: Duration::from_secs(3),
            send_pause: Duration::from_secs(1),
            repeatable: false,
        }
    }

    fn render(&self, text: &Text) -> String {
        rich_text(text).to_string()
    }

    fn follow<'a>(
        &'a self,
        cursor: Option<String>,
        intake: &'a Intake,
    ) -> BoxFuture<'a, Result<Stopped, Failure>> {
        Box::pin(self.follow_events(cursor, intake))
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
        Box::pin(self.open_direct(person))
    }

    fn send<'a>(
        &'a self,
        place: &'a Place,
        message: &'a Outgoing,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>> {
        Box::pin(self.post(place, message, key))
    }

    fn find_sent<'a>(
        &'a self,
        place: &'a Place,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(self.find(place, key))
    }

    fn edit<'a>(
        &'a self,
        place: &'a Place,
        id: &'a MessageId,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let body = json!({
                "channel": place.channel,
                "ts": id.0,
                "text": notice(&message.text),
                "blocks": blocks(message, None),
                "parse": "none",
            });
            self.client.write("chat.update", &body).await.map(drop)
        })
    }

    fn react<'a>(
        &'a self,
        place: &'a Place,
        message: &'a MessageId,
        _former: Option<Reaction>,
        reaction: Option<Reaction>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(self.set_reaction(place, message, reaction))
    }

    fn upload<'a>(
        &'a self,
        place: &'a Place,
        file: &'a OutgoingFile,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>> {
        Box::pin(self.upload_file(place, file, key))
    }

    fn download<'a>(
        &'a self,
        file: &'a IncomingFile,
        limit: u64,
    ) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            if file.size.is_some_and(|size| size > limit) {
                return Err(too_big(file, limit));
            }
            self.client.fetch(file, limit).await
        })
    }

    fn reply_privately<'a>(
        &'a self,
        press: &'a Pressed,
        _tone: Tone,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(self.whisper(press, text))
    }

    fn check<'a>(&'a self, channels: &'a [String]) -> BoxFuture<'a, Vec<Finding>> {
        Box::pin(async move {
            let mut findings = vec![self.check_bot().await, self.check_app().await];
            for channel in channels {
                findings.push(self.check_channel(channel).await);
            }
            findings
        })
    }
}
