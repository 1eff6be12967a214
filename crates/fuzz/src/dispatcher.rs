//! The promises of what is made of messages: no yes that nobody said, nothing but what was offered, and nothing shown
//! that is not what was asked.

use std::path::Path;

use countersign_core::ask::{OfferedOption, OptionKind, Shown, Subject};
use countersign_engine::acp::agents::{Agent, known_agents};
use countersign_engine::acp::ask::{self, permission_ask};
use countersign_engine::acp::elicitation::{self, Said, elicitation_ask};
use countersign_engine::acp::initialize::{self, Offer, Shape};
use countersign_engine::acp::lines::{LINE_LIMIT, Piece};
use countersign_engine::acp::message::{self, Incoming, Params, RpcId};
use countersign_engine::acp::reply::{Answer, Cancelled, Reply, choose};
use countersign_engine::acp::session;
use countersign_engine::acp::tool_call::ToolCalls;
use countersign_engine::acp::update::{self, Update};
use countersign_engine::ask::EngineAsk;
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::Value;

use crate::finding::{Broken, hold};
use crate::ration::within;
use crate::reader;

/// The directory in which the sessions of the recorded transcripts worked.
const DIRECTORY: &str = "/srv/work";

/// Takes every message of `bytes` in, in order, as one session would.
pub(crate) fn feed(bytes: &[u8], dice: &mut StdRng) -> Result<(), Broken> {
    let mut agents = known_agents();
    let agent = agents.swap_remove(dice.random_range(0..agents.len()));
    let mut calls = ToolCalls::default();
    for piece in reader::whole(bytes, LINE_LIMIT) {
        let Piece::Line(line) = piece else {
            continue;
        };
        match message::read(&line.text) {
            Incoming::Request { id, method, params } => {
                let request = Request {
                    id: &id,
                    params: &params,
                    fed: bytes.len(),
                };
                take_request(&request, &method, &mut calls, &agent, dice)?;
            }
            Incoming::Notification { params, .. } => {
                within(bytes.len(), || take_update(&params, &mut calls))?;
            }
            Incoming::Response { id, outcome } => {
                if let Ok(result) = outcome {
                    take_result(&result, bytes.len())?;
                }
                let ours = id.ours();
                let text = serde_json::from_str::<Value>(id.text()).ok();
                let plain = text.as_ref().and_then(Value::as_str);
                hold!(
                    ours.as_deref() == plain,
                    "the id {id} is taken for {ours:?}"
                );
            }
            Incoming::Noise(_) => {}
        }
    }
    let unfinished = calls.unfinished().count();
    hold!(unfinished <= 512, "{unfinished} tool calls are kept");
    Ok(())
}

fn take_update(params: &Params, calls: &mut ToolCalls) {
    if let Update::Tool(change) = update::read(params).update {
        let id = change.id.clone();
        let item = calls.take(change).item();
        drop(item);
        // It was just told of.
        drop(calls.get(&id).map(|call| call.record().to_string()));
    }
}

/// A request, and how much was fed until it came.
struct Request<'a> {
    id: &'a RpcId,
    params: &'a Params,
    fed: usize,
}

fn take_request(
    request: &Request<'_>,
    method: &str,
    calls: &mut ToolCalls,
    agent: &Agent,
    dice: &mut StdRng,
) -> Result<(), Broken> {
    let Request { id, params, fed } = *request;
    match method {
        ask::METHOD => {
            let directory = Path::new(DIRECTORY);
            let asked = within(fed, || permission_ask(id, params, calls, agent, directory))?;
            let Ok(asked) = asked else {
                return Ok(());
            };
            is_what_was_asked(id, params, &asked)?;
            is_shown(&asked)?;
            within(fed, || replies(id, &asked, dice))?
        }
        elicitation::METHOD => {
            let Ok(asked) = within(fed, || elicitation_ask(id, params, "any"))? else {
                return Ok(());
            };
            hold!(asked.person.is_some(), "a rule may answer a question");
            within(fed, || answers(id, &asked, dice))?
        }
        _ => Ok(()),
    }
}

/// The ask is the request's: its id, its session, and its options with their kinds.
fn is_what_was_asked(id: &RpcId, params: &Params, asked: &EngineAsk) -> Result<(), Broken> {
    let request: Value = serde_json::from_str(params.text())
        .map_err(|error| Broken(format!("an ask is made of what is no JSON: {error}")))?;
    hold!(
        asked.native_id == id.text(),
        "{id} became {}",
        asked.native_id
    );
    hold!(
        request["sessionId"] == asked.session.as_str(),
        "the session became {}",
        asked.session
    );
    hold!(
        asked.raw["request"] == request,
        "the record is not what was sent"
    );
    let sent = request["options"].as_array();
    for option in &asked.options {
        let mut named = sent.into_iter().flatten();
        let found = named.any(|sent| {
            sent["optionId"] == option.id.as_str() && kind_of(&sent["kind"]) == option.kind
        });
        hold!(found, "{option:?} was not offered");
    }
    Ok(())
}

fn kind_of(word: &Value) -> OptionKind {
    match word.as_str() {
        Some("allow_once") => OptionKind::AllowOnce,
        Some("allow_always") => OptionKind::AllowAlways,
        Some("reject_once") => OptionKind::Deny,
        Some("reject_always") => OptionKind::DenyAlways,
        Some(_) | None => OptionKind::Other,
    }
}

/// What a rule could go by is what a person is shown, and nothing where a person is needed.
fn is_shown(asked: &EngineAsk) -> Result<(), Broken> {
    let Subject::Permission {
        tool,
        targets,
        shown,
        ..
    } = &asked.subject
    else {
        hold!(asked.person.is_some(), "a rule may answer a question");
        return Ok(());
    };
    hold!(
        asked.person.is_none() || targets.is_empty(),
        "a rule may match where a person is needed: {targets:?}"
    );
    hold!(
        asked.person.is_some() || !targets.is_empty(),
        "a rule may match nothing"
    );
    if let (true, Some(target)) = (tool == "shell", targets.first()) {
        let command = shown
            .iter()
            .any(|part| matches!(part, Shown::Command { text } if text == target));
        hold!(command, "`{target}` would run, and {shown:?} is shown");
    }
    Ok(())
}

/// Whatever is said, the reply is what was meant by it, or none.
fn replies(id: &RpcId, asked: &EngineAsk, dice: &mut StdRng) -> Result<(), Broken> {
    let options = &asked.options;
    let picked = options
        .get(dice.random_range(0..=options.len()))
        .map(|option| option.id.clone());
    let picked = picked.unwrap_or_else(|| "allow_always".to_owned());
    for answer in [
        Answer::Allow,
        Answer::Deny,
        Answer::Unanswered,
        Answer::TurnCancelled,
        Answer::Option(&picked),
    ] {
        let reply = choose(answer, options);
        means(answer, &reply, options)?;
        let choices = [vec![picked.clone()]];
        for line in [reply.line(id), reply.line_with_choices(id, &choices)] {
            is_reply(id, &reply, line)?;
        }
    }
    Ok(())
}

fn means(answer: Answer<'_>, reply: &Reply, options: &[OfferedOption]) -> Result<(), Broken> {
    let chosen = match reply {
        Reply::Selected(chosen) => chosen,
        Reply::Cancelled(why) => {
            let is_yes = matches!(answer, Answer::Allow | Answer::Option(_));
            hold!(!is_yes, "{answer:?} is told as cancelled");
            let turn = matches!(answer, Answer::TurnCancelled);
            hold!(
                turn == (*why == Cancelled::Turn),
                "{answer:?} is told because of {why:?}"
            );
            return Ok(());
        }
        Reply::NeedsPerson(_) => {
            let waits = matches!(answer, Answer::Unanswered | Answer::TurnCancelled);
            return if waits {
                Err(Broken(format!("{answer:?} comes to nothing")))
            } else {
                Ok(())
            };
        }
    };
    let kinds: Vec<OptionKind> = options
        .iter()
        .filter(|option| option.id == *chosen)
        .map(|option| option.kind)
        .collect();
    let right = match answer {
        Answer::Allow => kinds == [OptionKind::AllowOnce],
        Answer::Deny | Answer::Unanswered => kinds == [OptionKind::Deny],
        Answer::Option(id) => kinds.len() == 1 && id == chosen,
        Answer::TurnCancelled => false,
    };
    hold!(right, "{answer:?} is told as `{chosen}`, of {options:?}");
    Ok(())
}

fn is_reply(id: &RpcId, reply: &Reply, line: Option<Vec<u8>>) -> Result<(), Broken> {
    let Some(line) = line else {
        hold!(
            matches!(reply, Reply::NeedsPerson(_)),
            "{reply:?} cannot be said"
        );
        return Ok(());
    };
    let told: Value = serde_json::from_slice(&line)
        .map_err(|error| Broken(format!("a reply is no JSON: {error}")))?;
    hold!(
        line.iter().position(|byte| *byte == b'\n') == Some(line.len() - 1),
        "a reply is no line"
    );
    let asked: Option<Value> = serde_json::from_str(id.text()).ok();
    hold!(
        told.get("id") == asked.as_ref(),
        "{id} is answered as {}",
        told["id"]
    );
    let outcome = &told["result"]["outcome"];
    let right = match reply {
        Reply::Selected(chosen) => {
            outcome["outcome"] == "selected" && outcome["optionId"] == chosen.as_str()
        }
        Reply::Cancelled(_) => {
            outcome["outcome"] == "cancelled" && outcome.get("optionId").is_none()
        }
        Reply::NeedsPerson(_) => false,
    };
    hold!(right, "{reply:?} is told as {told}");
    Ok(())
}

/// Only choices accept a form.
fn answers(id: &RpcId, asked: &EngineAsk, dice: &mut StdRng) -> Result<(), Broken> {
    let Subject::Question { questions } = &asked.subject else {
        return Err(Broken("a question is asked as something else".to_owned()));
    };
    let choices: Vec<Vec<String>> = questions
        .iter()
        .map(|question| {
            let option = question
                .options
                .get(dice.random_range(0..=question.options.len()));
            vec![option.map_or_else(|| "7".to_owned(), |option| option.label.clone())]
        })
        .collect();
    for (said, action) in [
        (Said::Declined, "decline"),
        (Said::Nothing, "cancel"),
        (Said::Choices(&choices), "accept"),
    ] {
        match elicitation::line(id, &asked.raw, said) {
            Ok(line) => {
                let told: Value = serde_json::from_slice(&line)
                    .map_err(|error| Broken(format!("an answer is no JSON: {error}")))?;
                hold!(
                    told["result"]["action"] == action,
                    "{said:?} is told as {told}"
                );
            }
            Err(unfit) => hold!(
                matches!(said, Said::Choices(_)),
                "{said:?} cannot be said: {unfit}"
            ),
        }
    }
    Ok(())
}

/// A result can be the answer to anything that we ask.
fn take_result(result: &Params, fed: usize) -> Result<(), Broken> {
    for offer in [Offer::One, Offer::Two] {
        if let Ok(described) = within(fed, || initialize::read(offer, result))? {
            // A plain reader gives up where something is nested deeply.
            if let Ok(plain) = serde_json::from_str::<Value>(result.text()) {
                let version = plain["protocolVersion"].as_i64();
                hold!(
                    matches!(version, Some(1 | 2)),
                    "version {version:?} is spoken"
                );
            }
            hold!(
                described.shape == Shape::One || offer == Offer::Two,
                "version 2 was not offered"
            );
        }
    }
    within(fed, || session::read_opened(result))?;
    within(fed, || session::read_list(result))?;
    for shape in [Shape::One, Shape::Two] {
        within(fed, || session::read_prompt(shape, result))?;
    }
    Ok(())
}
