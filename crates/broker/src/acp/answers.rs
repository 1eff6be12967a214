//! What an answer comes to in the agent's own terms, and whether it can come to anything.

use countersign_core::answer::{Choice, UnfitAnswer};
use countersign_core::ask::{Ask, AskState, Withdrawal};
use countersign_engine::acp::elicitation::{self, Said};
use countersign_engine::acp::hosted::{Hosted, Refusal};
use countersign_engine::acp::message::RpcId;
use countersign_engine::acp::reply::{Answer, Reply, choose};
use serde_json::Value;

/// Fails unless the agent can be told `choice`.
pub(crate) fn check(ask: &Ask, choice: &Choice) -> Result<(), UnfitAnswer> {
    let Some(id) = RpcId::of_ask(&ask.native_id) else {
        return Ok(());
    };
    line(ask, &id, Some(choice))
        .map(drop)
        .map_err(UnfitAnswer::Unclear)
}

/// The line that tells the agent what the ledger says about an ask that is answered or has expired.
///
/// If the answer names nothing that the agent offers, the reason is in the error.
pub(crate) fn reply(ask: &Ask, id: &RpcId) -> Result<Vec<u8>, String> {
    line(ask, id, ask.state.answer().map(|answer| &answer.choice))
}

/// The line that tells the agent that its request is cancelled.
pub(super) fn cancelled(ask: &Ask, id: &RpcId) -> Vec<u8> {
    refusal(ask, id, Answer::TurnCancelled)
}

/// The line that tells the agent no, where nobody said so.
pub(super) fn unanswered(ask: &Ask, id: &RpcId) -> Vec<u8> {
    refusal(ask, id, Answer::Unanswered)
}

fn refusal(ask: &Ask, id: &RpcId, answer: Answer<'_>) -> Vec<u8> {
    if Hosted::of(ask).is_some() {
        return match answer {
            Answer::Unanswered => Refusal::unanswered(),
            Answer::TurnCancelled => Refusal::cancelled(),
            Answer::Allow | Answer::Deny | Answer::Option(_) => Refusal::denied(None),
        }
        .line(id);
    }
    let line = if is_elicitation(ask) {
        elicitation::line(id, &ask.raw, Said::Nothing).ok()
    } else {
        choose(answer, &ask.options).line(id)
    };
    line.expect("a refusal can always be said")
}

/// Whether the answer refuses what the agent asked for.
pub(super) fn is_no(ask: &Ask) -> bool {
    match &ask.state {
        AskState::Expired { .. } => true,
        AskState::Answered(answer, _)
        | AskState::Delivered(answer, _)
        | AskState::Undeliverable(answer, _) => !answer.choice.is_yes(),
        AskState::Open | AskState::Withdrawn { .. } => false,
    }
}

fn line(ask: &Ask, id: &RpcId, choice: Option<&Choice>) -> Result<Vec<u8>, String> {
    if Hosted::of(ask).is_some() {
        // What is said depends on what comes of it; only whether something can be is known before.
        return match choice {
            Some(Choice::Choices { .. }) => Err("it is no question".to_owned()),
            Some(Choice::Option { id, .. }) if !ask.options.iter().any(|it| it.id == *id) => {
                Err(format!("the option `{id}` was not offered"))
            }
            Some(
                Choice::AllowOnce
                | Choice::AllowAlways { .. }
                | Choice::Deny { .. }
                | Choice::Option { .. },
            )
            | None => Ok(refusal(ask, id, Answer::Unanswered)),
        };
    }
    if is_elicitation(ask) {
        let said = match choice {
            Some(Choice::Choices { choices }) => Said::Choices(choices),
            Some(
                Choice::Deny { .. }
                | Choice::Option { .. }
                | Choice::AllowOnce
                | Choice::AllowAlways { .. },
            ) => Said::Declined,
            None => Said::Nothing,
        };
        return elicitation::line(id, &ask.raw, said).map_err(|unfit| unfit.to_string());
    }
    let answer = match choice {
        Some(Choice::AllowOnce | Choice::AllowAlways { .. } | Choice::Choices { .. }) => {
            Answer::Allow
        }
        Some(Choice::Deny { .. }) => Answer::Deny,
        Some(Choice::Option { id, .. }) => Answer::Option(id),
        None => Answer::Unanswered,
    };
    let reply = choose(answer, &ask.options);
    let line = match choice {
        Some(Choice::Choices { choices }) => reply.line_with_choices(id, choices),
        Some(
            Choice::AllowOnce
            | Choice::AllowAlways { .. }
            | Choice::Deny { .. }
            | Choice::Option { .. },
        )
        | None => reply.line(id),
    };
    line.ok_or_else(|| match reply {
        Reply::NeedsPerson(unclear) => unclear.to_string(),
        Reply::Selected(_) | Reply::Cancelled(_) => "it cannot be said".to_owned(),
    })
}

/// The tool call that an ask waits for.
pub(super) fn tool_call(ask: &Ask) -> Option<&str> {
    ask.raw.get("tool_call")?.get("id")?.as_str()
}

/// Whether a later record of a request asks for the same act as an earlier one.
///
/// Agents tell of a call in pieces and in several forms, before and after they ask: what is only said in other words, or
/// left out, or added to what is known, changes nothing. What was not known and is, or is said to be something else, does.
pub(super) fn asks_the_same(earlier: &Value, later: &Value) -> bool {
    let (earlier, later) = (&earlier["tool_call"], &later["tool_call"]);
    let news = |field: &str| News::of(&earlier[field], &later[field]);
    let same_input = match news("input") {
        News::Nothing => true,
        News::More => false,
        News::Other => match (&earlier["input"], &later["input"]) {
            (Value::Object(earlier), Value::Object(later)) => later.iter().all(|(key, value)| {
                let is_act = ACTS.contains(&key.as_str());
                earlier.get(key).map_or(!is_act, |before| before == value)
            }),
            _ => false,
        },
    };
    same_input && news("changes") == News::Nothing && news("name") != News::Other
}

/// What a later value tells beyond an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Nothing,
    More,
    Other,
}

impl News {
    fn of(earlier: &Value, later: &Value) -> Self {
        let is_known = |value: &Value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        };
        match (is_known(earlier), is_known(later)) {
            (_, false) => Self::Nothing,
            (false, true) => Self::More,
            (true, true) if earlier == later => Self::Nothing,
            (true, true) => Self::Other,
        }
    }
}

/// Where an input says what is to be run: one that comes to say so asks for something else.
const ACTS: [&str; 3] = ["command", "cmd", "script"];

/// Whether two asks answer the same request.
pub(super) fn is_same_request(one: &Ask, other: &Ask) -> bool {
    RpcId::of_ask(&one.native_id) == RpcId::of_ask(&other.native_id)
}

/// Which ask for its request it is, from one on: see [`RpcId::for_ask`].
pub(super) fn number(ask: &Ask) -> u32 {
    let number = ask.native_id.rsplit_once(' ');
    number
        .and_then(|(_, number)| number.parse().ok())
        .unwrap_or(1)
}

/// Whether another ask took the place of this one for the same request.
pub(super) fn is_replaced(ask: &Ask) -> bool {
    matches!(
        ask.state,
        AskState::Withdrawn {
            why: Withdrawal::Changed,
            ..
        }
    )
}

/// A request for leave is kept together with its tool call; a question is kept as it came.
fn is_elicitation(ask: &Ask) -> bool {
    let has = |field| ask.raw.get(field).is_some();
    !(has("request") && has("tool_call"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn same(earlier: &Value, later: &Value) -> bool {
        asks_the_same(
            &json!({ "tool_call": earlier }),
            &json!({ "tool_call": later }),
        )
    }

    #[test]
    fn an_act_that_is_told_again_in_pieces_or_with_more_around_it_is_the_same() {
        let asked = json!({ "name": null, "input": { "command": "ls" }, "changes": [] });
        for later in [
            json!({ "name": "bash", "input": { "command": "ls", "cwd": "/srv" }, "changes": [] }),
            json!({ "name": null, "input": { "cwd": "/srv" }, "changes": [] }),
            json!({ "name": null, "input": {}, "changes": [] }),
            json!({ "name": null, "input": null, "changes": [] }),
        ] {
            assert!(same(&asked, &later), "{later}");
        }
    }

    #[test]
    fn an_act_that_becomes_known_or_another_is_asked_for_anew() {
        let edit = json!({ "name": "edit", "input": { "path": "a" }, "changes": [{ "path": "a", "new": "1" }] });
        for (earlier, later) in [
            (
                json!({ "input": null }),
                json!({ "input": { "command": "ls" } }),
            ),
            (
                json!({ "input": { "command": "ls" } }),
                json!({ "input": { "command": "rm" } }),
            ),
            (
                json!({ "input": { "path": "a" } }),
                json!({ "input": { "path": "a", "command": "rm" } }),
            ),
            (json!({ "input": "ls" }), json!({ "input": "rm" })),
            (
                json!({ "name": "read", "input": { "path": "a" } }),
                edit.clone(),
            ),
            (
                json!({ "name": "edit", "input": { "path": "a" }, "changes": [] }),
                edit.clone(),
            ),
            (
                edit,
                json!({ "name": "edit", "changes": [{ "path": "a", "new": "2" }] }),
            ),
        ] {
            assert!(!same(&earlier, &later), "{earlier} {later}");
        }
    }
}
