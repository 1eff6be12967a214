//! What is known of the sessions between an editor and its agent: where each works, what it is about, and its tool calls.

use std::collections::{BTreeSet, HashMap, VecDeque};

use countersign_api::DoorSession;
use countersign_engine::acp::ask;
use countersign_engine::acp::message::Params;
use countersign_engine::acp::tool_call::{ToolCall, ToolCalls};
use countersign_engine::acp::update::{self, Update};
use serde_json::Value;

use crate::request_key::RequestKey;

/// More sessions than an editor has with one agent, and more requests than wait at once.
const LIMIT: usize = 1_000;
/// Of how many sessions the tool calls are kept: each may be large.
const REMEMBERED: usize = 8;
/// In how many directories the server is told that the agent works, before anything is asked there.
const DIRECTORIES: usize = 16;
/// The longest title, in characters.
const TITLE: usize = 80;

/// The sessions of a conversation.
#[derive(Default)]
pub(super) struct Sessions {
    /// What the agent calls itself.
    agent: Option<String>,
    known: HashMap<String, Known>,
    /// The tool calls of the sessions that were heard of last, the newest last.
    calls: VecDeque<(String, ToolCalls)>,
    /// The editor's requests whose responses tell something.
    wanted: HashMap<RequestKey, Wanted>,
    /// The session that was prompted last.
    latest: Option<String>,
}

#[derive(Default)]
struct Known {
    directory: Option<String>,
    title: String,
}

enum Wanted {
    Initialize,
    NewSession { directory: Option<String> },
    Turn { session: String },
}

impl Sessions {
    /// Takes in a request of the editor's.
    pub(super) fn take_request(&mut self, key: RequestKey, method: &str, params: &Params) {
        let params = match method {
            "initialize" | "session/new" | "session/load" | "session/resume" | "session/fork"
            | "session/prompt" => params.value().unwrap_or_default(),
            _ => return,
        };
        let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
        let wanted = match (method, text("sessionId")) {
            ("initialize", _) => Wanted::Initialize,
            ("session/prompt", Some(session)) => {
                let known = self.known(&session);
                if known.title.is_empty() {
                    known.title = first_words(&params);
                }
                self.latest = Some(session.clone());
                Wanted::Turn { session }
            }
            ("session/load" | "session/resume", Some(session)) => {
                self.known(&session).directory = text("cwd");
                return;
            }
            ("session/new" | "session/fork", _) => Wanted::NewSession {
                directory: text("cwd"),
            },
            _ => return,
        };
        if self.wanted.len() >= LIMIT {
            self.wanted.clear();
        }
        self.wanted.insert(key, wanted);
    }

    /// Takes in a response of the agent's, and returns the session whose turn ended with it, if one did.
    pub(super) fn take_response(
        &mut self,
        key: &RequestKey,
        result: Option<&Params>,
    ) -> Option<String> {
        let wanted = self.wanted.remove(key)?;
        let said = result.and_then(|result| result.value().ok());
        let text = |place: &str| {
            let found = said.as_ref()?.pointer(place)?.as_str()?;
            Some(found.to_owned())
        };
        match wanted {
            Wanted::Initialize => {
                let places = ["/agentInfo/title", "/agentInfo/name", "/info/name"];
                self.agent = places.into_iter().find_map(text);
                None
            }
            Wanted::NewSession { directory } => {
                self.known(&text("/sessionId")?).directory = directory;
                None
            }
            // A later version of the protocol only says here that the prompt was taken.
            Wanted::Turn { session } => {
                (said.is_none() || text("/stopReason").is_some()).then_some(session)
            }
        }
    }

    /// Takes in what the agent tells of a session, and returns the tool call that it tells of, if it does.
    pub(super) fn take_update(&mut self, params: &Params) -> Option<(String, String)> {
        let news = update::read(params);
        let session = news.session?;
        match news.update {
            Update::Tool(change) => {
                let call = self.calls(&session).take(change).id.clone();
                return Some((session, call));
            }
            Update::Title(Some(title)) => self.known(&session).title = cut(&title),
            Update::Text(_)
            | Update::Thought(_)
            | Update::User(_)
            | Update::Plan(_)
            | Update::Commands(_)
            | Update::Mode(_)
            | Update::Options(_)
            | Update::Title(None)
            | Update::Usage(_)
            | Update::Notice { .. }
            | Update::State(_)
            | Update::Unknown { .. } => {}
        }
        None
    }

    /// The directories that the agent works in, or some of very many.
    pub(super) fn directories(&self) -> Vec<String> {
        let directories: BTreeSet<&String> = self
            .known
            .values()
            .filter_map(|known| known.directory.as_ref())
            .collect();
        directories.into_iter().take(DIRECTORIES).cloned().collect()
    }

    /// The session that was prompted with the editor's request `key`, if its turn has not ended.
    pub(super) fn prompted_by(&self, key: &RequestKey) -> Option<&str> {
        match self.wanted.get(key)? {
            Wanted::Turn { session } => Some(session),
            Wanted::Initialize | Wanted::NewSession { .. } => None,
        }
    }

    /// The session that a request of the agent's is one of; a question may leave it out.
    pub(super) fn asking(&mut self, request: &Value) -> Option<DoorSession> {
        let named = request.get("sessionId").and_then(Value::as_str);
        let id = named.map(str::to_owned).or_else(|| self.latest.clone())?;
        let agent = self.agent.as_deref().map(cut);
        let known = self.known(&id);
        Some(DoorSession {
            title: known.title.clone(),
            directory: known.directory.clone(),
            agent: Some(agent.unwrap_or_else(|| "agent".to_owned())),
            parent: None,
            id,
        })
    }

    /// All that the agent has told about the tool call that `request` asks for.
    pub(super) fn tool_call(&mut self, session: &str, request: &Params) -> Option<&ToolCall> {
        let told = ask::tool_call_of(request)?;
        Some(self.calls(session).take(told))
    }

    /// All that the agent has told about a tool call.
    pub(super) fn known_call(&mut self, session: &str, id: &str) -> Option<&ToolCall> {
        self.calls(session).get(id)
    }

    fn known(&mut self, session: &str) -> &mut Known {
        if self.known.len() >= LIMIT && !self.known.contains_key(session) {
            self.known.clear();
        }
        self.known.entry(session.to_owned()).or_default()
    }

    fn calls(&mut self, session: &str) -> &mut ToolCalls {
        let place = self.calls.iter().position(|(known, _)| known == session);
        let calls = place
            .and_then(|place| self.calls.remove(place))
            .unwrap_or_else(|| (session.to_owned(), ToolCalls::default()));
        if self.calls.len() >= REMEMBERED {
            self.calls.pop_front();
        }
        self.calls.push_back(calls);
        let (_, newest) = self.calls.back_mut().expect("one was just put there");
        newest
    }
}

/// What a prompt begins with.
fn first_words(prompt: &Value) -> String {
    let blocks = prompt.get("prompt").and_then(Value::as_array);
    let mut texts = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block.get("text")?.as_str());
    let first = texts.find_map(|text| text.lines().find(|line| !line.trim().is_empty()));
    cut(first.unwrap_or_default().trim())
}

fn cut(text: &str) -> String {
    text.replace('\0', "\u{fffd}").chars().take(TITLE).collect()
}
