//! Asks and answers in words, for people. Whatever an agent wrote is made visible on the way.

use std::fmt::Write as _;

use countersign_api::AskView;
use countersign_core::actor::{ActorKind, Surface};
use countersign_core::answer::{Answer, Choice, Scope};
use countersign_core::ask::{AskPhase, Subject};
use countersign_core::delivery::{DeliveryState, Evidence};
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;
use owo_colors::{OwoColorize as _, Style};

use crate::columns::{Cell, Table};
use crate::duration::spoken;
use crate::reference::tails;

mod whole;

pub(crate) use whole::whole;

/// How much of a summary is shown in a list.
const SUMMARY_LIMIT: usize = 240;
/// How much of a text is shown where it only serves to recognise something.
const GLANCE_LIMIT: usize = 60;

/// The asks as a table.
pub(crate) fn table(asks: &[AskView], now: Timestamp, width: usize) -> String {
    let shorts = tails(asks.iter().map(|ask| ask.id));
    let mut table = Table::new(["ID", "AGE", "STATE", "TOOL", "AGENT", "WHAT"]);
    for (ask, short) in asks.iter().zip(shorts) {
        table.row([
            Cell::styled(short.clone(), Style::new().bold()),
            spoken(now.since(ask.opened_at)).into(),
            Cell::styled(ask.state.name(), phase_style(ask.state)),
            visible(ask.subject.tool()).into(),
            requester(ask).into(),
            summary(ask, &short).into(),
        ]);
    }
    table.render(width)
}

/// One line about an ask that came in or went on.
pub(crate) fn news(ask: &AskView, now: Timestamp) -> String {
    let short = crate::reference::short(ask.id);
    let head = format!("{}  {}", short.bold(), visible(ask.subject.tool()));
    if ask.state == AskPhase::Open {
        format!("{head}  {}", summary(ask, &short))
    } else {
        format!("{head}  {}", standing(ask, now))
    }
}

/// What is asked, on one line; what is left out is counted.
fn summary(ask: &AskView, short: &str) -> String {
    cut(&ask.summary, SUMMARY_LIMIT, || {
        format!("; `countersign show {short}`")
    })
}

/// The beginning of `text`, to recognise it by; what is left out is counted.
pub(crate) fn first_words(text: &str) -> String {
    cut(text, GLANCE_LIMIT, String::new)
}

/// The first line of `text`, up to `limit` characters, and how much more there is.
pub(crate) fn cut(text: &str, limit: usize, where_to_look: impl FnOnce() -> String) -> String {
    let text = text.trim_end();
    let first = text.lines().next().unwrap_or_default();
    let shown: String = first.chars().take(limit).collect();
    let left = text.chars().count() - shown.chars().count();
    if left == 0 {
        return visible(&shown).into_owned();
    }
    format!(
        "{}… {left} more characters{}",
        visible(&shown),
        where_to_look()
    )
}

/// Who asks.
fn requester(ask: &AskView) -> String {
    let name = visible(&ask.requester);
    match ask.parent_session {
        Some(_) => format!("{name} (sub-agent)"),
        None => name.into_owned(),
    }
}

/// How the ask stands, in a sentence.
pub(crate) fn standing(ask: &AskView, now: Timestamp) -> String {
    let mut sentence = match &ask.answer {
        Some(answer) => said(answer, now),
        None => String::new(),
    };
    let reason = ask
        .answer
        .as_ref()
        .and_then(|answer| answer.choice.reason());
    let is_write = matches!(ask.subject, Subject::WorkspaceWrite { .. });
    if reason.is_some() && !ask.door.tells_reasons() {
        let reader = if is_write { "client" } else { "agent" };
        let untold = format!(", and the {reader} does not get to read the reason");
        sentence.push_str(&untold);
    }
    let style = phase_style(ask.state);
    let why = ask.why.as_deref().map(visible).unwrap_or_default();
    let written = match ask.state {
        AskPhase::Open => write!(sentence, "open for {}", spoken(now.since(ask.opened_at))),
        AskPhase::Answered => {
            let under_way = if is_write {
                "being written"
            } else {
                "on its way to the agent"
            };
            write!(sentence, "; {}", under_way.style(style))
        }
        AskPhase::Delivered => {
            let evidence = evidence(ask).map(|text| format!(" ({text})"));
            let delivered = "delivered".style(style);
            write!(sentence, "; {delivered}{}", evidence.unwrap_or_default())
        }
        AskPhase::Undeliverable => {
            let undeliverable = if is_write {
                "it was not carried out"
            } else {
                "it never reached the agent"
            };
            let undeliverable = undeliverable.style(style);
            write!(sentence, "; {undeliverable}: {why}")
        }
        AskPhase::Expired | AskPhase::Withdrawn => {
            write!(sentence, "{}: {why}", ask.state.name().style(style))
        }
    };
    written.expect("a String takes every write");
    sentence
}

fn evidence(ask: &AskView) -> Option<String> {
    let DeliveryState::Delivered { evidence, .. } = &ask.delivery.as_ref()?.state else {
        return None;
    };
    Some(match evidence {
        Evidence::Announced { event } => format!("the engine announced {}", visible(event)),
        Evidence::ToolState { status } => format!("the tool was found {}", visible(status)),
        Evidence::Reported { event } => format!("the plugin reported {}", visible(event)),
        Evidence::Written { .. } => "it was written to the agent's input".to_owned(),
        Evidence::ReportedWritten { .. } => "the proxy wrote it to the agent's input".to_owned(),
        Evidence::Done => "it was done".to_owned(),
        Evidence::FilesWritten { digest } => format!("the files were written, SHA-256 {digest}"),
        Evidence::FilesFound { digest } => {
            format!("the files were found as they were to be, SHA-256 {digest}")
        }
        Evidence::NothingWritten => "nothing was written".to_owned(),
    })
}

/// What an answer says, who gave it, where and when.
pub(crate) fn said(answer: &Answer, now: Timestamp) -> String {
    format!(
        "{} by {} {}, {} ago",
        choice(&answer.choice),
        who(answer),
        surface(answer.surface),
        spoken(now.since(answer.at))
    )
}

/// What somebody who came second is told.
pub(crate) fn was_first(answer: &Answer, now: Timestamp) -> String {
    format!(
        "{} was first, {} ago {}: {}",
        who(answer),
        spoken(now.since(answer.at)),
        surface(answer.surface),
        choice(&answer.choice)
    )
}

fn who(answer: &Answer) -> String {
    let name = visible(&answer.by.name);
    match answer.by.kind {
        ActorKind::Person => name.into_owned(),
        ActorKind::Rule => format!("the rule {name}"),
        ActorKind::Agent => format!("the agent {name}"),
        ActorKind::Bridge => format!("the bridge {name}"),
    }
}

fn surface(surface: Surface) -> &'static str {
    match surface {
        Surface::Web => "in the browser",
        Surface::Cli => "at the command line",
        Surface::Api => "over the API",
        Surface::Rule => "by itself",
        Surface::Engine => "at the engine's own terminal",
        Surface::Matrix => "on Matrix",
        Surface::Telegram => "on Telegram",
        Surface::Discord => "on Discord",
        Surface::Slack => "on Slack",
    }
}

fn choice(choice: &Choice) -> String {
    match choice {
        Choice::AllowOnce => "allowed once".to_owned(),
        Choice::AllowAlways {
            scope,
            pattern,
            expires_at,
        } => {
            let mut said = "allowed always for the ".to_owned();
            said.push_str(match scope {
                Scope::Session => "session",
                Scope::Workspace => "workspace",
            });
            if let Some(pattern) = pattern {
                said.push_str(", everything like ");
                said.push_str(&visible(pattern));
            }
            if let Some(end) = expires_at {
                said.push_str(" until ");
                said.push_str(&end.to_string());
            }
            said
        }
        Choice::Deny { reason: None } => "denied".to_owned(),
        Choice::Deny {
            reason: Some(reason),
        } => format!("denied (“{}”)", visible(reason)),
        Choice::Choices { choices } => {
            let parts: Vec<String> = choices
                .iter()
                .map(|chosen| visible(&chosen.join(", ")).into_owned())
                .collect();
            format!("answered with {}", parts.join("; "))
        }
        Choice::Option {
            id, reason: None, ..
        } => format!("answered with the option “{}”", visible(id)),
        Choice::Option {
            id,
            reason: Some(reason),
            ..
        } => format!(
            "answered with the option “{}” (“{}”)",
            visible(id),
            visible(reason)
        ),
    }
}

/// The colour of a state.
fn phase_style(phase: AskPhase) -> Style {
    match phase {
        AskPhase::Open => Style::new().yellow(),
        AskPhase::Answered => Style::new().cyan(),
        AskPhase::Delivered => Style::new().green(),
        AskPhase::Undeliverable => Style::new().red(),
        AskPhase::Expired | AskPhase::Withdrawn => Style::new().dimmed(),
    }
}

#[cfg(test)]
mod tests;
