//! Every request for leave that real agents were recorded with goes the whole way: through the agent's process, the
//! keeper, the ledger and the HTTP API, and what the agent is told for it is in the protocol and what was answered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use countersign_testkit::scripted_agent::Manner;
use countersign_testkit::test_server::{Engine, Setup};
use countersign_testkit::{AcpSchema, TestServer, peers};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How many recordings are played at once.
const AT_ONCE: usize = 4;

/// What an agent wrote while it asked.
struct Recording {
    /// The engine that stands for the agent.
    engine: String,
    file: String,
    script: String,
    asks: usize,
}

impl Recording {
    fn read(path: &Path) -> Self {
        let file = path.file_name().and_then(|name| name.to_str());
        let file = file.expect("it has a name").to_owned();
        let (agent, _) = file.split_once('.').expect("it begins with an agent");
        let engine = match agent {
            "opencode" => "opencode-acp",
            other => other,
        };
        let text = std::fs::read_to_string(path).expect("it can be read");
        let mut steps = Vec::new();
        let mut ids = BTreeSet::new();
        for line in text.lines() {
            let message: Value = serde_json::from_str(line).expect("each line is a message");
            let session = message["params"]["sessionId"].as_str();
            let session = session.expect("each is about a session");
            let mut line = line
                .replace(session, "$SESSION")
                .replace("/srv/work", "$CWD");
            if let Some(id) = message.get("id") {
                let mut id = id.to_string();
                if !ids.insert(id.clone()) {
                    // It is of another life of the agent, which counts anew.
                    let other = format!("\"again-{id}\"");
                    let (before, after) = (format!("\"id\":{id},"), format!("\"id\":{other},"));
                    line = line.replacen(&before, &after, 1);
                    ids.insert(other.clone());
                    id = other;
                }
                steps.extend([line, format!("AWAIT REPLY {id}")]);
            } else {
                steps.push(line);
            }
        }
        Self {
            engine: engine.to_owned(),
            script: steps.join("\n"),
            file,
            asks: ids.len(),
        }
    }

    /// All of them; those of the draft of version 2, or the others.
    fn all(is_two: bool) -> Vec<Self> {
        let directory =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/acp/transcripts");
        let files = std::fs::read_dir(directory).expect("there are recordings");
        let mut paths: Vec<PathBuf> = files
            .map(|file| file.expect("it can be read").path())
            .filter(|path| path.to_string_lossy().ends_with(".v2.jsonl") == is_two)
            .collect();
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }
}

/// What somebody says to an ask, and what the agent is to be told for it.
#[derive(Debug, Clone, Copy)]
enum Said {
    Once,
    No,
    Always,
    Nothing,
}

impl Said {
    fn of(number: usize) -> Self {
        [Self::Once, Self::No, Self::Always, Self::Nothing][number % 4]
    }

    /// The kind of option that is meant.
    fn kind(self) -> Option<&'static str> {
        match self {
            Self::Once => Some("allow_once"),
            Self::No => Some("deny"),
            Self::Always => Some("allow_always"),
            Self::Nothing => None,
        }
    }
}

/// A server whose agents are the scripted one, by the names of real ones.
struct Stage {
    server: TestServer,
    tapes: TempDir,
}

impl Stage {
    async fn set(is_two: bool) -> Self {
        let tapes = tempfile::tempdir().expect("a directory can be made");
        let program = peers::scripted_agent();
        let manner = Manner {
            is_two,
            tape: Some(tapes.path().to_owned()),
            ..Manner::default()
        };
        let protocol = if is_two { "two" } else { "one" };
        let agents = ["claude", "codex", "gemini", "opencode"].map(|name| {
            format!(
                "[[agents]]\nname = '{name}'\ncommand = '{}'\nargs = {:?}\nprotocol = '{protocol}'\n",
                program.display(),
                manner.arguments()
            )
        });
        let setup = Setup {
            engine_settings: agents.concat(),
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        };
        let server = setup.start().await;
        Self { server, tapes }
    }

    /// Plays a recording, in which everything is answered, and checks what the agent was told.
    async fn play(&self, number: usize, recording: &Recording, schema: &AcpSchema) {
        let api = self.server.api();
        let session = api.start_session_with(&recording.engine).await;
        api.prompt(&session, &recording.script).await;
        let mut expected = Vec::new();
        for ask in 0..recording.asks {
            let is_last = ask + 1 == recording.asks;
            // Nothing is asked any more once the turn is cancelled.
            let said = match Said::of(number + ask) {
                Said::Nothing if !is_last => Said::Once,
                said @ (Said::Once | Said::No | Said::Always | Said::Nothing) => said,
            };
            let asked = api.wait_for_ask_of(&session).await;
            expected.push(self.answer(&session, &asked, said).await);
        }
        api.turn_outcome(&session).await;
        let told = self.told(&session).await;
        let mut outcomes = Vec::new();
        for message in &told {
            let is_reply = message.get("method").is_none();
            schema.check(message, is_reply.then_some("session/request_permission"));
            if is_reply {
                outcomes.push(message["result"]["outcome"].clone());
            }
        }
        assert_eq!(outcomes, expected, "{}", recording.file);
    }

    /// Answers an ask, and returns the outcome that the agent is to be told.
    async fn answer(&self, session: &str, asked: &Value, said: Said) -> Value {
        let api = self.server.api();
        let id = asked["id"].as_str().expect("it has an id");
        let options = asked["options"].as_array().expect("it offers something");
        let option = options
            .iter()
            .find(|option| option["kind"].as_str() == said.kind());
        let option = option.map(|option| option["id"].as_str().expect("it has an id"));
        let answer = match said {
            Said::Once => json!({ "answer": "allow_once" }),
            Said::No => json!({ "answer": "deny" }),
            Said::Always => json!({ "answer": "option", "option": option }),
            Said::Nothing => {
                let path = format!("/api/v1/sessions/{session}/cancel");
                api.post(&path, &json!({})).await.expect(200);
                assert_eq!(api.settled(id).await["state"], "withdrawn");
                return json!({ "outcome": "cancelled" });
            }
        };
        api.answer(id, &answer).await.expect(200);
        assert_eq!(api.settled(id).await["state"], "delivered", "{asked}");
        json!({ "outcome": "selected", "optionId": option.expect("it offers that") })
    }

    /// What the agent of a session was told.
    async fn told(&self, session: &str) -> Vec<Value> {
        let session = self.server.api().session(session).await;
        let native = session["native_id"].as_str().expect("it has one");
        let tape = self.tapes.path().join(format!("{native}.jsonl"));
        let tape = std::fs::read_to_string(tape).expect("it can be read");
        let lines = tape.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("each line is a message"))
            .collect()
    }
}

async fn all_are_answered(is_two: bool, schema: &AcpSchema) -> usize {
    let mut stage = Stage::set(is_two).await;
    let recordings = Recording::all(is_two);
    let some = async |first: usize| {
        for number in (first..recordings.len()).step_by(AT_ONCE) {
            stage.play(number, &recordings[number], schema).await;
        }
    };
    tokio::join!(some(0), some(1), some(2), some(3));
    stage.server.stop().await;
    recordings.iter().map(|recording| recording.asks).sum()
}

#[tokio::test]
async fn every_recorded_ask_is_answered_in_the_protocols_own_words() {
    assert_eq!(all_are_answered(false, &AcpSchema::official()).await, 65);
}

#[tokio::test]
async fn real_recorded_asks_of_the_draft_are_answered_in_its_words() {
    assert_eq!(all_are_answered(true, &AcpSchema::draft()).await, 2);
}
