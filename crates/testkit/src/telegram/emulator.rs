//! `telegram-test-api`, an emulator of the Bot API that is not ours. It has messages, buttons and edits; no groups' topics,
//! no reactions, no files, and it holds no poll.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::Launch;
use crate::{Program, eventually, peers, ports};

/// How long it may take to start: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_mins(1);
/// What it is started with. What it knows is kept for longer than any test takes.
const SCRIPT: &str = "const TelegramServer = require(process.argv[1]); \
     new TelegramServer({ port: Number(process.argv[2]), host: '127.0.0.1', storeTimeout: 3600 }).start();";
/// A running emulator. Dropping it kills it.
#[derive(Debug)]
pub struct TelegramEmulator {
    _folder: TempDir,
    _program: Program,
    url: String,
    http: reqwest::Client,
}

impl TelegramEmulator {
    /// What the bot is let in with; any will do.
    pub const TOKEN: &str = "123456:emulated";
    /// What the bot is called.
    pub const BOT_NAME: &str = "TestNameBot";

    /// Starts one, and waits until it answers.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let port = ports::free();
        let module = peers::telegram_test_api();
        let started = Launch::new(peers::node(), folder.path().join("emulator.log"))
            .arguments(["-e", SCRIPT, &module.to_string_lossy(), &port.to_string()])
            .directory(folder.path())
            .start();
        let emulator = Self {
            _program: started.expect("the emulator can be started"),
            _folder: folder,
            url: format!("http://127.0.0.1:{port}"),
            http: crate::http::client(),
        };
        let me = format!("{}/bot{}/getMe", emulator.url, Self::TOKEN);
        eventually(PATIENCE, "the emulator answers", async || {
            let answer = emulator.http.get(&me).send().await.ok()?;
            answer.status().is_success().then_some(())
        })
        .await;
        emulator
    }

    /// Returns its address without a trailing slash.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let sent = self
            .http
            .post(format!("{}/{path}", self.url))
            .json(body)
            .send();
        let answer: Value = sent
            .await
            .expect("it answers")
            .json()
            .await
            .expect("in JSON");
        assert_eq!(answer["ok"], true, "{path}: {answer}");
        answer["result"].clone()
    }

    /// Somebody says something to the bot alone.
    pub async fn say(&self, user: i64, text: &str) {
        self.post("sendMessage", &said(user, text)).await;
    }

    /// Somebody presses a button with this payload, of a message of the bot.
    pub async fn press(&self, user: i64, message: &Value, payload: &str) {
        let mut query = said(user, "");
        query["message"] = json!({
            "message_id": message["messageId"], "chat": query["chat"], "date": 1, "text": message["message"]["text"],
        });
        query["data"] = json!(payload);
        self.post("sendCallback", &query).await;
    }

    /// What the bot said to somebody, each as it is now.
    pub async fn said_to(&self, user: i64) -> Vec<Value> {
        let history = self
            .post("getUpdatesHistory", &json!({"token": Self::TOKEN}))
            .await;
        let history = history.as_array().cloned().unwrap_or_default();
        let is_to_them = |row: &Value| row["message"]["chat_id"] == user;
        history.into_iter().filter(is_to_them).collect()
    }
}

fn said(user: i64, text: &str) -> Value {
    let name = format!("User{user}");
    json!({
        "botToken": TelegramEmulator::TOKEN, "date": 1, "text": text,
        "from": {"id": user, "first_name": name, "username": name, "is_bot": false},
        "chat": {"id": user, "first_name": name, "type": "private"},
    })
}
