//! A reply to an engine as an answer in the ledger: it is written there, delivered from there, and only then is the client
//! told what the engine would have told it.

use std::sync::Arc;
use std::time::Duration;

use countersign_broker::{Answered, BrokerError};
use countersign_core::answer::{Choice, Scope as Reach};
use countersign_core::ask::{Ask, AskState};
use countersign_server::Response;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{EngineReply, Form, Thanks, may_answer};
use crate::keys::{Caller, Scope};
use crate::refusal::Refusal;
use crate::reply;
use crate::roster::Seat;
use crate::surface::OpenWork;

/// How long an ask may take from the engine to the ledger: the client has seen it already.
const ON_ITS_WAY: Duration = Duration::from_secs(3);
/// How long an answer may take to the engine.
const DELIVERY: Duration = Duration::from_secs(30);

/// Answers the ask that `engine_reply` is about; nothing if the ledger knows none of that name.
pub(super) async fn settle(
    surface: &OpenWork,
    seat: &Arc<Seat>,
    caller: &Caller,
    engine_reply: &EngineReply,
    body: &[u8],
) -> Result<Option<Response>, Refusal> {
    let granted = caller.granted();
    let sharing = surface.roster.sharing(seat);
    let Some((holder, ask)) = find(surface, caller, &sharing, &engine_reply.request).await? else {
        // Whose it is the engine alone knows, so it takes what any of its workspaces takes.
        let most = sharing.iter().map(|seat| seat.entry.answered_by()).max();
        may_answer(caller, most.unwrap_or(Scope::Owner))?;
        return Ok(None);
    };
    may_answer(caller, holder.entry.answered_by())?;
    let choice = choice(engine_reply, body)?;
    let answered = surface
        .broker
        .answer(&granted, &ask, choice)
        .await
        .map_err(|error| Refusal::new(400, "invalid_answer", error.to_string()))?;
    match answered {
        Answered::Won(ask) | Answered::Repeated(ask) => {
            delivered(surface, caller, &ask, engine_reply.thanks)
                .await
                .map(Some)
        }
        Answered::Lost(ask) => Err(over("ask_answered", "Somebody else was faster", &ask, 409)),
        Answered::Over(ask) => Err(over("ask_over", "It is no longer wanted", &ask, 410)),
        Answered::Missing => Ok(None),
    }
}

/// Looks for an ask in every workspace that has the same engine: the engine looks for it in whatever folder the request
/// names, so the workspace that was called says little.
async fn find(
    surface: &OpenWork,
    caller: &Caller,
    sharing: &[Arc<Seat>],
    request: &str,
) -> Result<Option<(Arc<Seat>, Ask)>, Refusal> {
    let mut looking = JoinSet::new();
    for seat in sharing {
        let (broker, seat) = (surface.broker.clone(), Arc::clone(seat));
        let (granted, request) = (caller.granted(), request.to_owned());
        looking.spawn(async move {
            let known = broker.ask_of_engine(&granted, seat.ledger, &request, ON_ITS_WAY);
            let known = known.await;
            (seat, known)
        });
    }
    while let Some(looked) = looking.join_next().await {
        let (seat, known) = looked.map_err(|error| Refusal::internal(&error))?;
        match known {
            Ok(Some(ask)) => return Ok(Some((seat, ask))),
            // It is not theirs, or the workspace has gone meanwhile.
            Ok(None) | Err(BrokerError::Missing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Waits until the engine has the answer, and says what the engine says then.
async fn delivered(
    surface: &OpenWork,
    caller: &Caller,
    ask: &Ask,
    thanks: Thanks,
) -> Result<Response, Refusal> {
    let settled = surface
        .broker
        .wait_until_settled(&caller.granted(), ask.id, DELIVERY)
        .await?;
    match settled.ask.state {
        AskState::Delivered(..) => Ok(match thanks {
            Thanks::True => reply::json(StatusCode::OK, &true),
            Thanks::Nothing => reply::nothing(),
        }),
        AskState::Undeliverable(..) => Err(over(
            "answer_undeliverable",
            "OpenCode did not take the answer",
            &settled.ask,
            502,
        )),
        AskState::Expired { .. } | AskState::Withdrawn { .. } => Err(over(
            "ask_over",
            "It is no longer wanted",
            &settled.ask,
            410,
        )),
        AskState::Open | AskState::Answered(..) => {
            let message = "The answer is kept, and on its way; OpenCode has not confirmed it yet";
            Err(over("answer_on_its_way", message, &settled.ask, 504))
        }
    }
}

fn over(code: &'static str, message: &'static str, ask: &Ask, status: u16) -> Refusal {
    let answer = match &ask.state {
        AskState::Answered(answer, _)
        | AskState::Delivered(answer, _)
        | AskState::Undeliverable(answer, _) => {
            json!({ "by": answer.by.name, "choice": answer.choice })
        }
        AskState::Open | AskState::Expired { .. } | AskState::Withdrawn { .. } => Value::Null,
    };
    let details = json!({ "ask": ask.id.to_string(), "answer": answer });
    Refusal::new(status, code, message).with_details(details)
}

/// What a reply in opencode's words says.
fn choice(engine_reply: &EngineReply, body: &[u8]) -> Result<Choice, Refusal> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let reason = body
        .get("message")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let word = match engine_reply.form {
        Form::Rejection => return Ok(Choice::Deny { reason }),
        Form::Question => {
            let answers = body.get("answers").cloned().unwrap_or_default();
            let choices = serde_json::from_value(answers).map_err(|_| unclear())?;
            return Ok(Choice::Choices { choices });
        }
        Form::Permission => body.get("reply"),
        Form::FormerPermission => body.get("response"),
    };
    match word.and_then(Value::as_str) {
        Some("once") => Ok(Choice::AllowOnce),
        Some("always") => Ok(Choice::AllowAlways {
            scope: Reach::Session,
            pattern: None,
            expires_at: None,
        }),
        Some("reject") => Ok(Choice::Deny { reason }),
        Some(_) | None => Err(unclear()),
    }
}

/// What is unclear is no answer.
fn unclear() -> Refusal {
    Refusal::new(
        400,
        "invalid_answer",
        "The reply is none that OpenCode knows",
    )
}
