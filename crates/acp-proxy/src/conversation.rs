//! What passes between the editor and the agent, as far as asks go: which are open, and who answered first.
//!
//! Nothing here waits. Every line is looked at before its end passes on, so that an ask is known before the editor can
//! answer it; and the one who writes to the agent asks here who was first, so that each ask gets one reply.

mod sessions;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_api::AcpRequest;
use countersign_engine::acp::message::{self, Incoming, Params, RpcError, RpcId};
use countersign_engine::acp::tool_call::ToolCall;
use countersign_engine::acp::{ask, elicitation};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::asked::{Asked, AskedCall, Over};
use crate::conversation::sessions::Sessions;
use crate::request_key::RequestKey;
use crate::voice::{Topic, Voice};

/// More open asks than any editor shows.
const OPEN_LIMIT: usize = 1_000;
/// How often an agent may change what it asks for.
const CHANGES: u32 = 20;
/// More late replies than are ever waited for.
const LATE_LIMIT: usize = 4_000;

/// What becomes of a line of the editor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It goes on to the agent.
    Pass,
    /// It is a reply that came too late, and goes nowhere.
    Drop,
}

/// The conversation between an editor and its agent.
pub(crate) struct Conversation {
    state: Mutex<State>,
    opened: mpsc::Sender<Arc<Asked>>,
    voice: Voice,
}

#[derive(Default)]
struct State {
    sessions: Sessions,
    asks: HashMap<RequestKey, Standing>,
    /// Those that were answered from here, the oldest first.
    taken: VecDeque<RequestKey>,
}

enum Standing {
    /// Nobody has answered.
    Open(Arc<Asked>),
    /// It was answered from here; what the editor still says to it is dropped.
    Taken,
}

impl Conversation {
    /// A conversation whose asks are sent to `opened`.
    pub(crate) fn new(opened: mpsc::Sender<Arc<Asked>>, voice: Voice) -> Self {
        Self {
            state: Mutex::default(),
            opened,
            voice,
        }
    }

    /// Looks at a line of the agent's, before its end has passed on to the editor.
    pub(crate) fn hear_agent(&self, line: &str) {
        match message::read(line) {
            Incoming::Request { id, method, params } => match method.as_str() {
                ask::METHOD | elicitation::METHOD => self.open(line, id, &params),
                _ => {}
            },
            Incoming::Notification { method, params } => match method.as_str() {
                "session/update" => {
                    let mut state = self.lock();
                    if let Some((session, call)) = state.sessions.take_update(&params) {
                        self.look_for_changes(&mut state, &session, &call);
                    }
                }
                "$/cancel_request" => {
                    if let Some(key) = cancelled(&params) {
                        self.lock().end(&key, Over::Gone);
                    }
                }
                _ => {}
            },
            Incoming::Response { id, outcome } => {
                let mut state = self.lock();
                let ended = RequestKey::of(&id)
                    .and_then(|key| state.sessions.take_response(&key, outcome.as_ref().ok()));
                if let Some(session) = ended {
                    state.end_all_of(&session, &Over::Gone);
                }
            }
            Incoming::Noise(_) => {}
        }
    }

    /// Says that a line of the agent's was too long to be looked at.
    pub(crate) fn miss(&self, length: u64) {
        self.voice.say(
            Topic::LongLine,
            &format!(
                "the agent wrote a line of {length} bytes, which is too long to be looked at; \
                 if it is an ask, it is answered in the editor alone"
            ),
        );
    }

    /// Looks at a line of the editor's, before it passes on to the agent.
    pub(crate) fn hear_editor(&self, line: &[u8]) -> Passage {
        let line = String::from_utf8_lossy(line);
        match message::read(line.trim_start_matches('\u{feff}')) {
            Incoming::Request { id, method, params } => {
                if let Some(key) = RequestKey::of(&id) {
                    self.lock().sessions.take_request(key, &method, &params);
                }
                Passage::Pass
            }
            Incoming::Notification { method, params } => {
                let mut state = self.lock();
                let cancelled = match method.as_str() {
                    "session/cancel" => params
                        .value()
                        .ok()
                        .and_then(|params| params.get("sessionId")?.as_str().map(str::to_owned)),
                    "$/cancel_request" => cancelled(&params)
                        .and_then(|key| state.sessions.prompted_by(&key).map(str::to_owned)),
                    _ => None,
                };
                if let Some(session) = cancelled {
                    state.end_all_of(&session, &Over::TurnCancelled);
                }
                Passage::Pass
            }
            Incoming::Response { id, outcome } => match RequestKey::of(&id) {
                Some(key) => self.lock().take_reply(&key, &outcome),
                None => Passage::Pass,
            },
            Incoming::Noise(_) => Passage::Pass,
        }
    }

    /// The directories that the agent works in.
    pub(crate) fn directories(&self) -> Vec<String> {
        self.lock().sessions.directories()
    }

    /// Answers an ask from here, unless it is over: from then on the editor's reply goes nowhere.
    pub(crate) fn take(&self, asked: &Arc<Asked>) -> bool {
        let mut state = self.lock();
        let standing = state.asks.get_mut(&asked.key);
        let Some(Standing::Open(open)) = standing else {
            return false;
        };
        if !Arc::ptr_eq(open, asked) {
            return false;
        }
        state.asks.insert(asked.key.clone(), Standing::Taken);
        state.taken.push_back(asked.key.clone());
        if state.taken.len() > LATE_LIMIT
            && let Some(oldest) = state.taken.pop_front()
        {
            state.asks.remove(&oldest);
        }
        true
    }

    /// Ends every ask that is open.
    pub(crate) fn end_all(&self, over: &Over) {
        self.lock().end_those(|_| true, over);
    }

    fn open(&self, line: &str, id: RpcId, raw: &Params) {
        let Some(key) = RequestKey::of(&id) else {
            return;
        };
        let mut state = self.lock();
        if state.asks.contains_key(&key) {
            // An answer to one of them could be taken for one to the other: the editor knows which it shows.
            state.end(&key, Over::Gone);
            let text =
                "the agent has used the id of an ask twice; it is answered in the editor alone";
            return self.voice.say(Topic::Twice, text);
        }
        let params = raw.value().unwrap_or_default();
        let Some(session) = state.sessions.asking(&params) else {
            return;
        };
        let call = state.sessions.tool_call(&session.id, raw);
        let request = AcpRequest {
            line: line.to_owned(),
            tool_call: call.map(ToolCall::retelling),
            number: 1,
        };
        let call = call.map(asked_call);
        let asked = Asked::new(key, id, request, session, call);
        self.hand_on(&mut state, asked);
    }

    /// Asks anew where the agent has changed what an open ask is about: a leave for one act is none for another.
    fn look_for_changes(&self, state: &mut State, session: &str, call: &str) {
        let Some(told) = state.sessions.known_call(session, call) else {
            return;
        };
        let (now, told) = (asked_call(told), told.retelling());
        let is_changed = |asked: &Asked| {
            asked.session.id == session
                && asked
                    .call
                    .as_ref()
                    .is_some_and(|call| call.id == now.id && call.act != now.act)
        };
        let changed: Vec<Arc<Asked>> = state
            .asks
            .values()
            .filter_map(|standing| match standing {
                Standing::Open(asked) if is_changed(asked) => Some(Arc::clone(asked)),
                Standing::Open(_) | Standing::Taken => None,
            })
            .collect();
        for before in changed {
            state.end(&before.key, Over::Changed);
            if before.request.number >= CHANGES {
                let text = "the agent changes what it asks for again and again; it is answered in the editor alone";
                self.voice.say(Topic::TooMany, text);
                continue;
            }
            let request = AcpRequest {
                line: before.request.line.clone(),
                tool_call: Some(told.clone()),
                number: before.request.number + 1,
            };
            let call = AskedCall {
                id: now.id.clone(),
                act: now.act.clone(),
            };
            let (key, id) = (before.key.clone(), before.id.clone());
            let asked = Asked::new(key, id, request, before.session.clone(), Some(call));
            self.hand_on(state, asked);
        }
    }

    /// Has an ask carried, and knows it from then on.
    fn hand_on(&self, state: &mut State, asked: Asked) {
        let asked = Arc::new(asked);
        let open = state.asks.len() - state.taken.len();
        if open >= OPEN_LIMIT || self.opened.try_send(Arc::clone(&asked)).is_err() {
            let text =
                "more asks are open than are handed in; the rest is answered in the editor alone";
            return self.voice.say(Topic::TooMany, text);
        }
        state.asks.insert(asked.key.clone(), Standing::Open(asked));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No step of a change can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes in the editor's reply to an ask.
    fn take_reply(&mut self, key: &RequestKey, outcome: &Result<Params, RpcError>) -> Passage {
        match self.asks.remove(key) {
            Some(Standing::Open(asked)) => {
                asked.end(Over::AnsweredInEditor(words(outcome)));
                Passage::Pass
            }
            Some(Standing::Taken) => {
                self.taken.retain(|taken| taken != key);
                Passage::Drop
            }
            None => Passage::Pass,
        }
    }

    fn end(&mut self, key: &RequestKey, over: Over) {
        if let Some(Standing::Open(asked)) = self.asks.get(key) {
            asked.end(over);
            self.asks.remove(key);
        }
    }

    fn end_all_of(&mut self, session: &str, over: &Over) {
        self.end_those(|asked| asked.session.id == session, over);
    }

    fn end_those(&mut self, wanted: impl Fn(&Asked) -> bool, over: &Over) {
        self.asks.retain(|_, standing| match standing {
            Standing::Open(asked) if wanted(asked) => {
                asked.end(over.clone());
                false
            }
            Standing::Open(_) | Standing::Taken => true,
        });
    }
}

/// The call as far as its answer goes: what the agent calls it, and how it fares, may change.
fn asked_call(call: &ToolCall) -> AskedCall {
    let record = call.record();
    let act = ["name", "input", "changes", "locations"].map(|field| record[field].clone());
    AskedCall {
        id: call.id.clone(),
        act: Value::from(act.to_vec()),
    }
}

/// The request that a `$/cancel_request` is about.
fn cancelled(params: &Params) -> Option<RequestKey> {
    RequestKey::of_value(params.value().ok()?.get("requestId")?)
}

/// What the editor said: the option that it picked, or what it did with a question.
fn words(outcome: &Result<Params, RpcError>) -> String {
    let said = match outcome {
        Ok(result) => result.value().unwrap_or_default(),
        Err(error) => return format!("an error: {}", error.message),
    };
    let places = ["/outcome/optionId", "/outcome/outcome", "/action"];
    places
        .into_iter()
        .find_map(|place| said.pointer(place).and_then(Value::as_str))
        .unwrap_or("something that is not known here")
        .to_owned()
}

#[cfg(test)]
mod tests;
