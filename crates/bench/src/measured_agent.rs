//! An ACP agent that is nothing but quick: what stands between it and people is what is measured.
//!
//! `PREPARE <n>` has it make `n` pieces of news up, `TELL` has it tell them as fast as they are taken, and `ASK` has it ask
//! for leave and say when that was.
//! It never asks for anything that it would do.

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::clock;

/// The name that the agent goes by on a server.
pub(crate) const NAME: &str = "measured";
/// What the tool is called for which leave is asked, before the time of asking.
pub(crate) const ASKED_AT: &str = "asked-at-";

/// Of so many pieces of news in a row, one begins a tool call, two go on about it and one tells of memory; the others
/// are words. So it is in the turn of an agent that thinks aloud and uses a tool now and then.
const ROUND: usize = 200;

/// Answers until nobody asks any more.
pub(crate) fn run() -> ExitCode {
    let agent = MeasuredAgent {
        session: format!("measured-{}", std::process::id()),
        prepared: Vec::new(),
        asked_by: Value::Null,
    };
    match agent.converse() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

struct MeasuredAgent {
    session: String,
    /// What it will tell.
    prepared: Vec<u8>,
    /// The id of the prompt in which it asked.
    asked_by: Value,
}

impl MeasuredAgent {
    fn converse(mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for line in io::stdin().lock().lines() {
            let message: Value = serde_json::from_str(&line?)?;
            let id = message["id"].clone();
            let said = match message["method"].as_str() {
                Some("initialize") => {
                    let result = json!({ "protocolVersion": 1, "agentCapabilities": {} });
                    line_of(&response(&id, &result))
                }
                Some("session/new") => {
                    line_of(&response(&id, &json!({ "sessionId": self.session })))
                }
                Some("session/prompt") => {
                    let prompt = &message["params"]["prompt"][0]["text"];
                    let (told, rest) = self.prompted(prompt.as_str().unwrap_or_default(), &id);
                    out.write_all(&told)?;
                    rest
                }
                // The only thing that it asks for was answered.
                None => line_of(&ended(&self.asked_by)),
                Some(_) => continue,
            };
            out.write_all(&said)?;
            out.flush()?;
        }
        Ok(())
    }

    /// What a prompt has it say: what was prepared, and the rest.
    fn prompted(&mut self, prompt: &str, id: &Value) -> (Vec<u8>, Vec<u8>) {
        match prompt.split_once(' ').unwrap_or((prompt, "")) {
            ("PREPARE", count) => {
                self.prepared = news(&self.session, count.parse().unwrap_or_default());
                (vec![], line_of(&ended(id)))
            }
            ("TELL", _) => (std::mem::take(&mut self.prepared), line_of(&ended(id))),
            ("ASK", _) => {
                self.asked_by = id.clone();
                (vec![], line_of(&ask(&self.session)))
            }
            _ => (vec![], line_of(&ended(id))),
        }
    }
}

fn line_of(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

fn response(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn ended(prompt: &Value) -> Value {
    response(prompt, &json!({ "stopReason": "end_turn" }))
}

fn ask(session: &str) -> Value {
    let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
    let name = format!("{ASKED_AT}{}", clock::now().as_micros());
    json!({ "jsonrpc": "2.0", "id": name, "method": "session/request_permission", "params": {
        "sessionId": session,
        "toolCall": { "toolCallId": name, "name": name, "rawInput": { "command": "cargo test --workspace" } },
        "options": [option("once", "allow_once"), option("always", "allow_always"), option("no", "reject_once")],
    } })
}

/// So many pieces of news, each on a line.
fn news(session: &str, count: usize) -> Vec<u8> {
    let words = [
        "The ", "test ", "fails ", "because ", "the ", "lock ", "is ", "held ", "across ", "an ",
        "await. ",
    ];
    let mut news = Vec::new();
    for number in 0..count {
        let round = number / ROUND;
        let call = format!("call-{round}");
        let update = match number % ROUND {
            10 => {
                json!({ "sessionUpdate": "tool_call", "toolCallId": call, "title": "cargo test", "kind": "execute",
                "status": "pending", "rawInput": { "command": "cargo test --workspace", "description": "Runs the tests" } })
            }
            11 => {
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress" })
            }
            12 => {
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed",
                "content": [{ "type": "content", "content": { "type": "text", "text": "test result: ok. 3 passed" } }] })
            }
            13 => json!({ "sessionUpdate": "usage_update", "used": number, "size": 200_000 }),
            place => json!({
                "sessionUpdate": if place < 10 { "agent_thought_chunk" } else { "agent_message_chunk" },
                "content": { "type": "text", "text": words[number % words.len()] },
            }),
        };
        let params = json!({ "sessionId": session, "update": update });
        news.extend(line_of(
            &json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }),
        ));
    }
    news
}
