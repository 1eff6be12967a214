//! A Slack with a channel, and a server whose bridge is in it.

use countersign_testkit::fake_slack::{
    ALICE, APP_TOKEN, BOT, BOT_TOKEN, CHANNEL, MALLORY, buttons, words,
};
use countersign_testkit::test_server::{Bridging, Engine, PATIENCE, Setup};
use countersign_testkit::{FakeSlack, HttpFaults, TestServer, eventually};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// Everything that is there. Alice may answer, Mallory may talk and not answer.
pub(crate) struct Stage {
    pub(crate) server: TestServer,
    pub(crate) slack: FakeSlack,
    /// What stands between the two.
    pub(crate) faults: HttpFaults,
    _secrets: TempDir,
}

impl Stage {
    /// With the demo agent; `channel` are more lines for the channel.
    pub(crate) async fn demo(channel: &str) -> Self {
        let agents =
            format!("[[agents]]\nname = 'mine'\ncommand = '{BINARY}'\nargs = ['demo-agent']\n");
        let channel = format!("engine = 'mine'\n{channel}");
        Self::with(Setup::new(BINARY, Engine::None), &agents, &channel).await
    }

    pub(crate) async fn with(setup: Setup, agents: &str, channel: &str) -> Self {
        let slack = FakeSlack::start();
        let faults = HttpFaults::start(&slack.url());
        let bridging = Bridging {
            platform: "slack",
            url: &format!("{}/api", faults.url()),
            token: BOT_TOKEN,
            approver: ALICE,
            talker: MALLORY,
            channel: CHANNEL,
            lines: channel,
        };
        let (mut setup, secrets) = setup.bridged(agents, &bridging);
        // Slack alone has a second secret.
        let app_token = secrets.path().join("app-token");
        std::fs::copy(secrets.path().join("token"), &app_token).expect("it is as private");
        std::fs::write(&app_token, APP_TOKEN).expect("it can be written");
        let begin = "[bridges.slack]\n";
        let with = format!("{begin}app_token_file = '{}'\n", app_token.display());
        setup.engine_settings = setup.engine_settings.replacen(begin, &with, 1);
        let stage = Self {
            server: setup.start().await,
            slack,
            faults,
            _secrets: secrets,
        };
        stage.is_followed(1).await;
        stage
    }

    /// Waits until the bridge is connected, for the `count`th time.
    pub(crate) async fn is_followed(&self, count: usize) {
        eventually(PATIENCE, "the bridge is connected", async || {
            let is_there = self.slack.connections() == 1 && self.slack.connected() >= count;
            is_there.then_some(())
        })
        .await;
    }

    /// Says something to the bot, and returns what begins a thread by it.
    pub(crate) fn mention(&self, user: &str, text: &str) -> String {
        self.say(user, None, &format!("<@{BOT}> {}", escaped(text)))
    }

    /// Says something in a thread.
    pub(crate) fn reply(&self, user: &str, root: &str, text: &str) {
        self.say(user, Some(root), &escaped(text));
    }

    fn say(&self, user: &str, thread: Option<&str>, text: &str) -> String {
        self.slack.say(user, CHANNEL, thread, text)
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.server.workspace().join(file).exists()
    }

    /// Waits until a tool has made a file.
    pub(crate) async fn is_made(&self, file: &str) {
        eventually(PATIENCE, &format!("`{file}` is made"), async || {
            self.has(file).then_some(())
        })
        .await;
    }

    /// What the bot says in a thread, each message as it is now; files are left out.
    pub(crate) fn said_in(&self, root: &str) -> Vec<String> {
        let messages = self.slack.of_app(CHANNEL, Some(root));
        let said = messages.iter().filter(|it| !it["files"].is_array());
        said.map(words).collect()
    }

    /// Waits for the card in a thread, or in a direct place, that shows `text`.
    pub(crate) async fn card(&self, channel: &str, root: Option<&str>, text: &str) -> Value {
        eventually(PATIENCE, &format!("a card shows `{text}`"), async || {
            let messages = self.slack.of_app(channel, root);
            let is_it = |it: &Value| words(it).contains(text) && !buttons(it).is_empty();
            messages.into_iter().find(is_it)
        })
        .await
    }

    /// Somebody presses the button with this label, as they saw the card.
    pub(crate) fn press(&self, user: &str, channel: &str, card: &Value, label: &str) {
        let buttons = buttons(card);
        let n = buttons.iter().position(|it| it["text"]["text"] == label);
        let n = n.unwrap_or_else(|| panic!("no button `{label}`: {card}"));
        self.slack.press(user, channel, card, n);
    }

    /// Waits until a card says `text` and has no buttons any more.
    pub(crate) async fn card_says(&self, channel: &str, card: &Value, text: &str) {
        let ts = card["ts"].as_str().expect("a message has a time");
        eventually(PATIENCE, &format!("the card says `{text}`"), async || {
            let now = self.slack.message(channel, ts)?;
            (words(&now).contains(text) && buttons(&now).is_empty()).then_some(())
        })
        .await;
    }

    /// Waits until the bot says `text` in a thread.
    pub(crate) async fn thread_says(&self, root: &str, text: &str) {
        eventually(PATIENCE, &format!("the thread says `{text}`"), async || {
            let said = self.said_in(root);
            said.iter().any(|words| words.contains(text)).then_some(())
        })
        .await;
    }

    /// Waits until the one reaction of ours on a message is `name`.
    pub(crate) async fn is_marked(&self, message: &str, name: &str) {
        eventually(
            PATIENCE,
            &format!("the message is marked {name}"),
            async || (self.slack.reactions(CHANNEL, message) == [name]).then_some(()),
        )
        .await;
    }

    /// Waits until somebody alone is told `text`.
    pub(crate) async fn whispered(&self, user: &str, text: &str) {
        eventually(PATIENCE, &format!("{user} is told `{text}`"), async || {
            let whispers = self.slack.whispers(user);
            whispers
                .iter()
                .any(|it| words(it).contains(text))
                .then_some(())
        })
        .await;
    }

    /// Waits until the bot says `text` where only one person and it are.
    pub(crate) async fn told_directly(&self, direct: &str, text: &str) {
        eventually(
            PATIENCE,
            &format!("`{text}` is said directly"),
            async || {
                let said = self.slack.of_app(direct, None);
                said.iter().any(|it| words(it).contains(text)).then_some(())
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

    /// The content of the file in a thread.
    pub(crate) async fn file(&self, root: &str) -> String {
        let content = eventually(PATIENCE, "there is a file", async || {
            let messages = self.slack.of_app(CHANNEL, Some(root));
            messages.iter().find_map(|it| self.slack.files_of(it).pop())
        })
        .await;
        String::from_utf8(content).expect("it is text")
    }
}

/// What a card is answered by in words.
pub(crate) fn token(card: &Value) -> String {
    let words = words(card);
    let (_, rest) = words
        .split_once("!allow ")
        .expect("it says how it is answered");
    rest.chars().take(8).collect()
}

/// As Slack notes what people write.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
