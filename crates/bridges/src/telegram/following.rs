//! Follows Telegram: long polls, whose updates become happenings. An update is asked for until the next one is, and the
//! next one is not asked for before it is durable.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Me, Telegram, Thread};
use crate::adapter::{Failure, Happening, IncomingFile, MessageId, Person, Place, What};
use crate::commands::COMMANDS;
use crate::http::TIME_LIMIT;
use crate::intake::{Intake, Stopped};

/// How long the platform holds a poll while nothing happens.
const POLL: Duration = Duration::from_secs(25);
/// A poll that ends at once although nothing happened is not made again before this: whatever stands between may not hold
/// any.
const PAUSE: Duration = Duration::from_millis(500);

impl Telegram {
    pub(super) async fn follow_updates(
        &self,
        cursor: Option<String>,
        intake: &Intake,
    ) -> Result<Stopped, Failure> {
        let me = self.me().await?;
        self.offer_commands().await;
        let known = cursor.and_then(|cursor| cursor.parse::<i64>().ok());
        let mut offset = if let Some(offset) = known {
            offset
        } else {
            // What was said before anybody followed is nobody's wish: the newest alone is asked for, and passed over.
            let newest = self.poll(-1, Duration::ZERO).await?;
            let offset = after(&newest).unwrap_or(0);
            let begin = Some(offset.to_string());
            if intake.take(Vec::new(), begin).await.is_err() {
                return Ok(Stopped);
            }
            offset
        };
        loop {
            let asked = Instant::now();
            let updates = tokio::select! {
                () = intake.stopped() => return Ok(Stopped),
                updates = self.poll(offset, POLL) => updates?,
            };
            let Some(next) = after(&updates) else {
                if asked.elapsed() < PAUSE {
                    tokio::select! {
                        () = intake.stopped() => return Ok(Stopped),
                        () = tokio::time::sleep(PAUSE) => {}
                    }
                }
                continue;
            };
            let mut happenings = Vec::new();
            for update in &updates {
                self.learn_name(&update["message"]["from"]);
                match happening(update, &me) {
                    Some(happening) => happenings.push(happening),
                    None => self.answer_what_is_not_ours(update).await,
                }
            }
            if intake
                .take(happenings, Some(next.to_string()))
                .await
                .is_err()
            {
                return Ok(Stopped);
            }
            offset = next;
        }
    }

    /// Has Telegram's programs offer the commands when somebody types `/`. Without that they are as good.
    async fn offer_commands(&self) {
        let commands = COMMANDS.map(|(command, meaning)| {
            let (name, after) = command.split_once(' ').unwrap_or((command, ""));
            json!({"command": name, "description": format!("{after} {meaning}").trim()})
        });
        let arguments = json!({"commands": commands});
        if let Err(failure) = self.client.call("setMyCommands", &arguments).await {
            tracing::info!(bridge = "telegram", %failure, "commands are not offered");
        }
    }

    async fn poll(&self, offset: i64, hold: Duration) -> Result<Vec<Value>, Failure> {
        let arguments = json!({
            "offset": offset,
            "timeout": hold.as_secs(),
            "allowed_updates": ["message", "callback_query"],
        });
        let limit = hold + TIME_LIMIT;
        let updates = self.client.wait("getUpdates", &arguments, limit).await?;
        serde_json::from_value(updates)
            .map_err(|_| Failure::Unreached("it lists no updates".to_owned()))
    }

    /// A button that nobody answers for keeps turning.
    async fn answer_what_is_not_ours(&self, update: &Value) {
        let Some(id) = update["callback_query"]["id"].as_str() else {
            return;
        };
        let arguments = json!({"callback_query_id": id, "text": "This is no button of ours."});
        if let Err(failure) = self.client.call("answerCallbackQuery", &arguments).await {
            tracing::info!(bridge = "telegram", %failure, "a button could not be answered for");
        }
    }
}

/// Where to go on after these updates, if there are any.
fn after(updates: &[Value]) -> Option<i64> {
    let ids = updates
        .iter()
        .filter_map(|update| update["update_id"].as_i64());
    ids.max().map(|newest| newest + 1)
}

/// What an update is to us, if anything. Its id is that of what happened, not of the update: those begin anew after a quiet
/// week.
pub(super) fn happening(update: &Value, me: &Me) -> Option<Happening> {
    if update["callback_query"].is_object() {
        return press(&update["callback_query"]);
    }
    let message = &update["message"];
    let from = &message["from"];
    let chat = message["chat"]["id"].as_i64()?;
    let id = message["message_id"].as_i64()?;
    if from["id"].as_i64()? == me.id {
        return None;
    }
    Some(Happening {
        id: format!("m:{chat}:{id}"),
        place: place(message)?,
        is_direct: message["chat"]["type"] == "private",
        by: person(message, from)?,
        what: said(message, id, me)?,
    })
}

fn press(query: &Value) -> Option<Happening> {
    let message = &query["message"];
    let handle = query["id"].as_str()?;
    Some(Happening {
        id: format!("c:{handle}"),
        place: place(message)?,
        is_direct: message["chat"]["type"] == "private",
        by: person(&Value::Null, &query["from"])?,
        what: What::Press {
            message: MessageId(message["message_id"].as_i64()?.to_string()),
            payload: query["data"].as_str()?.to_owned(),
            handle: handle.to_owned(),
        },
    })
}

/// Who said a message. What a channel or a group says under its own name, and what another bot wrote for somebody, was said
/// by no person.
fn person(message: &Value, from: &Value) -> Option<Person> {
    let is_bot = from["is_bot"] == true
        || message["sender_chat"].is_object()
        || message["via_bot"].is_object();
    Some(Person {
        id: from["id"].as_i64()?.to_string(),
        name: name(from),
        is_bot,
    })
}

/// What people call somebody.
pub(super) fn name(user: &Value) -> String {
    let first = user["first_name"].as_str().unwrap_or_default();
    let last = user["last_name"].as_str().unwrap_or_default();
    format!("{first} {last}").trim().to_owned()
}

/// Where a message is. In a supergroup a reply names the message that its thread began with; the same field is a topic's
/// where the group has topics.
fn place(message: &Value) -> Option<Place> {
    let chat = message["chat"]["id"].as_i64()?;
    let number = message["message_thread_id"].as_i64();
    let thread = number.and_then(|number| {
        if message["is_topic_message"] == true {
            Some(Thread::Topic(number))
        } else {
            (message["chat"]["type"] == "supergroup").then_some(Thread::Replies(number))
        }
    });
    Some(Place {
        channel: chat.to_string(),
        thread: thread.map(|thread| thread.to_string()),
    })
}

fn said(message: &Value, id: i64, me: &Me) -> Option<What> {
    let files = files(message);
    let (text, entities) = match message["text"].as_str() {
        Some(text) => (text, &message["entities"]),
        None => (
            message["caption"].as_str().unwrap_or_default(),
            &message["caption_entities"],
        ),
    };
    if text.trim().is_empty() && files.is_empty() {
        return None;
    }
    if message["forward_origin"].is_object() && text.trim_start().starts_with('/') {
        // What somebody else wrote is passed on as words, and is no command of whoever passes it on.
        return None;
    }
    let (text, is_named) = to_us(text, me)?;
    let is_private = message["chat"]["type"] == "private";
    Some(What::Message {
        message: MessageId(id.to_string()),
        mentions_us: is_named || is_mentioned(message, entities, me),
        text: if is_private && text.trim() == "/start" {
            // What the button says that everybody presses first.
            "/help".to_owned()
        } else {
            text
        },
        files,
    })
}

/// The words without our name at their beginning or at that of a command, and whether it was there; nothing if the command
/// is for another bot.
fn to_us(text: &str, me: &Me) -> Option<(String, bool)> {
    let text = text.trim();
    if text.starts_with('/') {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (command, rest) = text.split_at(end);
        return match command.split_once('@') {
            None => Some((text.to_owned(), false)),
            Some((command, name)) => {
                let is_ours = name.eq_ignore_ascii_case(&me.username);
                is_ours.then(|| (format!("{command}{rest}"), true))
            }
        };
    }
    let name = text.strip_prefix('@').and_then(|rest| {
        let (name, rest) = rest.split_at_checked(me.username.len())?;
        let ends = !rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_');
        (ends && name.eq_ignore_ascii_case(&me.username)).then_some(rest)
    });
    Some(match name {
        Some(rest) => (rest.trim_start_matches([':', ',']).trim().to_owned(), true),
        None => (text.to_owned(), false),
    })
}

/// Whether a message means us: by our name in its words, not in code, or as the reply to something we said.
fn is_mentioned(message: &Value, entities: &Value, me: &Me) -> bool {
    let text = message["text"].as_str().or(message["caption"].as_str());
    let units: Vec<u16> = text.unwrap_or_default().encode_utf16().collect();
    let part = |entity: &Value| {
        let number = |name: &str| usize::try_from(entity[name].as_u64()?).ok();
        let (from, length) = (number("offset")?, number("length")?);
        let part = units.get(from..from.checked_add(length)?)?;
        String::from_utf16(part).ok()
    };
    let means_us = |entity: &Value| match entity["type"].as_str() {
        Some("mention") => part(entity).is_some_and(|name| {
            name.trim_start_matches('@')
                .eq_ignore_ascii_case(&me.username)
        }),
        Some("text_mention") => entity["user"]["id"].as_i64() == Some(me.id),
        _ => false,
    };
    let replied = &message["reply_to_message"];
    // Everything in a topic is a reply to its beginning, which may have been ours.
    let is_reply = replied["from"]["id"].as_i64() == Some(me.id)
        && !replied["forum_topic_created"].is_object();
    is_reply || entities.as_array().into_iter().flatten().any(means_us)
}

/// What came along.
fn files(message: &Value) -> Vec<IncomingFile> {
    let kinds = [
        ("document", "document"),
        ("audio", "audio.mp3"),
        ("voice", "voice.ogg"),
        ("video", "video.mp4"),
    ];
    let found = kinds.iter().find_map(|(kind, usual)| {
        let file = &message[*kind];
        file.is_object().then_some((file, *usual))
    });
    // A picture comes in several sizes, the biggest last.
    let picture = || Some((message["photo"].as_array()?.last()?, "photo.jpg"));
    let file = found.or_else(picture).and_then(|(file, usual)| {
        Some(IncomingFile {
            name: file["file_name"].as_str().unwrap_or(usual).to_owned(),
            media_type: file["mime_type"].as_str().map(str::to_owned),
            size: file["file_size"].as_u64(),
            handle: file["file_id"].as_str()?.to_owned(),
        })
    });
    file.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> Me {
        Me {
            id: 666,
            username: "Sign_bot".to_owned(),
            reads_all: true,
        }
    }

    fn update(message: &Value) -> Option<Happening> {
        let mut whole = json!({
            "message_id": 5, "from": {"id": 7, "is_bot": false, "first_name": "Alice"},
            "chat": {"id": -100, "type": "supergroup"},
        });
        whole
            .as_object_mut()
            .unwrap()
            .extend(message.as_object().unwrap().clone());
        happening(&json!({"update_id": 1, "message": whole}), &me())
    }

    fn words(message: &Value) -> Option<(String, bool)> {
        match update(message)?.what {
            What::Message {
                text, mentions_us, ..
            } => Some((text, mentions_us)),
            What::Command { .. } | What::Press { .. } | What::Reaction { .. } => None,
        }
    }

    #[test]
    fn our_name_is_no_part_of_what_is_said_and_other_bots_commands_are_not_ours() {
        let said = |text: &str| words(&json!({"text": text}));
        for text in [
            "@sign_bot fix it",
            "@Sign_bot: fix it",
            " @SIGN_BOT, fix it",
        ] {
            assert_eq!(said(text), Some(("fix it".to_owned(), true)), "{text}");
        }
        assert!(!said("@sign_bots fix it").unwrap().1);
        assert_eq!(
            said("/stop@sign_bot now"),
            Some(("/stop now".to_owned(), true))
        );
        assert_eq!(said("/stop now"), Some(("/stop now".to_owned(), false)));
        assert_eq!(said("/stop@other_bot now"), None);
    }

    #[test]
    fn a_mention_counts_by_its_entity_and_not_in_code() {
        let text = "😀 hey @sign_bot";
        let entity = |kind: &str| json!([{"type": kind, "offset": 7, "length": 9}]);
        let mentioned = words(&json!({"text": text, "entities": entity("mention")}));
        assert!(mentioned.unwrap().1);
        let code = words(&json!({"text": text, "entities": entity("code")}));
        assert!(!code.unwrap().1);
        let by_id =
            json!([{"type": "text_mention", "offset": 0, "length": 2, "user": {"id": 666}}]);
        assert!(words(&json!({"text": text, "entities": by_id})).unwrap().1);
        let replied = json!({"message_id": 3, "from": {"id": 666}});
        assert!(
            words(&json!({"text": "and now?", "reply_to_message": replied}))
                .unwrap()
                .1
        );
        let topic =
            json!({"message_id": 3, "from": {"id": 666}, "forum_topic_created": {"name": "t"}});
        assert!(
            !words(&json!({"text": "and now?", "reply_to_message": topic}))
                .unwrap()
                .1
        );
    }

    #[test]
    fn topics_and_reply_threads_are_told_apart() {
        let thread = |message: Value| update(&message).unwrap().place.thread;
        assert_eq!(thread(json!({"text": "x"})), None);
        let reply = json!({"text": "x", "message_thread_id": 3});
        assert_eq!(thread(reply).as_deref(), Some("reply:3"));
        let topic = json!({"text": "x", "message_thread_id": 3, "is_topic_message": true});
        assert_eq!(thread(topic).as_deref(), Some("topic:3"));
        let group =
            json!({"text": "x", "message_thread_id": 3, "chat": {"id": -5, "type": "group"}});
        assert_eq!(thread(group), None);
    }

    #[test]
    fn what_no_person_said_is_a_bots_and_a_forwarded_command_is_none() {
        let is_bot = |message: Value| update(&message).unwrap().by.is_bot;
        assert!(!is_bot(json!({"text": "x"})));
        assert!(is_bot(json!({"text": "x", "sender_chat": {"id": -100}})));
        assert!(is_bot(json!({"text": "x", "via_bot": {"id": 9}})));
        assert!(is_bot(
            json!({"text": "x", "from": {"id": 9, "is_bot": true, "first_name": "b"}})
        ));
        assert_eq!(
            update(&json!({"text": "/allow", "forward_origin": {"type": "user"}})),
            None
        );
        assert_eq!(
            update(&json!({"text": "x", "from": {"id": 666, "first_name": "me"}})),
            None
        );
        assert_eq!(update(&json!({"new_chat_members": []})), None);
    }

    #[test]
    fn the_start_button_asks_for_help_and_pictures_come_in_their_biggest_size() {
        let private = json!({"text": "/start", "chat": {"id": 7, "type": "private"}});
        assert_eq!(words(&private), Some(("/help".to_owned(), false)));
        let photo = json!({"photo": [{"file_id": "small"}, {"file_id": "big", "file_size": 9}], "caption": "see"});
        let What::Message { files, text, .. } = update(&photo).unwrap().what else {
            panic!("it is a message")
        };
        assert_eq!(
            (files[0].handle.as_str(), files[0].size, text.as_str()),
            ("big", Some(9), "see")
        );
    }
}
