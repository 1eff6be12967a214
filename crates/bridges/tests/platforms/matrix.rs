//! Matrix on a real homeserver, with two people and the bot.

use std::sync::Arc;

use countersign_bridges::Adapter;
use countersign_bridges::Secret;
use countersign_bridges::adapter::{MessageId, Outgoing, Place};
use countersign_bridges::matrix::Matrix;
use countersign_testkit::synapse::MatrixUser;
use countersign_testkit::{HttpFault, HttpFaults, Synapse};
use serde_json::{Value, json};

use crate::conformance::{self, Seen, Stage, Trouble, Who};

/// A homeserver behind a proxy that can fail, with one room.
struct OnSynapse {
    _synapse: Synapse,
    faults: HttpFaults,
    bot: MatrixUser,
    alice: MatrixUser,
    mallory: MatrixUser,
    room: String,
}

impl OnSynapse {
    async fn start() -> Self {
        let synapse = Synapse::start().await;
        let bot = synapse.user("bot").await;
        let alice = synapse.user("alice").await;
        let mallory = synapse.user("mallory").await;
        let room = alice.room(&[&bot, &mallory], false).await;
        bot.join(&room).await;
        mallory.join(&room).await;
        Self {
            faults: HttpFaults::start(&synapse.url()),
            _synapse: synapse,
            bot,
            alice,
            mallory,
            room,
        }
    }

    fn user(&self, who: Who) -> &MatrixUser {
        match who {
            Who::Alice => &self.alice,
            Who::Mallory => &self.mallory,
        }
    }

    /// The messages of ours in a place that are no changes of others.
    async fn ours(&self, place: &Place) -> Vec<Value> {
        let events = self.alice.events(&place.channel).await;
        let is_ours = |event: &Value| {
            let relation = &event["content"]["m.relates_to"];
            let thread =
                (relation["rel_type"] == "m.thread").then(|| relation["event_id"].as_str());
            event["type"] == "m.room.message"
                && event["sender"] == self.bot.id.as_str()
                && event["content"]["msgtype"].is_string()
                && relation["rel_type"] != "m.replace"
                && thread.flatten() == place.thread.as_deref()
        };
        events.into_iter().filter(is_ours).collect()
    }

    async fn seen_as(&self, room: &str, event: &Value) -> Seen {
        let id = event["event_id"].as_str().unwrap();
        let now = self.alice.message(room, id).await;
        let path = format!(
            "../v1/rooms/{}/relations/{}/m.annotation/m.reaction?limit=100",
            countersign_testkit::synapse::encoded(room),
            countersign_testkit::synapse::encoded(id)
        );
        let reactions = self.alice.get(&path).await;
        let reactions = reactions["chunk"].as_array().unwrap();
        let seeded = reactions
            .iter()
            .filter(|it| it["sender"] == self.bot.id.as_str());
        Seen {
            id: MessageId(id.to_owned()),
            words: now["content"]["body"].as_str().unwrap().to_owned(),
            pings: pings(&now["content"]),
            buttons: seeded.count(),
        }
    }
}

/// Whom a message pings by the rules that clients and servers have for it.
fn pings(content: &Value) -> Vec<String> {
    let mentions = &content["m.mentions"];
    assert!(
        mentions.is_object(),
        "it is always said who is meant: {content}"
    );
    let ids = mentions["user_ids"].as_array().into_iter().flatten();
    let mut pings: Vec<String> = ids.map(|id| id.as_str().unwrap().to_owned()).collect();
    pings.extend((mentions["room"] == true).then(|| "@room".to_owned()));
    pings
}

impl Stage for OnSynapse {
    fn adapter(&self) -> Arc<dyn Adapter> {
        let token = Secret::new(self.bot.token.clone());
        Arc::new(Matrix::new(&self.faults.url(), token).unwrap())
    }

    fn channel(&self) -> Place {
        Place {
            channel: self.room.clone(),
            thread: None,
        }
    }

    fn id_of(&self, who: Who) -> String {
        self.user(who).id.clone()
    }

    async fn say(&self, who: Who, place: &Place, text: &str, mention: bool) -> MessageId {
        let mentioned = mention.then_some(&self.bot);
        let thread = place.thread.as_deref();
        let said = self.user(who).say(&place.channel, thread, text, mentioned);
        MessageId(said.await)
    }

    async fn say_directly(&self, who: Who, text: &str) {
        let user = self.user(who);
        let room = user.room(&[&self.bot], true).await;
        // The bot comes by itself; whoever was invited reads what was said before.
        user.say(&room, None, text, None).await;
    }

    async fn send_file(&self, who: Who, place: &Place, name: &str, content: &str) {
        let user = self.user(who);
        let url = user.upload(name, content).await;
        let mut event = json!({
            "msgtype": "m.file", "body": name, "filename": name, "url": url,
            "info": {"mimetype": "text/plain", "size": content.len()},
        });
        if let Some(root) = &place.thread {
            event["m.relates_to"] = json!({"rel_type": "m.thread", "event_id": root});
        }
        user.send(&place.channel, "m.room.message", &event).await;
    }

    async fn press(&self, who: Who, place: &Place, id: &MessageId, outgoing: &Outgoing, n: usize) {
        let sign = &outgoing.buttons[n].sign;
        self.user(who).react(&place.channel, &id.0, sign).await;
    }

    async fn deliver_again(&self) -> bool {
        // A homeserver repeats only what is asked for again, from an older place.
        false
    }

    async fn delete(&self, place: &Place, id: &MessageId) {
        self.bot.delete(&place.channel, &id.0).await;
    }

    async fn trouble(&self, _edits: bool, trouble: Trouble) {
        let fault = match trouble {
            Trouble::TooMany => HttpFault::TooMany {
                retry_after: 1,
                body: json!({"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 1000}).to_string(),
            },
            Trouble::Broken => HttpFault::Broken,
            Trouble::ResponseLost => HttpFault::ResponseLost,
        };
        self.faults.plan("PUT", "/send/m.room.message/", [fault]);
    }

    async fn seen(&self, place: &Place) -> Vec<Seen> {
        let mut seen = Vec::new();
        for event in self.ours(place).await {
            seen.push(self.seen_as(&place.channel, &event).await);
        }
        seen
    }

    async fn files(&self, place: &Place) -> Vec<Vec<u8>> {
        let mut files = Vec::new();
        for event in self.ours(place).await {
            if let Some(address) = event["content"]["url"].as_str() {
                files.push(self.alice.download(address).await);
            }
        }
        files
    }

    async fn whispers(&self, who: Who) -> Vec<String> {
        let user = self.user(who);
        for room in user.invitations().await {
            user.join(&room).await;
        }
        let mut words = Vec::new();
        let joined = user.get("joined_rooms").await;
        for room in joined["joined_rooms"].as_array().unwrap() {
            let room = room.as_str().unwrap();
            if room == self.room {
                continue;
            }
            let events = user.events(room).await;
            let ours = events
                .iter()
                .filter(|it| it["sender"] == self.bot.id.as_str());
            words.extend(ours.filter_map(|it| it["content"]["body"].as_str().map(str::to_owned)));
        }
        words
    }
}

#[tokio::test]
async fn real_synapse_takes_all_that_the_core_relies_on() {
    conformance::all(&OnSynapse::start().await).await;
}
