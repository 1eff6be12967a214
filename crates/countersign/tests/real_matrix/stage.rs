//! A homeserver with a room, and a server whose bridge is in it.

use countersign_testkit::synapse::{MatrixUser, encoded};
use countersign_testkit::test_server::{Bridging, Engine, PATIENCE, Setup};
use countersign_testkit::{HttpFaults, Synapse, TestServer, eventually};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// Everything that is there. Alice may answer, Mallory may talk and not answer.
pub(crate) struct Stage {
    pub(crate) server: TestServer,
    pub(crate) synapse: Synapse,
    /// What stands between the two.
    pub(crate) faults: HttpFaults,
    pub(crate) bot: MatrixUser,
    pub(crate) alice: MatrixUser,
    pub(crate) mallory: MatrixUser,
    pub(crate) room: String,
    _secrets: TempDir,
}

impl Stage {
    /// With the demo agent; `channel` are more lines for the channel, in which `ROOM` stands for its id.
    pub(crate) async fn demo(channel: &str) -> Self {
        let agents =
            format!("[[agents]]\nname = 'mine'\ncommand = '{BINARY}'\nargs = ['demo-agent']\n");
        let channel = format!("engine = 'mine'\n{channel}");
        Self::with(Setup::new(BINARY, Engine::None), &agents, &channel).await
    }

    pub(crate) async fn with(setup: Setup, agents: &str, channel: &str) -> Self {
        let synapse = Synapse::start().await;
        let bot = synapse.user("bot").await;
        let alice = synapse.user("alice").await;
        let mallory = synapse.user("mallory").await;
        let room = alice.room(&[&bot, &mallory], false).await;
        bot.join(&room).await;
        mallory.join(&room).await;
        let faults = HttpFaults::start(&synapse.url());
        let bridging = Bridging {
            platform: "matrix",
            url: &faults.url(),
            token: &bot.token,
            approver: &alice.id,
            talker: &mallory.id,
            channel: &room,
            lines: &channel.replace("ROOM", &room),
        };
        let (setup, secrets) = setup.bridged(agents, &bridging);
        let stage = Self {
            server: setup.start().await,
            synapse,
            faults,
            bot,
            alice,
            mallory,
            room,
            _secrets: secrets,
        };
        stage.wait_until_followed().await;
        stage
    }

    /// What is said before the bridge follows for the first time is nobody's wish: asks how things are until it is told.
    /// Mallory does, who may talk wherever she may not answer.
    async fn wait_until_followed(&self) {
        let mut next = 0;
        eventually(PATIENCE, "the bridge follows", async || {
            if next % 20 == 0 {
                self.mention(&self.mallory, "!status").await;
            }
            next += 1;
            let events = self.alice.events(&self.room).await;
            let is_ours = |event: &Value| {
                event["sender"] == self.bot.id.as_str() && event["type"] == "m.room.message"
            };
            events.iter().any(is_ours).then_some(())
        })
        .await;
    }

    /// Says something to the bot, and returns what begins a thread by it.
    pub(crate) async fn mention(&self, who: &MatrixUser, text: &str) -> String {
        who.say(&self.room, None, text, Some(&self.bot)).await
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.server.workspace().join(file).exists()
    }

    async fn in_thread(&self, root: &str) -> Vec<Value> {
        let events = self.alice.events(&self.room).await;
        let relates = |event: &Value| {
            let relation = &event["content"]["m.relates_to"];
            event["sender"] == self.bot.id.as_str()
                && event["type"] == "m.room.message"
                && relation["rel_type"] == "m.thread"
                && relation["event_id"] == root
        };
        events.into_iter().filter(relates).collect()
    }

    /// What the bot says in a thread, each message as it is now.
    pub(crate) async fn said_in(&self, root: &str) -> Vec<String> {
        let mut said = Vec::new();
        for event in self.in_thread(root).await {
            let id = event["event_id"].as_str().expect("an event has an id");
            let now = self.alice.message(&self.room, id).await;
            said.push(
                now["content"]["body"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
        said
    }

    /// Waits for the first message of the bot in a thread that shows `text`, whatever is still missing of it.
    pub(crate) async fn shown(&self, root: &str, text: &str) -> Value {
        eventually(PATIENCE, &format!("`{text}` is shown"), async || {
            let events = self.in_thread(root).await;
            let shows = |event: &Value| {
                let body = event["content"]["body"].as_str();
                body.is_some_and(|body| body.contains(text))
            };
            events.into_iter().find(shows)
        })
        .await
    }

    /// Waits for the card in a thread that shows `text`, with its reactions seeded.
    pub(crate) async fn card(&self, root: &str, text: &str) -> Value {
        eventually(PATIENCE, &format!("a card shows `{text}`"), async || {
            let events = self.in_thread(root).await;
            let card = events.into_iter().find(|event| {
                let body = event["content"]["body"].as_str().unwrap_or_default();
                body.contains(text) && event["content"]["org.countersign.buttons"] != 0
            })?;
            let id = card["event_id"].as_str()?;
            let signs = self.signs(id).await;
            let seeded = card["content"]["org.countersign.buttons"].as_u64()?;
            (signs.len() as u64 == seeded).then_some(card)
        })
        .await
    }

    /// The reactions of the bot on a message.
    async fn signs(&self, message: &str) -> Vec<String> {
        let path = format!(
            "../v1/rooms/{}/relations/{}/m.annotation/m.reaction?limit=100",
            encoded(&self.room),
            encoded(message)
        );
        let found = self.alice.get(&path).await;
        let ours = found["chunk"].as_array().cloned().unwrap_or_default();
        ours.iter()
            .filter(|event| event["sender"] == self.bot.id.as_str())
            .filter_map(|event| event["content"]["m.relates_to"]["key"].as_str())
            .map(str::to_owned)
            .collect()
    }

    /// Waits until a card says `text` and has no reactions of ours any more.
    pub(crate) async fn card_says(&self, card: &Value, text: &str) {
        let id = card["event_id"].as_str().expect("an event has an id");
        eventually(PATIENCE, &format!("the card says `{text}`"), async || {
            let now = self.alice.message(&self.room, id).await;
            let is_said = now["content"]["body"].as_str()?.contains(text);
            (is_said && self.signs(id).await.is_empty()).then_some(())
        })
        .await;
    }

    /// Waits until the bot says `text` in a thread.
    pub(crate) async fn thread_says(&self, root: &str, text: &str) {
        eventually(PATIENCE, &format!("the thread says `{text}`"), async || {
            let said = self.said_in(root).await;
            said.iter().any(|words| words.contains(text)).then_some(())
        })
        .await;
    }

    /// Waits until the one reaction of ours on a message is `sign`.
    pub(crate) async fn is_marked(&self, message: &str, sign: &str) {
        eventually(
            PATIENCE,
            &format!("the message is marked {sign}"),
            async || (self.signs(message).await == [sign]).then_some(()),
        )
        .await;
    }

    /// Waits until the bot told somebody alone.
    pub(crate) async fn whispered(&self, who: &MatrixUser, text: &str) {
        self.told_directly(who, text).await;
    }

    /// Waits until the bot says `text` where only `who` and it are; returns the room and the message.
    pub(crate) async fn told_directly(&self, who: &MatrixUser, text: &str) -> (String, Value) {
        eventually(
            PATIENCE,
            &format!("{} is told `{text}`", who.id),
            async || {
                for room in who.invitations().await {
                    who.join(&room).await;
                }
                let joined = who.get("joined_rooms").await;
                for room in joined["joined_rooms"].as_array()? {
                    let room = room.as_str().filter(|room| *room != self.room);
                    let Some(room) = room else {
                        continue;
                    };
                    let told = who.events(room).await.into_iter().find(|event| {
                        let body = event["content"]["body"].as_str().unwrap_or_default();
                        event["sender"] == self.bot.id.as_str() && body.contains(text)
                    });
                    if let Some(told) = told {
                        return Some((room.to_owned(), told));
                    }
                }
                None
            },
        )
        .await
    }

    /// The one ask that is open.
    pub(crate) async fn open_ask(&self) -> Value {
        let asks = self.server.api().get("/api/v1/asks?state=open").await;
        let asks = asks["asks"].as_array().expect("a list of asks");
        assert_eq!(asks.len(), 1, "{asks:?}");
        asks[0].clone()
    }

    /// The content of the file in a thread.
    pub(crate) async fn file(&self, root: &str) -> String {
        let address = eventually(PATIENCE, "there is a file", async || {
            let events = self.in_thread(root).await;
            let mut urls = events
                .iter()
                .filter_map(|event| event["content"]["url"].as_str());
            urls.next().map(str::to_owned)
        })
        .await;
        String::from_utf8(self.alice.download(&address).await).expect("it is text")
    }
}

/// What a card is answered by in words.
pub(crate) fn token(card: &Value) -> String {
    let body = card["content"]["body"].as_str().expect("it has words");
    let (_, rest) = body
        .split_once("!allow ")
        .expect("it says how it is answered");
    rest.chars().take(8).collect()
}

/// The reaction that stands for the option with this label.
pub(crate) fn legend(card: &Value, label: &str) -> String {
    let body = card["content"]["body"].as_str().expect("it has words");
    let mut lines = body.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(sign, text)| sign.ends_with('\u{20E3}') && *text == label);
    let (sign, _) = found.unwrap_or_else(|| panic!("no option `{label}`: {body}"));
    sign.to_owned()
}
