//! Every request for leave that real agents were recorded with gets a reply that the official schema allows,
//! and so is every other message that we write.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use countersign_core::ask::{Shown, Subject};
use countersign_core::settings::SettingValue;
use countersign_engine::acp::agents::{Agent, known_agents};
use countersign_engine::acp::ask::permission_ask;
use countersign_engine::acp::initialize::{self, Files, HostAbilities, Offer, Questions, Shape};
use countersign_engine::acp::lines::{LineReader, Piece};
use countersign_engine::acp::message::{self, Incoming, RpcError, RpcId};
use countersign_engine::acp::reply::{Answer, Reply, choose};
use countersign_engine::acp::session::{self, Place, PromptPart};
use countersign_engine::acp::tool_call::ToolCalls;
use countersign_engine::acp::update::{self, Update};
use countersign_engine::acp::{elicitation, lines};
use countersign_engine::ask::{EngineAsk, PersonNeeded};
use serde_json::{Value, json};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp")
}

/// The official schema: of whole messages, and of what goes with each method.
struct Schema {
    whole: jsonschema::Validator,
    definitions: BTreeMap<String, jsonschema::Validator>,
}

impl Schema {
    fn read() -> Self {
        let text = std::fs::read_to_string(data().join("schema/schema.json"))
            .expect("the schema is there");
        let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
        let wanted = [
            "RequestPermissionResponse",
            "CreateElicitationResponse",
            "CancelNotification",
        ];
        let definitions = schema["$defs"]
            .as_object()
            .expect("the schema has definitions")
            .iter()
            .filter(|(name, definition)| {
                let to_agent = definition["x-side"] == "agent" && name.ends_with("Request");
                to_agent || wanted.contains(&name.as_str())
            })
            .map(|(name, _)| {
                let part = json!({
                    "$schema": schema["$schema"], "$ref": format!("#/$defs/{name}"), "$defs": schema["$defs"],
                });
                (name.clone(), jsonschema::validator_for(&part).expect("a definition is a schema"))
            })
            .collect();
        Self {
            whole: jsonschema::validator_for(&schema).expect("the schema is one"),
            definitions,
        }
    }

    /// Checks a line of ours, and returns what goes with it.
    fn check(&self, definition: &str, line: &[u8]) -> Value {
        let (end, text) = line.split_last().expect("a line ends");
        assert_eq!(*end, b'\n');
        assert!(!text.contains(&b'\n'));
        let message: Value = serde_json::from_slice(text).expect("a line is JSON");
        self.whole
            .validate(&message)
            .unwrap_or_else(|error| panic!("{message}: {error}"));
        let held = message.get("params").unwrap_or(&message["result"]).clone();
        self.definitions[definition]
            .validate(&held)
            .unwrap_or_else(|error| panic!("{held} is no {definition}: {error}"));
        held
    }
}

fn agent(name: &str) -> Agent {
    let mut agents = known_agents().into_iter();
    agents
        .find(|agent| agent.name == name)
        .expect("the agent is known")
}

/// Reads a transcript through the whole of the wire, and returns its asks with their ids.
fn asks(path: &Path, agent: &Agent) -> Vec<(RpcId, EngineAsk)> {
    let bytes = std::fs::read(path).expect("the transcript is there");
    let mut reader = LineReader::new(0);
    let mut calls = ToolCalls::default();
    let mut asks = vec![];
    for piece in reader.push(0, &bytes) {
        let Piece::Line(line) = piece else {
            panic!("{piece:?}");
        };
        match message::read(&line.text) {
            Incoming::Notification { params, .. } => {
                let told = update::read(&params);
                let Update::Tool(change) = told.update else {
                    panic!("{told:?}");
                };
                calls.take(change);
            }
            Incoming::Request { id, params, .. } => {
                let directory = Path::new("/srv/work");
                let ask = permission_ask(&id, &params, &mut calls, agent, directory)
                    .expect("a recorded request is an ask");
                asks.push((id, ask));
            }
            other @ (Incoming::Response { .. } | Incoming::Noise(_)) => panic!("{other:?}"),
        }
    }
    asks
}

fn recorded() -> Vec<(String, RpcId, EngineAsk)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(data().join("transcripts"))
        .expect("there are transcripts")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    paths.sort();
    let mut recorded = vec![];
    for path in paths {
        let file = path.file_name().and_then(OsStr::to_str).expect("a name");
        let (name, _) = file.split_once('.').expect("an agent's name");
        let name = name.to_owned();
        let asks = asks(&path, &agent(&name));
        assert!(!asks.is_empty(), "{file}");
        recorded.extend(asks.into_iter().map(|(id, ask)| (name.clone(), id, ask)));
    }
    recorded
}

#[test]
fn every_recorded_request_gets_a_reply_that_the_schema_allows() {
    let schema = Schema::read();
    let recorded = recorded();
    assert_eq!(recorded.len(), 67);
    for (name, id, ask) in &recorded {
        let told = |answer| {
            let line = choose(answer, &ask.options).line(id).unwrap();
            let reply: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(reply["id"].to_string(), ask.native_id);
            schema.check("RequestPermissionResponse", &line)["outcome"].clone()
        };
        let (once, always, no) = match name.as_str() {
            "claude" => ("allow-once", "allow-with-updates", "reject"),
            "codex" => ("allow_once", "accept_execpolicy_amendment", "cancel"),
            "gemini" => ("proceed_once", "proceed_always", "cancel"),
            "opencode" => ("once", "always", "reject"),
            other => panic!("nothing is known of {other}"),
        };
        let selected = |option: &str| json!({ "outcome": "selected", "optionId": option });
        assert_eq!(told(Answer::Allow), selected(once));
        assert_eq!(told(Answer::Deny), selected(no));
        assert_eq!(told(Answer::Unanswered), selected(no));
        assert_eq!(told(Answer::Option(always)), selected(always));
        assert_eq!(
            told(Answer::TurnCancelled),
            json!({ "outcome": "cancelled" })
        );
        assert!(matches!(
            choose(Answer::Option("allow-always"), &ask.options),
            Reply::NeedsPerson(_)
        ));
    }
}

#[test]
fn every_recorded_request_shows_its_command_and_rules_go_by_it_where_it_is_known() {
    const COMMAND: &str = "echo RAN > marker.txt";
    for (name, _, ask) in recorded() {
        let Subject::Permission {
            tool,
            targets,
            shown,
            ..
        } = &ask.subject
        else {
            panic!("{name}: {:?}", ask.subject);
        };
        assert!(ask.subject.summary().contains(COMMAND), "{name}: {shown:?}");
        if name == "gemini" {
            // It says what will run nowhere but in its title.
            assert_eq!(ask.person, Some(PersonNeeded::UnknownInput));
            assert!(targets.is_empty());
        } else {
            assert_eq!(ask.person, None, "{name}");
            assert_eq!(
                (tool.as_str(), targets.as_slice()),
                ("shell", &[COMMAND.to_owned()][..])
            );
            assert_eq!(
                shown[0],
                Shown::Command {
                    text: COMMAND.to_owned()
                }
            );
        }
    }
}

#[test]
fn the_schema_knows_a_wrong_reply() {
    let schema = Schema::read();
    for wrong in [
        json!({ "optionId": "allow_always" }),
        json!({}),
        json!({ "outcome": null }),
        json!({ "outcome": { "outcome": "selected" } }),
    ] {
        assert!(!schema.definitions["RequestPermissionResponse"].is_valid(&wrong));
    }
}

#[test]
fn everything_else_that_we_write_is_allowed_by_the_schema() {
    let schema = Schema::read();
    let all = HostAbilities {
        files: Files::ReadWrite,
        terminal: true,
        questions: Questions::FormsAndLinks,
    };
    for abilities in [HostAbilities::default(), all] {
        for offer in [Offer::One, Offer::Two] {
            let line = initialize::request("init", offer, abilities, "0.1.0");
            schema.check("InitializeRequest", &line);
        }
    }
    let place = Place {
        directory: "/srv/work".into(),
        additional: vec!["/srv/more".into()],
    };
    schema.check("NewSessionRequest", &session::new("n", &place));
    schema.check("LoadSessionRequest", &session::load("l", "s", &place));
    schema.check("ResumeSessionRequest", &session::resume("r", "s", &place));
    schema.check("CloseSessionRequest", &session::close("c", "s"));
    schema.check("CancelNotification", &session::cancel("s"));
    schema.check(
        "SetSessionModeRequest",
        &session::set_mode("m", "s", "plan"),
    );
    schema.check(
        "AuthenticateRequest",
        &session::sign_in("a", Shape::One, "api-key"),
    );
    for cursor in [None, Some("next")] {
        let line = session::list("l", Path::new("/srv/work"), cursor);
        schema.check("ListSessionsRequest", &line);
    }
    for setting in [
        SettingValue::Selected("plan".to_owned()),
        SettingValue::Boolean(true),
    ] {
        let line = session::set_option("o", Shape::One, "s", "mode", &setting);
        schema.check("SetSessionConfigOptionRequest", &line);
    }
    let text = |text: &str| text.to_owned();
    let parts = vec![
        PromptPart::Text(text("Look at this\nand that")),
        PromptPart::Image {
            base64: text("AAAA"),
            media_type: text("image/png"),
        },
        PromptPart::Link {
            name: text("a.rs"),
            uri: text("file:///srv/work/a.rs"),
        },
        PromptPart::EmbeddedText {
            uri: text("file:///b"),
            media_type: None,
            text: text("b"),
        },
        PromptPart::EmbeddedBytes {
            uri: text("file:///c"),
            media_type: Some(text("application/pdf")),
            base64: text("AAAA"),
        },
    ];
    let held = schema.check("PromptRequest", &session::prompt("turn_1", "s", parts));
    assert_eq!(held["prompt"].as_array().unwrap().len(), 5);
    let id = RpcId::from_text("\"x\"").unwrap();
    for line in [
        message::error(&id, RpcError::INTERNAL, "no"),
        message::unknown_method(&id, "craft/drainMidTurnQueue"),
    ] {
        let message: Value = serde_json::from_slice(&line).unwrap();
        assert!(schema.whole.is_valid(&message));
    }
}

#[test]
fn answers_to_forms_are_allowed_by_the_schema() {
    let schema = Schema::read();
    let id = RpcId::from_text("5").unwrap();
    let form = json!({
        "mode": "form", "sessionId": "s", "message": "?",
        "requestedSchema": { "type": "object", "properties": {
            "count": { "type": "integer" }, "fast": { "type": "boolean" },
            "parts": { "type": "array", "items": { "type": "string", "enum": ["a"] } },
            "ratio": { "type": "number" }, "way": { "type": "string" },
        } },
    });
    let choices: Vec<Vec<String>> = ["3", "yes", "a", "0.5", "any"]
        .iter()
        .map(|text| vec![(*text).to_owned()])
        .collect();
    for said in [
        elicitation::Said::Choices(&choices),
        elicitation::Said::Declined,
        elicitation::Said::Nothing,
    ] {
        let line = elicitation::line(&id, &form, said).unwrap();
        schema.check("CreateElicitationResponse", &line);
    }
}

#[test]
fn a_line_may_be_as_long_as_the_limit_says() {
    let mut reader = LineReader::new(0);
    let mut offset = 0;
    let mut found = vec![];
    let chunk = vec![b'x'; 64 * 1024];
    while offset < 2 * lines::LINE_LIMIT as u64 {
        found.extend(reader.push(offset, &chunk));
        offset += chunk.len() as u64;
    }
    assert!(found.is_empty());
    found.extend(reader.push(offset, b"\n{}\n"));
    assert_eq!(found.len(), 2);
    assert!(matches!(found[0], Piece::TooLong { start: 0, end } if end == offset + 1));
}
