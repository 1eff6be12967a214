//! What a program hands in, read and checked before anything is written down.

use std::path::Path;

use countersign_core::ask::Subject;
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::ask::{self as acp_ask, UnreadableAsk};
use countersign_engine::acp::elicitation::{self, elicitation_ask};
use countersign_engine::acp::message::{self, Incoming};
use countersign_engine::acp::tool_call::{ToolCallChange, ToolCalls};
use countersign_engine::ask::EngineAsk;
use countersign_engine::opencode::{permission_ask, question_ask};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::door::Program;
use crate::error::BrokerError;

/// The longest id of a program's own.
const ID_LIMIT: usize = 200;
/// The longest id of an ACP agent's own.
const ACP_ID_LIMIT: usize = 500;
/// How often an ACP agent may change what it asks for.
const ACP_CHANGES: u32 = 1_000;

/// An ask as a program hands it in.
#[derive(Debug, Clone)]
pub struct HandedIn {
    /// What is asked.
    pub request: EngineRequest,
    /// Who asks.
    pub session: AskingSession,
}

/// A request as opencode announces it, or as an ACP agent writes it.
#[derive(Debug, Clone)]
pub enum EngineRequest {
    /// The properties of `permission.asked`.
    Permission {
        /// As they came.
        raw: Value,
        /// What the tool was given: older versions leave it out of the request.
        input: Option<Value>,
    },
    /// The properties of `question.asked`.
    Question {
        /// As they came.
        raw: Value,
    },
    /// A request of an ACP agent.
    Acp {
        /// The line, as the agent wrote it.
        line: String,
        /// All that the agent has said about the tool call, as an update in the protocol's own words.
        tool_call: Option<String>,
        /// Which ask for this request it is, from one on.
        number: u32,
    },
}

/// The session that asks.
#[derive(Debug, Clone)]
pub struct AskingSession {
    /// What opencode calls it, and what it is about.
    pub named: NamedSession,
    /// The name of the agent that speaks in it.
    pub agent: Option<String>,
    /// The directory it works in.
    pub directory: Option<String>,
    /// The session that started it for a sub-agent.
    pub parent: Option<NamedSession>,
}

/// A session by the names that opencode gives it.
#[derive(Debug, Clone)]
pub struct NamedSession {
    /// What opencode calls it.
    pub native_id: String,
    /// What it is about.
    pub title: String,
}

impl EngineRequest {
    /// The ask in the request, which has to be one of the session called `session`, and of a kind that `program`
    /// makes. The session works in `directory`.
    pub(super) fn into_ask(
        self,
        program: Program,
        session: &str,
        directory: &str,
    ) -> Result<EngineAsk, BrokerError> {
        let (ask, limit) = match (self, program) {
            (Self::Permission { raw, input }, Program::Opencode) => {
                (permission_ask(read(&raw)?, raw, input.as_ref()), ID_LIMIT)
            }
            (Self::Question { raw }, Program::Opencode) => {
                (question_ask(read(&raw)?, raw), ID_LIMIT)
            }
            (
                Self::Acp {
                    line,
                    tool_call,
                    number,
                },
                Program::AcpProxy,
            ) => {
                if !(1..=ACP_CHANGES).contains(&number) {
                    return Err(unfit("was changed too often"));
                }
                let told = tool_call.as_deref();
                let ask = read_line(&line, told, number, session, directory)?;
                (ask, ACP_ID_LIMIT)
            }
            (Self::Permission { .. } | Self::Question { .. }, Program::AcpProxy)
            | (Self::Acp { .. }, Program::Opencode) => {
                return Err(unfit("is none that this program makes"));
            }
        };
        let fits = |id: &str| (1..=limit).contains(&id.len());
        if !fits(&ask.native_id) || !fits(&ask.session) {
            return Err(unfit("has no id, or one that is too long"));
        }
        if ask.session != session {
            return Err(unfit("is one of another session"));
        }
        match &ask.subject {
            Subject::Question { questions } if questions.is_empty() => {
                Err(unfit("is a question without parts"))
            }
            Subject::Question { .. }
            | Subject::Permission { .. }
            | Subject::WorkspaceWrite { .. } => Ok(ask),
        }
    }
}

/// The ask in a line of an ACP agent, with all that the agent has `told` of the tool call.
fn read_line(
    line: &str,
    told: Option<&str>,
    number: u32,
    session: &str,
    directory: &str,
) -> Result<EngineAsk, BrokerError> {
    let Incoming::Request { id, method, params } = message::read(line) else {
        return Err(unfit("is no request of an agent's"));
    };
    let mut calls = ToolCalls::default();
    let told = told.and_then(ToolCallChange::retold);
    // Whose agent it is nobody knows for certain, so nothing is taken for known about its options.
    let (agent, directory) = (Agent::default(), Path::new(directory));
    let read = match (method.as_str(), told) {
        (acp_ask::METHOD, Some(told)) => {
            calls.take(told);
            acp_ask::permission_ask_again(&id, &params, &calls, &agent, directory)
        }
        (acp_ask::METHOD, None) => {
            acp_ask::permission_ask(&id, &params, &mut calls, &agent, directory)
        }
        (elicitation::METHOD, _) => elicitation_ask(&id, &params, session),
        _ => return Err(unfit("asks for nothing that a person could allow")),
    };
    let read = read.map_err(
        |error @ (UnreadableAsk::Params(_) | UnreadableAsk::NoSession)| {
            unfit(&format!("cannot be read: {error}"))
        },
    )?;
    Ok(EngineAsk {
        native_id: id.for_ask(number),
        ..read
    })
}

fn read<T: DeserializeOwned>(raw: &Value) -> Result<T, BrokerError> {
    T::deserialize(raw).map_err(|error| unfit(&format!("is none of opencode's: {error}")))
}

fn unfit(problem: &str) -> BrokerError {
    BrokerError::Invalid {
        field: "request",
        problem: problem.to_owned(),
    }
}
