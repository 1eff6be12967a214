//! What Discord tells, as the core knows it.

use serde_json::Value;

use super::interactions::Handle;
use super::number;
use crate::adapter::{Happening, IncomingFile, MessageId, Person, Place, What};

/// A message that somebody wrote, or wrote as a reply. Others tell of pins, of calls and of who came.
const WRITTEN: [u64; 2] = [0, 19];
/// The interactions that are taken.
const COMMAND: u64 = 2;
const PRESS: u64 = 3;

/// What a message is to us, if anything.
pub(super) fn message(event: &Value, place: Place, is_direct: bool, me: u64) -> Option<Happening> {
    let author = &event["author"];
    let kind = event["type"].as_u64()?;
    if number(&author["id"])? == me || !WRITTEN.contains(&kind) {
        return None;
    }
    let id = event["id"].as_str()?;
    let mentions = event["mentions"].as_array().into_iter().flatten();
    let mentions_us = mentions
        .filter_map(|user| number(&user["id"]))
        .any(|user| user == me);
    let files = event["attachments"].as_array().into_iter().flatten();
    let mut by = person(author, &event["member"])?;
    by.is_bot |= event["webhook_id"].is_string();
    Some(Happening {
        id: id.to_owned(),
        place,
        is_direct,
        by,
        what: What::Message {
            message: MessageId(id.to_owned()),
            text: without_mention(event["content"].as_str().unwrap_or_default(), me),
            mentions_us,
            files: files.filter_map(file).collect(),
        },
    })
}

/// What a press or a command is, and what its reply is bound to.
pub(super) fn interaction(
    event: &Value,
    place: Place,
    is_direct: bool,
) -> Option<(Happening, Handle)> {
    let handle = Handle::of(event)?;
    let data = &event["data"];
    let what = match event["type"].as_u64()? {
        PRESS => What::Press {
            message: MessageId(event["message"]["id"].as_str()?.to_owned()),
            payload: data["custom_id"].as_str()?.to_owned(),
            handle: handle.text(),
        },
        COMMAND => {
            let options = data["options"].as_array().into_iter().flatten();
            let said: Vec<&str> = options
                .filter_map(|option| option["value"].as_str())
                .collect();
            What::Command {
                name: data["name"].as_str()?.to_owned(),
                arguments: said.join(" "),
                handle: handle.text(),
            }
        }
        _ => return None,
    };
    let member = &event["member"];
    let user = if is_direct {
        &event["user"]
    } else {
        &member["user"]
    };
    let happening = Happening {
        id: handle.id.to_string(),
        place,
        is_direct,
        by: person(user, member)?,
        what,
    };
    Some((happening, handle))
}

fn person(user: &Value, member: &Value) -> Option<Person> {
    let names = [&member["nick"], &user["global_name"], &user["username"]];
    let name = names.into_iter().find_map(Value::as_str);
    let id = number(&user["id"])?.to_string();
    Some(Person {
        name: name.unwrap_or(&id).to_owned(),
        is_bot: user["bot"] == true,
        id,
    })
}

fn file(attachment: &Value) -> Option<IncomingFile> {
    Some(IncomingFile {
        name: attachment["filename"].as_str()?.to_owned(),
        media_type: attachment["content_type"].as_str().map(str::to_owned),
        size: attachment["size"].as_u64(),
        handle: attachment["url"].as_str()?.to_owned(),
    })
}

/// What is said, without the mention of us at its beginning.
fn without_mention(content: &str, me: u64) -> String {
    let content = content.trim();
    for mention in [format!("<@{me}>"), format!("<@!{me}>")] {
        if let Some(rest) = content.strip_prefix(&mention) {
            return rest.trim_start_matches([':', ',']).trim().to_owned();
        }
    }
    content.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place() -> Place {
        super::super::channel_called(5)
    }

    #[test]
    fn our_mention_at_the_beginning_is_no_part_of_what_is_said() {
        for said in ["<@7> fix it", "<@!7>: fix it", " fix it"] {
            assert_eq!(without_mention(said, 7), "fix it", "{said}");
        }
        assert_eq!(without_mention("ask <@7>", 7), "ask <@7>");
    }

    #[test]
    fn programs_are_told_apart_and_our_own_words_are_nobodys_wish() {
        let event = |author: Value, kind: u64| json!({"id": "1", "type": kind, "author": author, "content": "hi"});
        let read = |event: &Value| message(event, place(), false, 7);
        let alice = json!({"id": "8", "username": "alice"});
        assert!(!read(&event(alice.clone(), 19)).unwrap().by.is_bot);
        assert!(
            read(&event(json!({"id": "8", "bot": true}), 0))
                .unwrap()
                .by
                .is_bot
        );
        let mut hooked = event(alice.clone(), 0);
        hooked["webhook_id"] = json!("9");
        assert!(read(&hooked).unwrap().by.is_bot);
        assert_eq!(read(&event(json!({"id": "7", "bot": true}), 0)), None);
        assert_eq!(read(&event(alice, 6)), None, "somebody pinned something");
    }
}
