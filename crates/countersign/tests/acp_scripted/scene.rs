//! A server with the scripted agent, and the lines that its scripts are made of.

use std::path::PathBuf;
use std::time::Duration;

use countersign_testkit::scripted_agent::Manner;
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually, peers};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What the agent is called.
pub(crate) const AGENT: &str = "scripted";
/// More than fits between the keeper and an agent that does not read: what is written behind it waits.
pub(crate) const DAM: &str = "FILL 2000000";

/// A server with one session of the scripted agent.
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) session: String,
    tape: PathBuf,
    _kept: TempDir,
}

impl Scene {
    /// A session with an agent that does nothing unusual.
    pub(crate) async fn set() -> Self {
        Self::with(Manner::default(), "").await
    }

    /// A session with an agent of this manner; `settings` are more lines of the configuration.
    pub(crate) async fn with(manner: Manner, settings: &str) -> Self {
        let mut scene = Self::begin(manner, settings).await;
        scene.session = scene.server.api().start_session_with(AGENT).await;
        scene
    }

    /// A server with an agent of this manner, and no session yet.
    pub(crate) async fn without_session(manner: Manner) -> Self {
        Self::begin(manner, "").await
    }

    async fn begin(manner: Manner, settings: &str) -> Self {
        let kept = tempfile::tempdir().expect("a directory can be made");
        let tape = kept.path().join("tape.jsonl");
        let protocol = if manner.is_two { "two" } else { "one" };
        let manner = Manner {
            tape: Some(tape.clone()),
            ..manner
        };
        let setup = Setup {
            engine_settings: format!(
                "[[agents]]\nname = '{AGENT}'\ncommand = '{}'\nargs = {:?}\nprotocol = '{protocol}'\n{settings}",
                peers::scripted_agent().display(),
                manner.arguments(),
            ),
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        };
        Self {
            server: setup.start().await,
            session: String::new(),
            tape,
            _kept: kept,
        }
    }

    /// Waits until an agent runs.
    pub(crate) async fn an_agent_is_there(&self) {
        eventually(PATIENCE, "the agent runs", async || {
            (!self.server.agents().is_empty()).then_some(())
        })
        .await;
    }

    /// Waits until no agent runs.
    pub(crate) async fn no_agent_is_left(&self) {
        eventually(PATIENCE, "the agent has ended", async || {
            self.server.agents().is_empty().then_some(())
        })
        .await;
    }

    /// Has the agent do these steps in a turn.
    pub(crate) async fn play(&self, steps: &[&str]) {
        let script = steps.join("\n");
        self.server.api().prompt(&self.session, &script).await;
    }

    /// Makes the file that a script waits for.
    pub(crate) fn go(&self, name: &str) {
        std::fs::write(self.server.workspace().join(name), "").expect("it can be written");
    }

    /// Waits until a command is asked for.
    pub(crate) async fn asked(&self, command: &str) -> Value {
        let description = format!("`{command}` is asked for");
        let wanted = |ask: &Value| ask["session"] == *self.session && ask["summary"] == command;
        self.server.api().wait_for_ask(&description, wanted).await
    }

    /// Answers, and panics unless it is accepted.
    pub(crate) async fn answer(&self, ask: &Value, answer: &Value) {
        self.server.api().answer(id(ask), answer).await.expect(200);
    }

    pub(crate) async fn allow(&self, ask: &Value) {
        self.answer(ask, &json!({ "answer": "allow_once" })).await;
    }

    pub(crate) async fn deny(&self, ask: &Value) {
        self.answer(ask, &json!({ "answer": "deny" })).await;
    }

    pub(crate) async fn cancel(&self) {
        let path = format!("/api/v1/sessions/{}/cancel", self.session);
        self.server.api().post(&path, &json!({})).await.expect(200);
    }

    /// Makes a rule about a command.
    pub(crate) async fn rule(&self, command: &str, verdict: &str) {
        let rule = json!({
            "tool": "shell", "verdict": verdict, "match": "exact", "targets": [command],
        });
        self.server
            .api()
            .post("/api/v1/rules", &rule)
            .await
            .expect(201);
    }

    /// Waits until an ask is over.
    pub(crate) async fn settled(&self, ask: &Value) -> Value {
        self.server.api().settled(id(ask)).await
    }

    /// Waits until the newest turn has ended, and returns how.
    pub(crate) async fn outcome(&self) -> String {
        let ended = self.server.api().turn_outcome(&self.session).await;
        ended["outcome"].as_str().expect("it is a word").to_owned()
    }

    /// Waits for the newest turn of an agent that is waited for itself.
    pub(crate) async fn outcome_later(&self) -> Value {
        self.outcome_within(3 * PATIENCE, "").await
    }

    /// Waits until the turn that began with `words` has ended, and returns how.
    pub(crate) async fn outcome_of(&self, words: &str) -> Value {
        self.outcome_within(PATIENCE, words).await
    }

    async fn outcome_within(&self, limit: Duration, words: &str) -> Value {
        eventually(limit, "the turn ends", async || {
            let turn = self.server.api().session(&self.session).await["turn"].clone();
            let is_it = turn["prompt"].as_str()?.contains(words);
            (is_it && !turn["outcome"].is_null()).then(|| turn["outcome"].clone())
        })
        .await
    }

    /// Kills the server alone, and starts the next one.
    pub(crate) async fn next_server(&mut self) {
        self.server.kill();
        self.server.restart().await;
    }

    /// All that the agent was told, in order.
    pub(crate) fn told(&self) -> Vec<Value> {
        let tape = std::fs::read_to_string(&self.tape).unwrap_or_default();
        let lines = tape.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("each line is a message"))
            .collect()
    }

    /// What the agent was told about one of its requests, each time.
    pub(crate) fn replies(&self, request: &Value) -> Vec<Value> {
        let is_reply = |message: &Value| message.get("method").is_none();
        let told = self.told().into_iter();
        told.filter(|message| is_reply(message) && message["id"] == *request)
            .collect()
    }

    /// The option that was picked for each reply to a request; `cancelled` for what has none.
    pub(crate) fn picked(&self, request: &Value) -> Vec<String> {
        let replies = self.replies(request).into_iter();
        replies
            .map(|reply| {
                let outcome = &reply["result"]["outcome"];
                let word = outcome["optionId"].as_str().or(outcome["outcome"].as_str());
                word.unwrap_or("nothing").to_owned()
            })
            .collect()
    }

    /// How often the agent was told something of this method.
    pub(crate) fn count(&self, method: &str) -> usize {
        let told = self.told().into_iter();
        told.filter(|message| message["method"] == method).count()
    }

    /// What was said to the agent, turn by turn.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let told = self.told().into_iter();
        told.filter(|message| message["method"] == "session/prompt")
            .map(|message| {
                let text = message["params"]["prompt"][0]["text"].as_str();
                text.unwrap_or_default().to_owned()
            })
            .collect()
    }

    /// The items of the transcript that are of a kind.
    pub(crate) async fn items(&self, kind: &str) -> Vec<Value> {
        let items = self.server.api().items(&self.session).await.into_iter();
        items.filter(|item| item["kind"] == kind).collect()
    }
}

pub(crate) fn id(ask: &Value) -> &str {
    ask["id"].as_str().expect("it has an id")
}

fn update(update: &Value) -> String {
    let params = json!({ "sessionId": "$SESSION", "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
}

/// A tool call that runs a command, as it is announced.
pub(crate) fn call(call: &str, command: &str) -> String {
    update(&json!({
        "sessionUpdate": "tool_call",
        "toolCallId": call,
        "title": command,
        "kind": "execute",
        "status": "pending",
        "rawInput": { "command": command, "cwd": "$CWD" },
    }))
}

/// News about a tool call: it will run another command.
pub(crate) fn change(call: &str, command: &str) -> String {
    update(&json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call,
        "rawInput": { "command": command, "cwd": "$CWD" },
    }))
}

/// News about a tool call: how it stands.
pub(crate) fn change_status(call: &str, status: &str) -> String {
    update(&json!({
        "sessionUpdate": "tool_call_update", "toolCallId": call, "status": status,
    }))
}

/// What an agent of version 2 says about itself.
pub(crate) fn state(state: &Value) -> String {
    let mut said = json!({ "sessionUpdate": "state_update" });
    if let (Some(said), Some(state)) = (said.as_object_mut(), state.as_object()) {
        said.extend(state.clone());
    }
    update(&said)
}

/// A request with an id, which is JSON.
pub(crate) fn request(id: &str, method: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A request for leave to run a command in the tool call `call`; `id` is JSON.
pub(crate) fn ask(id: &str, call: &str, command: &str) -> String {
    let option =
        |id: &str, kind: &str| json!({ "optionId": id, "name": format!("Say {id}"), "kind": kind });
    let options = json!([
        option("yes", "allow_once"),
        option("always", "allow_always"),
        option("no", "reject_once"),
    ]);
    let call = json!({
        "toolCallId": call,
        "title": command,
        "kind": "execute",
        "status": "pending",
        "rawInput": { "command": command, "cwd": "$CWD" },
    });
    let params = json!({ "sessionId": "$SESSION", "toolCall": call, "options": options });
    request(id, "session/request_permission", &params)
}
