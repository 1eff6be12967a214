//! What Slack tells of, as happenings. Pure: the same thing has the same id, whichever way it is told.

use serde_json::Value;

use super::Me;
use super::words::{mentions, plain, without_mention};
use crate::adapter::{Happening, IncomingFile, MessageId, Person, Place, What};

/// The kinds of messages in which somebody says something: all others are changes, joins and the like.
const SAYING: [&str; 3] = ["file_share", "thread_broadcast", "me_message"];
/// The person who is Slack itself.
const SLACKBOT: &str = "USLACKBOT";

/// What an event is to us, if anything. A mention comes twice, as a message and as a mention, and is one.
pub(super) fn of_event(payload: &Value, me: &Me) -> Option<Happening> {
    let event = &payload["event"];
    match event["type"].as_str()? {
        "message" | "app_mention" => of_message(event["channel"].as_str()?, event, me),
        _ => None,
    }
}

/// What a message of `channel` is to us, if anything.
pub(super) fn of_message(channel: &str, message: &Value, me: &Me) -> Option<Happening> {
    let subtype = message["subtype"].as_str();
    if subtype.is_some_and(|subtype| !SAYING.contains(&subtype)) {
        return None;
    }
    let user = message["user"].as_str()?;
    // Programs, of which we are one, are not talked with.
    if user == me.user || user == SLACKBOT || message["bot_id"].is_string() {
        return None;
    }
    let ts = message["ts"].as_str()?;
    let text = message["text"].as_str().unwrap_or_default();
    let files = message["files"].as_array().into_iter().flatten();
    Some(Happening {
        id: format!("message:{channel}:{ts}"),
        place: place(channel, message["thread_ts"].as_str(), ts),
        is_direct: is_direct(channel),
        by: person(user, &Value::Null),
        what: What::Message {
            message: MessageId(ts.to_owned()),
            text: plain(without_mention(text, &me.user)),
            mentions_us: mentions(text, &me.user),
            files: files.filter_map(file).collect(),
        },
    })
}

/// What a press is to us, if it is one.
pub(super) fn of_interaction(payload: &Value) -> Option<Happening> {
    if payload["type"] != "block_actions" {
        return None;
    }
    let action = payload["actions"].as_array()?.first()?;
    let container = &payload["container"];
    let channel = container["channel_id"]
        .as_str()
        .or(payload["channel"]["id"].as_str())?;
    let ts = container["message_ts"].as_str()?;
    let user = payload["user"]["id"].as_str()?;
    let thread = payload["message"]["thread_ts"]
        .as_str()
        .or(container["thread_ts"].as_str());
    let at = action["action_ts"].as_str()?;
    Some(Happening {
        id: format!("press:{channel}:{ts}:{user}:{at}"),
        place: place(channel, thread, ts),
        is_direct: is_direct(channel),
        by: person(user, &payload["user"]["username"]),
        what: What::Press {
            message: MessageId(ts.to_owned()),
            payload: action["value"].as_str()?.to_owned(),
            handle: payload["response_url"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        },
    })
}

/// What a slash command is: its first word is ours, for whatever the command itself is called in that workspace.
pub(super) fn of_command(payload: &Value) -> Option<Happening> {
    let channel = payload["channel_id"].as_str()?;
    let user = payload["user_id"].as_str()?;
    let text = plain(payload["text"].as_str().unwrap_or_default());
    let text = text.trim();
    let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = if name.is_empty() { "help" } else { name };
    Some(Happening {
        id: format!("command:{}", payload["trigger_id"].as_str()?),
        place: Place::channel(channel),
        is_direct: is_direct(channel),
        by: person(user, &payload["user_name"]),
        what: What::Command {
            name: name.to_owned(),
            arguments: arguments.trim().to_owned(),
            handle: payload["response_url"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        },
    })
}

/// The place of a message: the first one of a thread is not in it.
fn place(channel: &str, thread: Option<&str>, ts: &str) -> Place {
    Place {
        channel: channel.to_owned(),
        thread: thread.filter(|thread| *thread != ts).map(str::to_owned),
    }
}

/// Whether only one person and we are there.
fn is_direct(channel: &str) -> bool {
    channel.starts_with('D')
}

fn person(id: &str, name: &Value) -> Person {
    Person {
        id: id.to_owned(),
        name: name.as_str().unwrap_or(id).to_owned(),
        is_bot: false,
    }
}

fn file(file: &Value) -> Option<IncomingFile> {
    if file["mode"] == "tombstone" {
        return None;
    }
    let address = file["url_private_download"]
        .as_str()
        .or(file["url_private"].as_str());
    Some(IncomingFile {
        name: file["name"].as_str().unwrap_or("file").to_owned(),
        media_type: file["mimetype"].as_str().map(str::to_owned),
        size: file["size"].as_u64(),
        // Without an address it cannot be had, and that is said when it is asked for.
        handle: address.unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn me() -> Me {
        Me {
            user: "UBOT".to_owned(),
            bot: "B1".to_owned(),
        }
    }

    fn event(event: &Value) -> Option<Happening> {
        of_event(&json!({"event_id": "Ev1", "event": event}), &me())
    }

    #[test]
    fn a_mention_that_comes_twice_is_one_happening() {
        let text = "<@UBOT> fix &lt;it&gt;";
        let message = json!({"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": "1.000002", "text": text});
        let mention = json!({"type": "app_mention", "channel": "C1", "user": "U1", "ts": "1.000002", "text": text});
        let happening = event(&message).unwrap();
        assert_eq!(event(&mention), Some(happening.clone()));
        let What::Message {
            text, mentions_us, ..
        } = happening.what
        else {
            panic!("{happening:?}")
        };
        assert_eq!((text.as_str(), mentions_us), ("fix <it>", true));
    }

    #[test]
    fn changes_joins_programs_and_our_own_words_are_nobodys_wish() {
        let said = json!({"type": "message", "channel": "C1", "user": "U1", "ts": "1.000002", "text": "hi"});
        assert!(event(&said).is_some());
        for (field, value) in [
            ("subtype", "message_changed"),
            ("subtype", "channel_join"),
            ("subtype", "bot_message"),
            ("bot_id", "B7"),
            ("user", "UBOT"),
            ("user", "USLACKBOT"),
        ] {
            let mut other = said.clone();
            other[field] = json!(value);
            assert_eq!(event(&other), None, "{field} {value}");
        }
    }

    #[test]
    fn a_press_is_where_its_card_is_and_known_by_when_it_was() {
        let press = json!({
            "type": "block_actions", "user": {"id": "U1", "username": "ada"},
            "container": {"type": "message", "message_ts": "2.000001", "channel_id": "C1", "thread_ts": "1.000001"},
            "channel": {"id": "C1"}, "message": {"ts": "2.000001", "thread_ts": "1.000001"},
            "response_url": "https://hooks.slack.com/actions/x",
            "actions": [{"type": "button", "action_id": "countersign_1", "value": "p:abc:1", "action_ts": "3.5"}],
        });
        let happening = of_interaction(&press).unwrap();
        assert_eq!(happening.id, "press:C1:2.000001:U1:3.5");
        assert_eq!(happening.place.thread.as_deref(), Some("1.000001"));
        assert!(matches!(happening.what, What::Press { payload, .. } if payload == "p:abc:1"));
        assert_eq!(of_interaction(&json!({"type": "view_submission"})), None);
    }

    #[test]
    fn the_first_word_of_a_slash_command_is_the_command() {
        let command = |text: &str| {
            let payload = json!({"command": "/countersign", "text": text, "channel_id": "D1", "user_id": "U1", "trigger_id": "1.2"});
            let happening = of_command(&payload).unwrap();
            let What::Command {
                name, arguments, ..
            } = happening.what
            else {
                panic!("{happening:?}")
            };
            (name, arguments)
        };
        assert_eq!(
            command("deny  ab12cd34 no"),
            ("deny".to_owned(), "ab12cd34 no".to_owned())
        );
        assert_eq!(command(" "), ("help".to_owned(), String::new()));
    }
}
