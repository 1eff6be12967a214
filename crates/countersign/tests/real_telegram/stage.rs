//! A Telegram with a group, and a server whose bridge is in it.

use countersign_testkit::telegram::{BOT_NAME, Group, SaidByBot, TOKEN};
use countersign_testkit::test_server::{Bridging, Engine, PATIENCE, Setup};
use countersign_testkit::{FakeTelegram, HttpFaults, TestServer, eventually};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
pub(crate) const CHAT: i64 = -1_001_234;
pub(crate) const ALICE: i64 = 7;
pub(crate) const MALLORY: i64 = 8;

/// Everything that is there. Alice may answer, Mallory may talk and not answer.
pub(crate) struct Stage {
    pub(crate) server: TestServer,
    pub(crate) fake: FakeTelegram,
    /// What stands between the two.
    pub(crate) faults: HttpFaults,
    _secrets: TempDir,
}

/// The demo agent, as the configuration names it.
pub(crate) fn demo_agent() -> String {
    format!("[[agents]]\nname = 'mine'\ncommand = '{BINARY}'\nargs = ['demo-agent']\n")
}

impl Stage {
    /// With the demo agent; `channel` are more lines for the channel.
    pub(crate) async fn demo(kind: Group, channel: &str) -> Self {
        let channel = format!("engine = 'mine'\n{channel}");
        let setup = Setup::new(BINARY, Engine::None);
        Self::with(kind, setup, &demo_agent(), &channel).await
    }

    pub(crate) async fn with(kind: Group, setup: Setup, agents: &str, channel: &str) -> Self {
        let fake = FakeTelegram::start();
        fake.user(ALICE, "Alice");
        fake.user(MALLORY, "Mallory");
        fake.group(CHAT, kind);
        let faults = HttpFaults::start(&fake.url());
        let bridging = Bridging {
            platform: "telegram",
            url: &faults.url(),
            token: TOKEN,
            approver: &ALICE.to_string(),
            talker: &MALLORY.to_string(),
            channel: &CHAT.to_string(),
            lines: channel,
        };
        let (setup, secrets) = setup.bridged(agents, &bridging);
        let stage = Self {
            server: setup.start().await,
            fake,
            faults,
            _secrets: secrets,
        };
        // What is said before the bridge follows for the first time is nobody's wish.
        eventually(PATIENCE, "the bridge follows", async || {
            stage.fake.is_followed().then_some(())
        })
        .await;
        stage
    }

    /// Says something to the bot in the group, and returns what it is called.
    pub(crate) fn mention(&self, who: i64, text: &str) -> i64 {
        let text = format!("@{BOT_NAME} {text}");
        self.fake.say(who, CHAT, None, &text)
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

    fn in_thread(&self, thread: &str) -> Vec<SaidByBot> {
        let said = self.fake.said(CHAT).into_iter();
        let here = said.filter(|said| said.thread.as_deref() == Some(thread));
        here.collect()
    }

    /// The words of the bot in a thread, each message as it is now.
    pub(crate) fn said_in(&self, thread: &str) -> Vec<String> {
        let said = self.in_thread(thread).into_iter();
        said.map(|said| said.words).collect()
    }

    /// Waits for the card that shows `text`, wherever it is.
    pub(crate) async fn card(&self, text: &str) -> SaidByBot {
        eventually(PATIENCE, &format!("a card shows `{text}`"), async || {
            let mut said = self.fake.said(CHAT).into_iter();
            said.find(|said| said.words.contains(text) && !said.buttons.is_empty())
        })
        .await
    }

    /// Somebody presses the button with this label.
    pub(crate) fn press(&self, who: i64, card: &SaidByBot, label: &str) {
        let button = card.buttons.iter().find(|(found, _)| found == label);
        let (_, payload) = button.unwrap_or_else(|| panic!("no option `{label}`: {card:?}"));
        self.fake.press(who, CHAT, card.id, payload);
    }

    /// Waits until a card says `text` and has no buttons any more.
    pub(crate) async fn card_says(&self, card: &SaidByBot, text: &str) {
        eventually(PATIENCE, &format!("the card says `{text}`"), async || {
            let mut said = self.fake.said(CHAT).into_iter();
            let now = said.find(|said| said.id == card.id)?;
            (now.words.contains(text) && now.buttons.is_empty()).then_some(())
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

    /// Waits until somebody alone is told so, and has to close it.
    pub(crate) async fn whispered(&self, who: i64, text: &str) {
        eventually(PATIENCE, &format!("{who} is told `{text}`"), async || {
            let alerts = self.fake.alerts();
            let told = |it: &countersign_testkit::telegram::Alert| {
                it.user == who && it.is_alert && it.text.contains(text)
            };
            alerts.iter().any(told).then_some(())
        })
        .await;
    }

    /// Waits until the one reaction of ours on a message is `sign`.
    pub(crate) async fn is_marked(&self, message: i64, sign: &str) {
        let what = format!("the message is marked {sign}");
        eventually(PATIENCE, &what, async || {
            (self.fake.reactions(CHAT, message) == [sign]).then_some(())
        })
        .await;
    }

    /// The one ask that is open.
    pub(crate) async fn open_ask(&self) -> Value {
        let asks = self.server.api().open_asks().await;
        assert_eq!(asks.len(), 1, "{asks:?}");
        asks[0].clone()
    }

    /// What has to hold at the end of every story.
    pub(crate) fn assert_well_behaved(&self) {
        self.fake.assert_well_called();
        let log = self.server.log();
        assert!(!log.contains(TOKEN), "the token is in no log");
    }
}

/// The thread of the replies to a message.
pub(crate) fn replies(message: i64) -> String {
    format!("reply:{message}")
}
