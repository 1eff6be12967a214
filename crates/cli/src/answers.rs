//! `allow`, `deny` and `answer`: what a person says to an ask.

use std::time::Duration;

use countersign_api::{AnswerKind, AnswerRequest, AskView};
use countersign_core::answer::Scope;
use countersign_core::ask::{AskPhase, Subject};
use countersign_core::id::AskId;
use owo_colors::OwoColorize as _;

use crate::connection::{Connection, Reply};
use crate::exit::{Exit, Failure};
use crate::keyboard::Keyboard;
use crate::reference::{self, short, tails};
use crate::{Call, ask_text, duration};

mod choices;

pub(crate) use choices::{AnswerQuestion, answer};

/// What to allow.
#[derive(Debug, clap::Args)]
pub struct Allow {
    /// The ask
    id: String,
    /// Allow the very same from now on, by a rule
    #[arg(long)]
    always: bool,
    /// Allow everything like this, not the very same alone: `*` stays in one folder, `**` does not. It has to match what
    /// is asked; commands take no pattern
    #[arg(long, requires = "always", value_name = "PATTERN")]
    glob: Option<String>,
    /// How far the rule reaches
    #[arg(long, requires = "always", value_enum, default_value = "session")]
    scope: Reach,
    /// How long the rule lives: 90s, 30m, 1h, 7d, 2w
    #[arg(long, requires = "always", value_name = "TIME", value_parser = duration::parse)]
    expires: Option<Duration>,
    #[command(flatten)]
    settling: Settling,
}

/// How far a rule reaches.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Reach {
    /// The session that asks
    Session,
    /// Every session in the workspace
    Workspace,
}

/// What to deny.
#[derive(Debug, clap::Args)]
pub struct Deny {
    /// The ask
    id: String,
    /// Why; the agent gets to read it
    #[arg(long, short, value_name = "TEXT")]
    reason: String,
    /// Deny without asking, where other asks of the session fall too
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    settling: Settling,
}

/// How long to stay after the answer.
#[derive(Debug, clap::Args)]
pub(crate) struct Settling {
    /// Wait up to this many seconds for the agent to have the answer
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=30))]
    wait: u64,
}

pub(crate) async fn allow(call: &mut Call<'_>, arguments: Allow) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let id = reference::ask(&connection, &arguments.id).await?;
    let request = if arguments.always {
        AnswerRequest {
            scope: Some(match arguments.scope {
                Reach::Session => Scope::Session,
                Reach::Workspace => Scope::Workspace,
            }),
            pattern: arguments.glob,
            expires_in_s: arguments.expires.map(|life| life.as_secs()),
            ..AnswerRequest::of(AnswerKind::AllowAlways)
        }
    } else {
        AnswerRequest::of(AnswerKind::AllowOnce)
    };
    match give(call, &connection, id, &request, &arguments.settling).await {
        Err(error) if Exit::of(&error) == Exit::Failed => {
            Err(how_to_choose(&connection, id).await.unwrap_or(error))
        }
        given => given,
    }
}

/// What to say to somebody who allows a question, which takes a choice; nothing if the ask is none.
async fn how_to_choose(connection: &Connection, id: AskId) -> Option<anyhow::Error> {
    let reply = connection.get(&format!("/api/v1/asks/{id}")).await;
    let ask: AskView = reply.ok()?.value;
    let Subject::Question { questions } = &ask.subject else {
        return None;
    };
    let each: Vec<_> = questions
        .iter()
        .map(|question| {
            if question.options.is_empty() {
                "TEXT"
            } else {
                "1"
            }
        })
        .collect();
    let sentence = format!(
        "this ask is a question, which takes a choice: `countersign answer {} {}` makes the first; `countersign show {}` lists them",
        short(id),
        each.join(" "),
        short(id)
    );
    Some(Failure::Usage(sentence).into())
}

pub(crate) async fn deny(call: &mut Call<'_>, arguments: Deny) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let id = reference::ask(&connection, &arguments.id).await?;
    if !arguments.yes && !confirm_siblings(call, &connection, id).await? {
        call.output.note("Nothing was answered")?;
        return Ok(Exit::Failed);
    }
    let request = AnswerRequest {
        reason: Some(arguments.reason),
        ..AnswerRequest::of(AnswerKind::Deny)
    };
    give(call, &connection, id, &request, &arguments.settling).await
}

/// Tells which asks fall with this one; on a terminal the person may still turn back.
async fn confirm_siblings(
    call: &mut Call<'_>,
    connection: &Connection,
    id: AskId,
) -> anyhow::Result<bool> {
    let ask: AskView = connection.get(&format!("/api/v1/asks/{id}")).await?.value;
    if ask.state != AskPhase::Open || ask.siblings.is_empty() {
        return Ok(true);
    }
    call.warn(&format!(
        "the agent drops its session's other open asks too: {}",
        tails(&ask.siblings).join(", ")
    ))?;
    if !call.output.talks_to_a_person() {
        return Ok(true);
    }
    let Some(mut keyboard) = Keyboard::open() else {
        return Ok(true);
    };
    call.output.ask("Deny all the same? [y/N] ")?;
    keyboard.read_keys()?;
    let key = keyboard.next().await?;
    call.output.note("")?;
    Ok(matches!(key.as_slice(), b"y" | b"Y"))
}

/// Gives the answer and tells what became of it.
pub(crate) async fn give(
    call: &mut Call<'_>,
    connection: &Connection,
    id: AskId,
    request: &AnswerRequest,
    settling: &Settling,
) -> anyhow::Result<Exit> {
    let taken = post(connection, id, request).await?;
    let settled = settle(call, connection, taken, settling).await?;
    if call.json() {
        call.output.json(&settled.text)?;
        return Ok(Exit::Success);
    }
    let ask = &settled.value;
    call.output.line(&format!(
        "{}  {}\n        {}",
        short(ask.id).bold(),
        ask_text::first_words(&ask.summary),
        ask_text::standing(ask, call.clock.now())
    ))?;
    if let Some(rule) = ask.answer.as_ref().and_then(|answer| answer.rule) {
        call.output.note(&format!(
            "A rule says so from now on; take it back with `countersign rules revoke {}`",
            short(rule)
        ))?;
    }
    Ok(Exit::Success)
}

/// Sends the answer; success means that it is durable and that no other stands.
pub(crate) async fn post(
    connection: &Connection,
    id: AskId,
    request: &AnswerRequest,
) -> anyhow::Result<Reply<AskView>> {
    connection
        .post(&format!("/api/v1/asks/{id}/answer"), request)
        .await
}

/// Stays until the agent has the answer, if it gets it in time.
///
/// The answer is accepted whatever happens here, so nothing here makes the command fail.
async fn settle(
    call: &mut Call<'_>,
    connection: &Connection,
    taken: Reply<AskView>,
    settling: &Settling,
) -> anyhow::Result<Reply<AskView>> {
    if settling.wait == 0 || taken.value.state.is_terminal() {
        return Ok(taken);
    }
    let path = format!(
        "/api/v1/asks/{}/settled?timeout_s={}",
        taken.value.id, settling.wait
    );
    let wait = Duration::from_secs(settling.wait);
    match connection.get_waiting(&path, wait).await {
        Ok(settled) => Ok(settled),
        Err(error) => {
            call.warn(&format!(
                "the answer is taken; whether it arrived could not be learnt: {error:#}"
            ))?;
            Ok(taken)
        }
    }
}
