//! A Discord with a channel, and a server whose bridge is in it.

use countersign_testkit::fake_discord::TOKEN;
use countersign_testkit::test_server::{Bridging, Engine, PATIENCE, Setup};
use countersign_testkit::{FakeDiscord, HttpFaults, TestServer, eventually};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// Everything that is there. Alice may answer, Mallory may talk and not answer.
pub(crate) struct Stage {
    pub(crate) server: TestServer,
    pub(crate) discord: FakeDiscord,
    /// What stands between the two.
    pub(crate) faults: HttpFaults,
    pub(crate) alice: String,
    pub(crate) mallory: String,
    pub(crate) channel: String,
    _secrets: TempDir,
}

impl Stage {
    /// With the demo agent; `lines` are more lines for the channel.
    pub(crate) async fn demo(lines: &str) -> Self {
        let agents =
            format!("[[agents]]\nname = 'mine'\ncommand = '{BINARY}'\nargs = ['demo-agent']\n");
        let lines = format!("engine = 'mine'\n{lines}");
        Self::with(Setup::new(BINARY, Engine::None), &agents, &lines).await
    }

    pub(crate) async fn with(setup: Setup, agents: &str, lines: &str) -> Self {
        let discord = FakeDiscord::start();
        let faults = HttpFaults::start(&discord.url());
        discord.be_reached_at(&faults.url());
        let (alice, mallory) = (discord.person("alice"), discord.person("mallory"));
        let channel = discord.channel();
        let bridging = Bridging {
            platform: "discord",
            url: &faults.url(),
            token: TOKEN,
            approver: &alice,
            talker: &mallory,
            channel: &channel,
            lines,
        };
        let (setup, secrets) = setup.bridged(agents, &bridging);
        let stage = Self {
            server: setup.start().await,
            discord,
            faults,
            alice,
            mallory,
            channel,
            _secrets: secrets,
        };
        // A session is told of everything that happens after it was begun.
        eventually(PATIENCE, "the bridge follows", async || {
            (stage.discord.sessions() > 0).then_some(())
        })
        .await;
        stage
    }

    /// Says something to the bot, and returns what begins a thread by it.
    pub(crate) fn mention(&self, who: &str, text: &str) -> String {
        self.discord.say(who, &self.channel, text, true)
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.server.workspace().join(file).exists()
    }

    /// Waits until there is a file in the workspace.
    pub(crate) async fn is_made(&self, file: &str) {
        eventually(PATIENCE, &format!("{file} is made"), async || {
            self.has(file).then_some(())
        })
        .await;
    }

    /// What the bot says in a channel or a thread, each message as it is now.
    pub(crate) fn said_in(&self, channel: &str) -> Vec<String> {
        let messages = self.discord.messages(channel);
        let words = messages.iter().filter_map(|it| it["content"].as_str());
        words.map(str::to_owned).collect()
    }

    /// Waits for the card in a thread that shows `text`.
    pub(crate) async fn card(&self, thread: &str, text: &str) -> Value {
        eventually(PATIENCE, &format!("a card shows `{text}`"), async || {
            let messages = self.discord.messages(thread);
            let is_it = |message: &Value| {
                let content = message["content"].as_str().unwrap_or_default();
                content.contains(text) && message["components"] != serde_json::json!([])
            };
            messages.into_iter().find(is_it)
        })
        .await
    }

    /// Presses the button of a card that has this label, and returns what the interaction is called.
    pub(crate) fn press(&self, who: &str, card: &Value, label: &str) -> String {
        let buttons = buttons(card);
        let n = buttons.iter().position(|button| button["label"] == label);
        let n = n.unwrap_or_else(|| panic!("no option `{label}`: {buttons:?}"));
        self.discord.press(who, channel_of(card), id(card), n)
    }

    /// Waits until a card says `text` and has no buttons any more.
    pub(crate) async fn card_says(&self, card: &Value, text: &str) {
        eventually(PATIENCE, &format!("the card says `{text}`"), async || {
            let messages = self.discord.messages(channel_of(card));
            let now = messages.iter().find(|it| it["id"] == card["id"])?;
            let is_said = now["content"].as_str()?.contains(text);
            (is_said && now["components"] == serde_json::json!([])).then_some(())
        })
        .await;
    }

    /// Waits until the bot says `text` in a thread.
    pub(crate) async fn thread_says(&self, thread: &str, text: &str) {
        eventually(PATIENCE, &format!("the thread says `{text}`"), async || {
            let said = self.said_in(thread);
            said.iter().any(|words| words.contains(text)).then_some(())
        })
        .await;
    }

    /// Waits until the one reaction of ours on a message is `sign`.
    pub(crate) async fn is_marked(&self, message: &str, sign: &str) {
        let what = format!("the message is marked {sign}");
        eventually(PATIENCE, &what, async || {
            (self.discord.reactions(message) == [sign]).then_some(())
        })
        .await;
    }

    /// Waits until the bot told somebody alone.
    pub(crate) async fn whispered(&self, who: &str, text: &str) {
        eventually(
            PATIENCE,
            &format!("somebody is told `{text}`"),
            async || {
                let told = self.discord.whispers(who);
                told.iter().any(|words| words.contains(text)).then_some(())
            },
        )
        .await;
    }

    /// The one ask that is open.
    pub(crate) async fn open_ask(&self) -> Value {
        let mut asks = self.server.api().open_asks().await;
        assert_eq!(asks.len(), 1, "{asks:?}");
        asks.remove(0)
    }

    /// The content of the first file in a thread.
    pub(crate) async fn file(&self, thread: &str) -> String {
        let file = eventually(PATIENCE, "there is a file", async || {
            self.discord.files(thread).into_iter().next()
        })
        .await;
        String::from_utf8(file).expect("it is text")
    }
}

/// The buttons of a card.
pub(crate) fn buttons(card: &Value) -> Vec<Value> {
    let rows = card["components"].as_array().into_iter().flatten();
    let buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
    buttons.cloned().collect()
}

pub(crate) fn id(message: &Value) -> &str {
    message["id"].as_str().expect("a message has an id")
}

pub(crate) fn channel_of(message: &Value) -> &str {
    message["channel_id"]
        .as_str()
        .expect("a message is somewhere")
}
