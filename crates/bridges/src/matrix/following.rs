//! What happens in the rooms that we are in: one long poll after the other, with gaps filled.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::client::send;
use super::{Matrix, Me};
use crate::adapter::{Failure, Happening, IncomingFile, MessageId, Person, Place, What};
use crate::http::TIME_LIMIT;
use crate::intake::{Intake, Stopped};

/// How long the server holds a poll while nothing happens.
const POLL: Duration = Duration::from_secs(20);
/// How many pages of a gap are read: each has a hundred events, and what is older is nobody's wish any more.
const MOST_PAGES: usize = 200;

/// Who is in a room.
type Members = HashMap<String, String>;

/// What is known of rooms while they are followed.
#[derive(Default)]
pub(super) struct Rooms {
    members: HashMap<String, Members>,
}

impl Matrix {
    pub(super) async fn follow_rooms(
        &self,
        cursor: Option<String>,
        intake: &Intake,
    ) -> Result<Stopped, Failure> {
        let me = self.me().await?;
        let mut rooms = Rooms::default();
        let mut since = cursor;
        loop {
            let answer = tokio::select! {
                () = intake.stopped() => return Ok(Stopped),
                answer = self.poll(since.as_deref()) => answer?,
            };
            let next = answer["next_batch"].as_str().map(str::to_owned);
            self.join_invited(&answer, &me).await?;
            let happenings = match &since {
                // What was said before anybody followed is nobody's wish.
                None => Vec::new(),
                Some(since) => self.happenings(&answer, since, &me, &mut rooms).await?,
            };
            if intake.take(happenings, next.clone()).await.is_err() {
                return Ok(Stopped);
            }
            since = next.or(since);
        }
    }

    async fn poll(&self, since: Option<&str>) -> Result<Value, Failure> {
        let filter = json!({
            "presence": {"types": []},
            "account_data": {"types": []},
            "room": {
                "account_data": {"types": []},
                "ephemeral": {"types": []},
                "state": {"types": ["m.room.member"], "lazy_load_members": true},
                "timeline": {"limit": 100, "types": ["m.room.message", "m.reaction", "m.room.member"]},
            },
        });
        let (filter, timeout) = (filter.to_string(), POLL.as_millis().to_string());
        // The first poll only says where we are.
        let mut query = vec![("filter", filter.as_str())];
        match since {
            None => query.push(("timeout", "0")),
            Some(since) => query.extend([("timeout", timeout.as_str()), ("since", since)]),
        }
        let request = self
            .client
            .request(Method::GET, "client/v3", &["sync"], &query)
            .timeout(POLL + TIME_LIMIT);
        send(request).await
    }

    /// Goes where we are invited to: nothing is done in rooms that the configuration does not know.
    async fn join_invited(&self, answer: &Value, me: &Me) -> Result<(), Failure> {
        for (room, invited) in entries(&answer["rooms"]["invite"]) {
            let joined = send(
                self.client
                    .call(Method::POST, &["join", room])
                    .json(&json!({})),
            );
            match joined.await {
                Ok(_) => {}
                // Somebody thought better of it.
                Err(Failure::Gone(_) | Failure::Refused(_)) => continue,
                Err(failure) => return Err(failure),
            }
            let events = invited["invite_state"]["events"].as_array();
            let mine = events.into_iter().flatten().find(|event| {
                event["type"] == "m.room.member" && event["state_key"] == me.id.as_str()
            });
            if let Some(mine) = mine
                && mine["content"]["is_direct"] == true
                && let Some(sender) = mine["sender"].as_str()
            {
                self.remember_direct(sender, room, me).await?;
            }
        }
        Ok(())
    }

    async fn happenings(
        &self,
        answer: &Value,
        since: &str,
        me: &Me,
        rooms: &mut Rooms,
    ) -> Result<Vec<Happening>, Failure> {
        let mut happenings = Vec::new();
        for (room, joined) in entries(&answer["rooms"]["join"]) {
            let timeline = &joined["timeline"];
            let newest = timeline["events"].as_array().cloned().unwrap_or_default();
            let mut events = Vec::new();
            if let Some(invited) = newest
                .iter()
                .rposition(|event| is_about(event, me, "invite"))
                && newest.iter().any(|event| is_about(event, me, "join"))
            {
                // What was said before we were asked to come was not said to us.
                events.extend(newest.into_iter().skip(invited + 1));
            } else {
                if timeline["limited"] == true
                    && let Some(before) = timeline["prev_batch"].as_str()
                {
                    events = self.fill_gap(room, before, since).await?;
                }
                events.extend(newest);
            }
            let states = joined["state"]["events"].as_array();
            let is_member = |event: &Value| event["type"] == "m.room.member";
            if events.iter().any(is_member) || states.into_iter().flatten().any(is_member) {
                rooms.members.remove(room);
            }
            for event in &events {
                let Some(what) = what(event, me) else {
                    continue;
                };
                if !rooms.members.contains_key(room) {
                    let members = self.members(room).await?;
                    rooms.members.insert(room.to_owned(), members);
                }
                let members = rooms.members.get(room);
                happenings.extend(happening(room, event, what, members));
            }
        }
        Ok(happenings)
    }

    /// What was said between two polls and did not fit into the second.
    async fn fill_gap(&self, room: &str, before: &str, since: &str) -> Result<Vec<Value>, Failure> {
        let mut pages = Vec::new();
        let mut from = before.to_owned();
        for _ in 0..MOST_PAGES {
            let query = [
                ("dir", "b"),
                ("from", from.as_str()),
                ("to", since),
                ("limit", "100"),
            ];
            let segments = ["rooms", room, "messages"];
            let request = self
                .client
                .request(Method::GET, "client/v3", &segments, &query);
            let page = send(request).await?;
            let Some(events) = page["chunk"].as_array().filter(|events| !events.is_empty()) else {
                break;
            };
            pages.extend(events.iter().cloned());
            match page["end"].as_str() {
                Some(end) => end.clone_into(&mut from),
                None => break,
            }
        }
        pages.reverse();
        Ok(pages)
    }

    async fn members(&self, room: &str) -> Result<Members, Failure> {
        let request = self
            .client
            .call(Method::GET, &["rooms", room, "joined_members"]);
        let answer = match send(request).await {
            Ok(answer) => answer,
            // We are not in it any more.
            Err(Failure::Refused(_) | Failure::Gone(_)) => return Ok(Members::new()),
            Err(failure) => return Err(failure),
        };
        let joined = entries(&answer["joined"]).map(|(id, member)| {
            let name = member["display_name"].as_str().unwrap_or(id);
            (id.to_owned(), name.to_owned())
        });
        Ok(joined.collect())
    }
}

/// Whether an event says that we are now this to the room.
fn is_about(event: &Value, me: &Me, membership: &str) -> bool {
    event["type"] == "m.room.member"
        && event["state_key"] == me.id.as_str()
        && event["content"]["membership"] == membership
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let object = value.as_object().into_iter().flatten();
    object.map(|(key, value)| (key.as_str(), value))
}

fn happening(
    room: &str,
    event: &Value,
    what: What,
    members: Option<&Members>,
) -> Option<Happening> {
    let sender = event["sender"].as_str()?;
    let relation = &event["content"]["m.relates_to"];
    let thread = (relation["rel_type"] == "m.thread")
        .then(|| relation["event_id"].as_str())
        .flatten();
    let name = members.and_then(|members| members.get(sender));
    Some(Happening {
        id: event["event_id"].as_str()?.to_owned(),
        place: Place {
            channel: room.to_owned(),
            thread: thread.map(str::to_owned),
        },
        is_direct: members.is_some_and(|members| members.len() == 2),
        by: Person {
            id: sender.to_owned(),
            name: name.map_or(sender, String::as_str).to_owned(),
            is_bot: false,
        },
        what,
    })
}

/// What an event is to us, if anything.
fn what(event: &Value, me: &Me) -> Option<What> {
    if event["sender"] == me.id.as_str() {
        return None;
    }
    let content = &event["content"];
    match event["type"].as_str()? {
        "m.reaction" => {
            let relation = &content["m.relates_to"];
            Some(What::Reaction {
                message: MessageId(relation["event_id"].as_str()?.to_owned()),
                sign: plain_sign(relation["key"].as_str()?),
            })
        }
        "m.room.message" => {
            // A message that is rewritten is no second wish.
            if content["m.relates_to"]["rel_type"] == "m.replace" {
                return None;
            }
            let body = content["body"].as_str()?;
            let files = match content["msgtype"].as_str()? {
                "m.text" | "m.emote" => Vec::new(),
                "m.image" | "m.file" | "m.audio" | "m.video" => vec![file(content)?],
                // Programs talk in notices, and are not talked with.
                _ => return None,
            };
            let named = content["m.mentions"]["user_ids"].as_array();
            let is_named = named.is_some_and(|ids| ids.iter().any(|id| id == me.id.as_str()));
            Some(What::Message {
                message: MessageId(event["event_id"].as_str()?.to_owned()),
                mentions_us: is_named || body.contains(me.id.as_str()),
                text: if files.is_empty() || content["filename"].is_string() {
                    without_mention(body, me)
                } else {
                    String::new()
                },
                files,
            })
        }
        _ => None,
    }
}

fn file(content: &Value) -> Option<IncomingFile> {
    let name = content["filename"].as_str().or(content["body"].as_str())?;
    Some(IncomingFile {
        name: name.to_owned(),
        media_type: content["info"]["mimetype"].as_str().map(str::to_owned),
        size: content["info"]["size"].as_u64(),
        handle: content["url"].as_str()?.to_owned(),
    })
}

/// What is said, without our name at its beginning.
fn without_mention(body: &str, me: &Me) -> String {
    let body = body.trim();
    let local = me.id.trim_start_matches('@').split(':').next();
    let names = [Some(me.id.as_str()), Some(me.name.as_str()), local];
    for name in names.into_iter().flatten().filter(|name| !name.is_empty()) {
        let rest = body
            .strip_prefix(name)
            .or_else(|| body.strip_prefix('@')?.strip_prefix(name));
        if let Some(rest) = rest
            && rest.starts_with([':', ',', ' ', '\n'])
        {
            return rest.trim_start_matches([':', ',']).trim().to_owned();
        }
    }
    body.to_owned()
}

/// A reaction without skin tones.
fn plain_sign(sign: &str) -> String {
    sign.chars()
        .filter(|sign| !('\u{1F3FB}'..='\u{1F3FF}').contains(sign))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> Me {
        Me {
            id: "@sign:example.org".to_owned(),
            name: "Countersign".to_owned(),
        }
    }

    #[test]
    fn our_name_at_the_beginning_is_no_part_of_what_is_said() {
        for said in [
            "@sign:example.org: fix it",
            "@sign:example.org fix it",
            "Countersign: fix it",
            "sign, fix it",
            "@sign fix it",
            " fix it",
        ] {
            assert_eq!(without_mention(said, &me()), "fix it", "{said}");
        }
        assert_eq!(without_mention("signs of wear", &me()), "signs of wear");
    }

    #[test]
    fn edits_notices_and_our_own_words_are_nobodys_wish() {
        let event = |sender: &str, content: Value| json!({"type": "m.room.message", "event_id": "$1", "sender": sender, "content": content});
        let text = json!({"msgtype": "m.text", "body": "hi"});
        assert!(what(&event("@a:b", text.clone()), &me()).is_some());
        assert_eq!(what(&event("@sign:example.org", text), &me()), None);
        let notice = json!({"msgtype": "m.notice", "body": "hi"});
        assert_eq!(what(&event("@a:b", notice), &me()), None);
        let edit =
            json!({"msgtype": "m.text", "body": "hi", "m.relates_to": {"rel_type": "m.replace"}});
        assert_eq!(what(&event("@a:b", edit), &me()), None);
    }
}
