//! An ask as an engine makes it, whichever kind of engine it is.

use std::fmt;

use countersign_core::ask::{OfferedOption, Subject};
use serde_json::Value;

/// Leave that an engine wants, in Countersign's words.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineAsk {
    /// What the engine calls the request.
    pub native_id: String,
    /// What the engine calls the session.
    pub session: String,
    /// What is asked.
    pub subject: Subject,
    /// What makes two asks alike.
    pub arguments: Value,
    /// What the engine sent, as it came.
    pub raw: Value,
    /// The options that the engine offers.
    pub options: Vec<OfferedOption>,
    /// What the engine calls the tool call that waits.
    pub tool_call: Option<String>,
    /// Why no rule may answer it, if none may; then its subject has no target that a rule could match.
    pub person: Option<PersonNeeded>,
}

/// Why an ask has to be answered by a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonNeeded {
    /// The agent wants to know something.
    Question,
    /// The answer changes what the agent may do from then on.
    ModeSwitch,
    /// Two options mean the same kind of answer, and which is meant is for a person to say.
    Twins,
    /// Two options have one id, or none has any.
    UnclearOptions,
    /// The request does not say what will run.
    UnknownInput,
}

impl fmt::Display for PersonNeeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Question => "the agent asks a question",
            Self::ModeSwitch => "the answer changes what the agent may do from then on",
            Self::Twins => "the agent offers two options of one kind",
            Self::UnclearOptions => "the options that the agent offers cannot be told apart",
            Self::UnknownInput => "the agent does not say exactly what will run",
        })
    }
}
