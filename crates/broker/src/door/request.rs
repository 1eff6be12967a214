//! What a program hands in, read and checked before anything is written down.

use countersign_core::ask::Subject;
use countersign_engine::opencode::{EngineAsk, permission_ask, question_ask};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::BrokerError;

/// The longest id of a program's own.
const ID_LIMIT: usize = 200;

/// An ask as a program hands it in.
#[derive(Debug, Clone)]
pub struct HandedIn {
    /// What is asked.
    pub request: EngineRequest,
    /// Who asks.
    pub session: AskingSession,
}

/// A request as opencode announces it.
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
    /// The ask in the request, which has to be one of the session called `session`.
    pub(super) fn into_ask(self, session: &str) -> Result<EngineAsk, BrokerError> {
        let ask = match self {
            Self::Permission { raw, input } => permission_ask(read(&raw)?, raw, input.as_ref()),
            Self::Question { raw } => question_ask(read(&raw)?, raw),
        };
        let fits = |id: &str| (1..=ID_LIMIT).contains(&id.len());
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
            Subject::Question { .. } | Subject::Permission { .. } => Ok(ask),
        }
    }
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
