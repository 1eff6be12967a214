//! Everything that the server says to an agent is in the protocol: what agents of several kinds were told is written
//! down on its way, line by line, and checked against the official schema.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use countersign_testkit::hostile_agent::Mode;
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{AcpSchema, TestServer, eventually, peers};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The agents that do something wrong, which is answered with an error or a refusal.
const WRONG: [Mode; 7] = [
    Mode::ForeignAsk,
    Mode::MalformedAsk,
    Mode::UnknownMethod,
    Mode::NullRequestId,
    Mode::OddElicitation,
    Mode::ReadOutside,
    Mode::UnknownTerminal,
];

/// What agents are told here, each in a word.
const WANTED: [&str; 21] = [
    "initialize",
    "session/new",
    "session/resume",
    "session/load",
    "session/prompt",
    "session/cancel",
    "session/request_permission: selected",
    "session/request_permission: cancelled",
    "session/request_permission: error",
    "elicitation/create: accept",
    "elicitation/create: decline",
    "elicitation/create: cancel",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/wait_for_exit",
    "terminal/output",
    "terminal/release",
    "fs/read_text_file: error",
    "terminal/kill: error",
    "craft/drain_queue: error",
];

/// What agents are offered.
const LITTLE: &str = "{ questions = 'forms' }";
const EVERYTHING: &str = "{ files = 'read_write', terminal = true, questions = 'forms_and_links' }";

/// A server whose agents are listened to.
struct Studio {
    server: TestServer,
    tapes: TempDir,
}

impl Studio {
    async fn open() -> Self {
        let tapes = tempfile::tempdir().expect("it can be read");
        let demo = format!("'{}' demo-agent", env!("CARGO_BIN_EXE_countersign"));
        // An agent that can only load.
        let loading = format!("{demo} | sed -u 's/\"resume\":{{}},//'");
        let mut agents = recorded("resuming", &demo, LITTLE, tapes.path());
        agents.push_str(&recorded("loading", &loading, LITTLE, tapes.path()));
        agents.push_str(&recorded("hosted", &demo, EVERYTHING, tapes.path()));
        let hostile = peers::hostile_agent();
        for mode in WRONG.map(Mode::name) {
            let program = format!("'{}' {mode}", hostile.display());
            agents.push_str(&recorded(&mode, &program, LITTLE, tapes.path()));
        }
        let setup = Setup {
            engine_settings: agents,
            files: vec![("README.md".to_owned(), "Read me.\n".to_owned())],
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        };
        let server = setup.start().await;
        Self { server, tapes }
    }

    async fn ask(&self, session: &str, prompt: &str) -> String {
        self.server.api().prompt(session, prompt).await;
        let ask = self.server.api().wait_for_ask_of(session).await;
        ask["id"].as_str().expect("it is a text").to_owned()
    }

    async fn answer(&self, session: &str, prompt: &str, answer: Value) {
        let ask = self.ask(session, prompt).await;
        self.server.api().answer(&ask, &answer).await.expect(200);
        self.server.api().settled(&ask).await;
        self.comes_to_rest(session).await;
    }

    async fn cancel(&self, session: &str, prompt: &str) {
        let ask = self.ask(session, prompt).await;
        let path = format!("/api/v1/sessions/{session}/cancel");
        self.server.api().post(&path, &json!({})).await.expect(200);
        self.server.api().settled(&ask).await;
        self.comes_to_rest(session).await;
    }

    /// Says no to whatever is asked until the turn is over.
    async fn comes_to_rest(&self, session: &str) {
        eventually(PATIENCE, "the turn ends", async || {
            let api = self.server.api();
            let open = api.open_asks().await;
            if let Some(ask) = open.iter().find(|ask| ask["session"] == session) {
                let id = ask["id"].as_str().expect("it is a text");
                api.answer(id, &json!({ "answer": "deny" })).await;
            }
            let turn = api.session(session).await["turn"].clone();
            (!turn["outcome"].is_null()).then_some(())
        })
        .await;
    }

    /// Everything that agents were told, each line with the method of the request that it answers.
    fn tapes(&self) -> Vec<(Value, Option<String>)> {
        let mut told = Vec::new();
        for to_agent in files(self.tapes.path()) {
            let Some(name) = to_agent
                .to_str()
                .expect("it can be read")
                .strip_suffix(".to-agent")
            else {
                continue;
            };
            let said =
                std::fs::read_to_string(format!("{name}.to-server")).expect("it can be read");
            let messages = said
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok());
            let asked: HashMap<String, String> = messages
                .filter_map(|message: Value| {
                    let method = message["method"].as_str()?.to_owned();
                    Some((message.get("id")?.to_string(), method))
                })
                .collect();
            let lines = std::fs::read_to_string(&to_agent).expect("it can be read");
            // The last line may just be coming.
            for line in lines.split_inclusive('\n').filter(|it| it.ends_with('\n')) {
                let message: Value = serde_json::from_str(line).expect("each line is a message");
                let answers = match message.get("method") {
                    Some(_) => None,
                    None => asked.get(&message["id"].to_string()).cloned(),
                };
                told.push((message, answers));
            }
        }
        told
    }
}

/// The settings of an agent whose every life writes down both directions in files of its own.
fn recorded(name: &str, program: &str, capabilities: &str, tapes: &Path) -> String {
    let tape = format!("{}/{name}-$$", tapes.display());
    let script = format!("tee {tape}.to-agent | {program} | tee {tape}.to-server");
    format!(
        "[[agents]]\nname = '{name}'\ncommand = '/bin/sh'\nargs = ['-c', {}]\n\
         capabilities = {capabilities}\n",
        json!(script)
    )
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory).expect("it can be read");
    files
        .map(|file| file.expect("it can be read").path())
        .collect()
}

/// What a message is, in a word.
fn describe(message: &Value, answers: Option<&str>) -> String {
    let method = message["method"].as_str().or(answers).unwrap_or_default();
    let outcome = &message["result"]["outcome"]["outcome"];
    let word = outcome.as_str().or(message["result"]["action"].as_str());
    match word {
        Some(word) => format!("{method}: {word}"),
        None if message.get("error").is_some() => format!("{method}: error"),
        None => method.to_owned(),
    }
}

#[tokio::test]
async fn everything_that_agents_are_told_is_in_the_protocol() {
    let mut studio = Studio::open().await;
    for engine in ["resuming", "loading"] {
        let session = &studio.server.api().start_session_with(engine).await;
        let allow = json!({ "answer": "allow_once" });
        studio.answer(session, "RUN true", allow).await;
        let deny = json!({ "answer": "deny", "reason": "no \"reason\"\u{2028} at all" });
        studio.answer(session, "RUN false", deny).await;
        let option = json!({ "answer": "option", "option": "allow-for-session" });
        studio.answer(session, "RUN echo", option).await;
        let red = json!({ "answer": "choices", "choices": [["red"]] });
        studio.answer(session, "ASK Which? | red | blue", red).await;
        let no = json!({ "answer": "deny" });
        studio.answer(session, "ASK Which? | red | blue", no).await;
        studio.cancel(session, "ASK Which? | red | blue").await;
        studio.cancel(session, "EDIT a.txt b").await;
        let lost = studio.ask(session, "EDIT a.txt b").await;
        for agent in studio.server.agents() {
            agent.kill();
        }
        studio.server.api().settled(&lost).await;
        studio.comes_to_rest(session).await;
        studio
            .answer(session, "EDIT a.txt b", json!({ "answer": "deny" }))
            .await;
    }
    let session = &studio.server.api().start_session_with("hosted").await;
    for prompt in ["RUN true", "RUN false", "EDIT b.txt c"] {
        let allow = json!({ "answer": "allow_once" });
        studio.answer(session, prompt, allow).await;
    }
    let no = json!({ "answer": "deny" });
    studio.answer(session, "look around", no).await;
    for mode in WRONG.map(Mode::name) {
        let session = &studio.server.api().start_session_with(&mode).await;
        studio.server.api().prompt(session, "go").await;
        studio.comes_to_rest(session).await;
    }
    // An agent that ends its turn before its requests are answered is answered all the same.
    eventually(
        PATIENCE,
        "agents are told all kinds of things",
        async || {
            let seen: BTreeSet<String> = studio
                .tapes()
                .iter()
                .map(|(message, answers)| describe(message, answers.as_deref()))
                .collect();
            WANTED.iter().all(|it| seen.contains(*it)).then_some(())
        },
    )
    .await;
    studio.server.stop().await;

    let schema = AcpSchema::official();
    for (message, answers) in studio.tapes() {
        schema.check(&message, answers.as_deref());
    }
}
