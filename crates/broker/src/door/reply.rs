//! What a program is to be told about an ask that is answered, or that nobody answered in time.

use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskState, Door, Subject};
use countersign_engine::acp::message::RpcId;

use crate::acp;
use crate::supervisor::{DENIED, NOBODY_ANSWERED};

/// What a program is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineReply {
    /// Go on, this once.
    Once,
    /// No, and this is what the model gets to read.
    Reject(String),
    /// The answers to a question.
    Answers(Vec<Vec<String>>),
    /// The question is not answered.
    Decline,
    /// This response, which an ACP agent gets to read as one line.
    Line(String),
}

/// What the program is to be told; nothing if there is nothing to tell it.
///
/// If the answer names nothing that an agent offers, the reason is in the error.
pub(super) fn reply_to(ask: &Ask) -> Result<Option<EngineReply>, String> {
    match &ask.state {
        AskState::Answered(..) | AskState::Expired { .. } => {}
        AskState::Open
        | AskState::Delivered(..)
        | AskState::Undeliverable(..)
        | AskState::Withdrawn { .. } => return Ok(None),
    }
    match ask.door {
        Door::Acp | Door::AcpProxy => line(ask).map(Some),
        Door::Opencode | Door::OpencodePlugin => Ok(Some(opencodes(ask))),
        // Nothing hands a write in at this door.
        Door::Workspace => Ok(None),
    }
}

fn line(ask: &Ask) -> Result<EngineReply, String> {
    let id = RpcId::of_ask(&ask.native_id).ok_or("its request has no id")?;
    let line = String::from_utf8(acp::reply(ask, &id)?).map_err(|error| error.to_string())?;
    Ok(EngineReply::Line(line.trim_end().to_owned()))
}

fn opencodes(ask: &Ask) -> EngineReply {
    let choice = ask.state.answer().map(|answer| &answer.choice);
    match (&ask.subject, choice) {
        (_, Some(Choice::Choices { choices })) => EngineReply::Answers(choices.clone()),
        (Subject::Question { .. } | Subject::WorkspaceWrite { .. }, _) => EngineReply::Decline,
        (Subject::Permission { .. }, Some(Choice::AllowOnce | Choice::AllowAlways { .. })) => {
            EngineReply::Once
        }
        (Subject::Permission { .. }, Some(Choice::Deny { reason })) => {
            EngineReply::Reject(reason.clone().unwrap_or_else(|| DENIED.to_owned()))
        }
        // This engine's options are never picked by their ids; what cannot be is a no.
        (Subject::Permission { .. }, Some(Choice::Option { .. })) => {
            EngineReply::Reject(DENIED.to_owned())
        }
        (Subject::Permission { .. }, None) => EngineReply::Reject(NOBODY_ANSWERED.to_owned()),
    }
}
