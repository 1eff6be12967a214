//! The same on `telegram-test-api`, which other people wrote: Alice alone with the bot.

use countersign_testkit::test_server::{Bridging, Engine, PATIENCE, Setup};
use countersign_testkit::{
    HttpFault, HttpFaults, StubModel, TelegramEmulator, TestServer, eventually,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::stage::{ALICE, BINARY, MALLORY, demo_agent};

struct Emulated {
    server: TestServer,
    emulator: TelegramEmulator,
    faults: HttpFaults,
    _secrets: TempDir,
}

impl Emulated {
    async fn start(setup: Setup, agents: &str, engine: &str) -> Self {
        let emulator = TelegramEmulator::start().await;
        let faults = HttpFaults::start(&emulator.url());
        let bridging = Bridging {
            platform: "telegram",
            url: &faults.url(),
            token: TelegramEmulator::TOKEN,
            approver: &ALICE.to_string(),
            talker: &MALLORY.to_string(),
            channel: "-1001",
            lines: &format!("engine = '{engine}'\n"),
        };
        let (setup, secrets) = setup.bridged(agents, &bridging);
        let stage = Self {
            server: setup.start().await,
            emulator,
            faults,
            _secrets: secrets,
        };
        // What is said before the bridge follows for the first time is nobody's wish: asks until it is told.
        let mut next = 0;
        eventually(PATIENCE, "the bridge follows", async || {
            if next % 20 == 0 {
                stage.emulator.say(MALLORY, "/status").await;
            }
            next += 1;
            let told = stage.emulator.said_to(MALLORY).await;
            (!told.is_empty()).then_some(())
        })
        .await;
        stage
    }

    /// Waits for what the bot says to Alice for which this holds, as it is now.
    async fn said(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        eventually(PATIENCE, what, async || {
            let said = self.emulator.said_to(ALICE).await;
            said.into_iter().find(|said| is_it(&said["message"]))
        })
        .await
    }

    /// Alice has something run, Mallory may not allow it, Alice does, and sees what came of it.
    async fn has_run(&self, prompt: &str, file: &str, shown: &str) {
        let is_there = || self.server.workspace().join(file).exists();
        self.emulator.say(ALICE, prompt).await;
        let card = self
            .said("a card comes", |message| {
                has(message, file) && buttons(message) > 0
            })
            .await;
        let keyboard = &card["message"]["reply_markup"]["inline_keyboard"];
        let yes = keyboard[0][0]["callback_data"].as_str().expect("a payload");

        // The emulator does not tell what a press was answered with: it is seen to be answered, and to be refused.
        let seen = [HttpFault::Broken];
        self.faults.plan("POST", "/answerCallbackQuery", seen);
        self.emulator.press(MALLORY, &card, yes).await;
        eventually(PATIENCE, "Mallory's press is answered", async || {
            (self.faults.met() == 1).then_some(())
        })
        .await;
        let asks = self.server.api().open_asks().await;
        assert_eq!((asks.len(), is_there()), (1, false), "{asks:?}");

        self.emulator.press(ALICE, &card, yes).await;
        eventually(PATIENCE, "the tool runs", async || is_there().then_some(())).await;
        let id = &card["messageId"];
        eventually(PATIENCE, "the card says so", async || {
            let said = self.emulator.said_to(ALICE).await;
            let now = said.iter().find(|said| said["messageId"] == *id)?;
            let is_said = has(&now["message"], "by alice on Telegram. Delivered.");
            (is_said && buttons(&now["message"]) == 0).then_some(())
        })
        .await;
        self.said("the result comes", |message| {
            has(message, shown) && !has(message, "✋")
        })
        .await;
        assert!(!self.server.log().contains(TelegramEmulator::TOKEN));
    }
}

fn has(message: &Value, text: &str) -> bool {
    message["text"]
        .as_str()
        .is_some_and(|words| words.contains(text))
}

fn buttons(message: &Value) -> usize {
    let rows = message["reply_markup"]["inline_keyboard"].as_array();
    rows.map_or(0, Vec::len)
}

#[tokio::test]
async fn an_acp_agent_is_asked_answered_and_heard_on_the_emulator() {
    let setup = Setup::new(BINARY, Engine::None);
    let stage = Emulated::start(setup, &demo_agent(), "mine").await;
    stage
        .has_run("RUN touch made && echo it-is-$((3 + 4))", "made", "it-is-7")
        .await;
}

#[tokio::test]
async fn a_real_opencode_is_asked_answered_and_heard_on_the_emulator() {
    let model = StubModel::start().await;
    let engine = Engine::Real {
        model: model.base_url(),
    };
    let stage = Emulated::start(Setup::new(BINARY, engine), "", "opencode").await;
    stage.server.api().wait_for_engine().await;
    stage
        .has_run(
            "TOOL bash: touch once.txt && echo made-it",
            "once.txt",
            "made-it",
        )
        .await;
}
