//! `@opencode-ai/sdk` on Node.js, called from here: `client.mjs` does with it what it is told.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::ChildStdin;

use countersign_testkit::process::Launch;
use countersign_testkit::test_server::PATIENCE;
use countersign_testkit::{Program, peers};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::stage::{Stage, text};

/// A program that uses the SDK. Dropping it kills it.
pub(crate) struct Sdk {
    program: Program,
    orders: ChildStdin,
    told: mpsc::Receiver<Value>,
    /// Events that came while something else was waited for.
    events: VecDeque<Value>,
    next: u64,
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: u64,
    pub(crate) body: Value,
}

impl Outcome {
    #[track_caller]
    pub(crate) fn good(self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        self.body
    }
}

impl Sdk {
    /// Starts the SDK in its present generation, for the opencode at `mount` of the stage's server.
    pub(crate) fn start(stage: &Stage, mount: &str, token: &str) -> Self {
        Self::start_module(&peers::opencode_sdk(), stage, mount, token)
    }

    /// Starts the SDK in the generation before, whose replies to asks take another path.
    pub(crate) fn start_former(stage: &Stage, mount: &str, token: &str) -> Self {
        Self::start_module(&peers::former_opencode_sdk(), stage, mount, token)
    }

    fn start_module(module: &Path, stage: &Stage, mount: &str, token: &str) -> Self {
        let url = format!("{}{mount}", stage.url());
        Self::launch(module, &stage.place("sdk.log"), &[&url], token)
    }

    /// Starts the SDK as programs do that say themselves which folder they mean.
    pub(crate) fn start_in(stage: &Stage, directory: &Path, token: &str) -> Self {
        let url = format!("{}/opencode", stage.url());
        let parameters = [&url, directory.to_str().unwrap()];
        Self::launch(
            &peers::opencode_sdk(),
            &stage.place("sdk.log"),
            &parameters,
            token,
        )
    }

    /// Starts it with an address, and perhaps a folder.
    pub(crate) fn launch(module: &Path, log: &Path, parameters: &[&str], token: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_openwork/client.mjs");
        let (program, orders, output) = Launch::new(peers::node(), log)
            .arguments([&script, module])
            .arguments(parameters)
            .variable("TOKEN", token)
            .start_piped()
            .unwrap();
        let (tell, told) = mpsc::channel(10_000);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let told = serde_json::from_str(&line).expect("each line is JSON");
                if tell.blocking_send(told).is_err() {
                    return;
                }
            }
        });
        Self {
            program,
            orders,
            told,
            events: VecDeque::new(),
            next: 0,
        }
    }

    /// Calls a method of the client, such as `session.create`.
    pub(crate) async fn call(&mut self, method: &str, parameters: Value) -> Outcome {
        let id = self.begin(method, &parameters);
        loop {
            let told = self.hear(method).await;
            if told["id"] == id {
                return Outcome {
                    status: told["status"].as_u64().unwrap(),
                    body: told["body"].clone(),
                };
            }
        }
    }

    /// Calls a method and does not wait for what it comes to.
    pub(crate) fn begin(&mut self, method: &str, parameters: &Value) -> u64 {
        self.next += 1;
        self.say(&json!({ "id": self.next, "call": method, "with": [parameters] }));
        self.next
    }

    /// Follows the engine's events, and waits until the engine says that the stream is open.
    pub(crate) async fn follow(&mut self) -> u64 {
        self.next += 1;
        let stream = self.next;
        self.say(&json!({ "follow": stream }));
        self.event("the stream is open", |event| {
            event["type"] == "server.connected"
        })
        .await;
        stream
    }

    /// Stops following.
    pub(crate) async fn leave(&mut self, stream: u64) {
        self.say(&json!({ "leave": stream }));
        self.event("the stream ends", |event| event["type"] == "ended")
            .await;
    }

    /// Waits for the next event for which `wanted` holds; those before it are forgotten.
    pub(crate) async fn event(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Some(event) = self.events.pop_front() else {
                self.hear(what).await;
                continue;
            };
            if wanted(&event) {
                return event;
            }
        }
    }

    /// Waits for the event of this type in a session, and returns what it says.
    pub(crate) async fn event_of(&mut self, kind: &str, session: &str) -> Value {
        let wanted =
            |event: &Value| event["type"] == kind && event["properties"]["sessionID"] == session;
        let event = self.event(kind, wanted).await;
        event["properties"].clone()
    }

    /// Creates a session and returns its id.
    pub(crate) async fn session(&mut self) -> String {
        let made = self.call("session.create", json!({ "title": "test" }));
        text(&made.await.good()["id"]).to_owned()
    }

    /// Says something in a session, and does not wait for what follows.
    pub(crate) async fn prompt(&mut self, session: &str, words: &str) {
        let parts = json!([{ "type": "text", "text": words }]);
        let prompt = json!({ "sessionID": session, "parts": parts });
        self.call("session.promptAsync", prompt).await.good();
    }

    /// Goes away without a word, as a machine that loses its power.
    pub(crate) fn vanish(mut self) {
        self.program.kill();
    }

    fn say(&mut self, order: &Value) {
        writeln!(self.orders, "{order}").unwrap();
    }

    /// Waits for one more line; an event is kept as well.
    async fn hear(&mut self, what: &str) -> Value {
        let told = tokio::time::timeout(PATIENCE, self.told.recv()).await;
        let Ok(Some(told)) = told else {
            panic!("nothing more is told: {what}\n{}", self.program.output());
        };
        if told.get("event").is_some() {
            self.events.push_back(told["event"].clone());
        }
        told
    }
}
