//! The card of an ask: what will run, whole or with the count of what is not shown, and the options. Pure.

use countersign_core::actor::{ActorKind, Surface};
use countersign_core::answer::{Answer, Choice, Scope};
use countersign_core::ask::{Ask, AskState, Door, OptionKind, Shown, Subject};
use countersign_core::delivery::DeliveryState;
use countersign_core::visible::visible;

use crate::adapter::{Button, Meaning, Outgoing};
use crate::text::{Block, Span, Text};

/// The most of a text that is shown on a card, in characters; of more than that the head and the tail are.
const SHOWN: usize = 3_000;
const HEAD: usize = 2_000;
const TAIL: usize = 800;
/// How many lines of a change are on the card.
const DIFF_LINES: usize = 30;
/// The longest label of a button, in characters.
const LABEL: usize = 75;
/// More options than this have no buttons: they are named.
const MOST_BUTTONS: usize = 9;
/// The reactions that stand for buttons.
const SIGNS: [&str; MOST_BUTTONS] = ["1️⃣", "2️⃣", "3️⃣", "4️⃣", "5️⃣", "6️⃣", "7️⃣", "8️⃣", "9️⃣"];

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) label: String,
    pub(crate) meaning: Meaning,
    pub(crate) choice: Choice,
}

/// A file that goes with a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Enclosure {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What an agent calls something, on one line: a name with line breaks in it could pose as more of the card.
fn line(name: &str) -> String {
    visible(name).replace(['\n', '\t'], "⏎")
}

/// What can be chosen, in the engine's order; the same for the same ask, always.
pub(crate) fn offers(ask: &Ask) -> Vec<Offer> {
    let no = |label: &str| Offer {
        label: label.to_owned(),
        meaning: Meaning::No,
        choice: Choice::Deny { reason: None },
    };
    match &ask.subject {
        Subject::Permission { .. } if !ask.options.is_empty() => {
            let offer = |option: &countersign_core::ask::OfferedOption| Offer {
                label: line(&option.name).chars().take(LABEL).collect(),
                meaning: match option.kind {
                    OptionKind::AllowOnce | OptionKind::AllowAlways => Meaning::Yes,
                    OptionKind::Deny | OptionKind::DenyAlways => Meaning::No,
                    OptionKind::Other => Meaning::Neutral,
                },
                choice: chosen(ask, &option.id, option.kind),
            };
            ask.options.iter().map(offer).collect()
        }
        Subject::Permission { .. } | Subject::WorkspaceWrite { .. } => vec![
            Offer {
                label: "Allow once".to_owned(),
                meaning: Meaning::Yes,
                choice: Choice::AllowOnce,
            },
            no("Deny"),
        ],
        Subject::Question { questions } => {
            let mut offers = Vec::new();
            if let [question] = questions.as_slice() {
                offers.extend(question.options.iter().map(|option| Offer {
                    label: line(&option.label).chars().take(LABEL).collect(),
                    meaning: Meaning::Neutral,
                    choice: Choice::Choices {
                        choices: vec![vec![option.label.clone()]],
                    },
                }));
            }
            offers.push(no("Do not answer"));
            offers
        }
    }
}

/// What picking an option says: to an ACP agent its own option, to opencode what it stands for.
fn chosen(ask: &Ask, id: &str, kind: OptionKind) -> Choice {
    let picked = || Choice::Option {
        id: id.to_owned(),
        kind,
        reason: None,
    };
    match ask.door {
        Door::Acp | Door::AcpProxy => picked(),
        Door::Opencode | Door::OpencodePlugin | Door::Workspace => match kind {
            OptionKind::AllowOnce => Choice::AllowOnce,
            OptionKind::AllowAlways => Choice::AllowAlways {
                scope: Scope::Session,
                pattern: None,
                expires_at: None,
            },
            OptionKind::Deny => Choice::Deny { reason: None },
            OptionKind::DenyAlways | OptionKind::Other => picked(),
        },
    }
}

/// Who is told of a card, and by what name it is answered.
#[derive(Debug, Clone)]
pub(crate) struct Address<'a> {
    /// What the buttons carry, and what commands name it by.
    pub(crate) token: &'a str,
    /// Who is pinged, by the platform's ids.
    pub(crate) called: Vec<&'a str>,
    /// Whether anybody may answer here.
    pub(crate) has_approvers: bool,
    /// What commands begin with.
    pub(crate) sign: char,
    /// The workspace's name.
    pub(crate) workspace: &'a str,
    /// How many other asks fall if this one is denied.
    pub(crate) siblings: usize,
}

/// The card of an ask as it stands, and what goes along with it.
pub(crate) fn card(ask: &Ask, to: &Address<'_>) -> (Outgoing, Vec<Enclosure>) {
    let (mut text, enclosures) = asked(ask, to);
    if ask.state != AskState::Open {
        text.blocks
            .push(Block::paragraph([Span::bold(&outcome(ask))]));
        return (Outgoing::plain(text), enclosures);
    }
    let offers = offers(ask);
    let buttons = if to.has_approvers {
        let numbered = offers.iter().zip(SIGNS).enumerate();
        numbered
            .map(|(n, (offer, sign))| Button {
                label: offer.label.clone(),
                payload: format!("p:{}:{n}", to.token),
                sign: sign.to_owned(),
                meaning: offer.meaning,
            })
            .collect()
    } else {
        Vec::new()
    };
    let mut last = Vec::new();
    if to.siblings > 0 {
        let note = format!(
            "Denying it ends {} other open asks of the session as well.\n",
            to.siblings
        );
        last.push(Span::plain(&note));
    }
    if to.has_approvers {
        for person in &to.called {
            last.push(Span::Person((*person).to_owned()));
            last.push(Span::plain(" "));
        }
        let sign = to.sign;
        last.push(Span::plain("Or say "));
        last.push(Span::code(&format!("{sign}allow {} 1", to.token)));
        last.push(Span::plain(
            " (a number from above, or the words of an answer) or ",
        ));
        last.push(Span::code(&format!("{sign}deny {} why", to.token)));
        last.push(Span::plain("."));
    } else {
        last.push(Span::plain(
            "Nobody may answer it here: this channel has no approvers. It can be answered on the page.",
        ));
    }
    text.blocks.push(Block::paragraph(last));
    (Outgoing { text, buttons }, enclosures)
}

/// What is asked.
fn asked(ask: &Ask, to: &Address<'_>) -> (Text, Vec<Enclosure>) {
    let mut enclosures = Vec::new();
    let mut blocks = vec![Block::paragraph([
        Span::plain("✋ "),
        Span::bold(&line(ask.subject.tool())),
        Span::plain(&format!(
            " in {} · {} · ",
            to.workspace,
            line(&ask.requester)
        )),
        Span::code(to.token),
        Span::plain(&format!("\n{}", line(&ask.directory))),
    ])];
    match &ask.subject {
        Subject::Permission { targets, shown, .. } => {
            for part in shown {
                show(part, to.token, &mut blocks, &mut enclosures);
            }
            if shown.is_empty() {
                whole(
                    "targets",
                    &targets.join("\n"),
                    to.token,
                    &mut blocks,
                    &mut enclosures,
                );
            }
        }
        Subject::Question { questions } => {
            for question in questions {
                blocks.push(Block::paragraph([
                    Span::bold(&line(&question.header)),
                    Span::plain(&format!("\n{}", question.question)),
                ]));
                for option in &question.options {
                    blocks.push(Block::Item {
                        depth: 0,
                        marker: "•".to_owned(),
                        spans: vec![
                            Span::bold(&line(&option.label)),
                            Span::plain(&format!(" {}", option.description)),
                        ],
                    });
                }
            }
        }
        Subject::WorkspaceWrite {
            summary,
            changes,
            by,
            ..
        } => {
            let line = format!("{summary} (proposed by {})", by.name);
            blocks.push(Block::paragraph([Span::plain(&line)]));
            for change in changes {
                diff(
                    &change.path,
                    &change.patch,
                    to.token,
                    &mut blocks,
                    &mut enclosures,
                );
            }
        }
    }
    (Text { blocks }, enclosures)
}

fn show(part: &Shown, token: &str, blocks: &mut Vec<Block>, files: &mut Vec<Enclosure>) {
    match part {
        Shown::Command { text } => whole("command", text, token, blocks, files),
        Shown::Diff { path, patch } => diff(path, patch, token, blocks, files),
        Shown::Path { path, outside } => {
            let note = if *outside {
                " (outside the workspace)"
            } else {
                ""
            };
            blocks.push(Block::paragraph([
                Span::code(&line(path)),
                Span::plain(note),
            ]));
        }
        Shown::Text { label, text } => {
            blocks.push(Block::paragraph([Span::plain(&format!(
                "{}:",
                line(label)
            ))]));
            whole(label, text, token, blocks, files);
        }
    }
}

/// A text that is shown letter for letter; of a long one the head, the tail, and a file with all of it.
fn whole(name: &str, text: &str, token: &str, blocks: &mut Vec<Block>, files: &mut Vec<Enclosure>) {
    let text = visible(text);
    let length = text.chars().count();
    if length <= SHOWN {
        blocks.push(Block::code("", &text));
        return;
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(length - TAIL).collect();
    let hidden: String = text.chars().skip(HEAD).take(length - HEAD - TAIL).collect();
    let file = file_name(name, token, "txt", files);
    blocks.push(Block::code("", &head));
    blocks.push(Block::paragraph([
        Span::bold(&format!(
            "⚠ {} characters ({} line breaks) are not shown here. All {length} are in ",
            length - HEAD - TAIL,
            hidden.matches('\n').count(),
        )),
        Span::code(&file),
    ]));
    blocks.push(Block::code("", &tail));
    files.push(Enclosure {
        name: file,
        text: text.into_owned(),
    });
}

fn diff(path: &str, patch: &str, token: &str, blocks: &mut Vec<Block>, files: &mut Vec<Enclosure>) {
    let patch = visible(patch);
    let count = |sign: char| {
        let header: String = std::iter::repeat_n(sign, 3).collect();
        let lines = patch.lines();
        lines
            .filter(|line| line.starts_with(sign) && !line.starts_with(&header))
            .count()
    };
    let lines: Vec<&str> = patch.lines().collect();
    let file = file_name("change", token, "diff", files);
    blocks.push(Block::paragraph([
        Span::code(&line(path)),
        Span::plain(&format!(" +{} −{}, all of it in ", count('+'), count('-'))),
        Span::code(&file),
    ]));
    let begin = lines
        .iter()
        .take(DIFF_LINES)
        .copied()
        .collect::<Vec<_>>()
        .join("\n");
    let begin: String = begin.chars().take(SHOWN).collect();
    let is_whole = begin.len() >= patch.trim_end().len();
    blocks.push(Block::code("diff", &begin));
    if !is_whole {
        let rest = patch.chars().count() - begin.chars().count();
        let note = format!("⚠ {rest} characters of the change are not shown here.");
        blocks.push(Block::paragraph([Span::bold(&note)]));
    }
    files.push(Enclosure {
        name: file,
        text: patch.into_owned(),
    });
}

fn file_name(what: &str, token: &str, extension: &str, files: &[Enclosure]) -> String {
    let is_plain = |sign: &char| sign.is_ascii_alphanumeric() || *sign == '-';
    let what: String = what.chars().filter(is_plain).take(30).collect();
    let number = files.len() + 1;
    format!("ask-{token}-{number}-{what}.{extension}")
}

/// How an ask stands that is no longer open: what was answered, by whom, where, and whether it was delivered.
pub(crate) fn outcome(ask: &Ask) -> String {
    match &ask.state {
        AskState::Open => "Open.".to_owned(),
        AskState::Answered(answer, delivery)
        | AskState::Delivered(answer, delivery)
        | AskState::Undeliverable(answer, delivery) => {
            let sign = if answer.choice.is_yes() { "✅" } else { "⛔" };
            let delivered = match &delivery.state {
                DeliveryState::Delivered { .. } => "Delivered.".to_owned(),
                DeliveryState::Undeliverable { why, .. } => {
                    format!("Not delivered: {}.", why.sentence())
                }
                DeliveryState::Pending | DeliveryState::Sending { .. } => {
                    "On its way to the agent.".to_owned()
                }
            };
            format!(
                "{sign} {} by {}. {delivered}",
                said(ask, answer),
                giver(answer)
            )
        }
        AskState::Expired { .. } => {
            "⌛ Expired: nobody answered in time, and the agent was told so.".to_owned()
        }
        AskState::Withdrawn { why, .. } => format!("↩ Withdrawn: {}.", why.sentence()),
    }
}

fn said(ask: &Ask, answer: &Answer) -> String {
    let reason = answer.choice.reason().map(visible);
    let reason = reason
        .map(|reason| format!(" (“{reason}”)"))
        .unwrap_or_default();
    let said = match &answer.choice {
        Choice::AllowOnce => "Allowed once".to_owned(),
        Choice::AllowAlways {
            scope: Scope::Session,
            ..
        } => "Allowed for the session".to_owned(),
        Choice::AllowAlways {
            scope: Scope::Workspace,
            ..
        } => "Allowed for the workspace".to_owned(),
        Choice::Deny { .. } => "Denied".to_owned(),
        Choice::Choices { choices } => {
            let parts: Vec<String> = choices.iter().map(|part| part.join(", ")).collect();
            format!("Answered “{}”", visible(&parts.join(" | ")))
        }
        Choice::Option { id, .. } => {
            let option = ask.options.iter().find(|option| option.id == *id);
            let name = option.map_or(id.as_str(), |option| option.name.as_str());
            format!("“{}”", visible(name))
        }
    };
    format!("{said}{reason}")
}

fn giver(answer: &Answer) -> String {
    let name = visible(&answer.by.name);
    let name = match answer.by.kind {
        ActorKind::Person => name.into_owned(),
        ActorKind::Rule => format!("the rule {name}"),
        ActorKind::Agent => format!("the agent {name}"),
        ActorKind::Bridge => format!("the bridge {name}"),
    };
    let place = match answer.surface {
        Surface::Web => "in the browser",
        Surface::Cli => "at the command line",
        Surface::Api => "over the API",
        Surface::Rule => "by itself",
        Surface::Engine => "at the engine's own terminal",
        Surface::Matrix => "on Matrix",
        Surface::Telegram => "on Telegram",
        Surface::Discord => "on Discord",
        Surface::Slack => "on Slack",
    };
    format!("{name} {place}")
}

/// The number of the button that a reaction stands for, if it stands for one.
pub(crate) fn pressed_by(sign: &str, offers: &[Offer]) -> Option<usize> {
    // Keycaps come with and without the selector of their look.
    let bare = |sign: &str| sign.replace('\u{FE0F}', "");
    let number = SIGNS.iter().position(|known| bare(known) == bare(sign));
    let first = |meaning: Meaning| offers.iter().position(|offer| offer.meaning == meaning);
    let found = number.or_else(|| match bare(sign).as_str() {
        "✅" | "👍" | "✔" => first(Meaning::Yes),
        "❌" | "👎" | "⛔" | "🚫" => first(Meaning::No),
        _ => None,
    });
    found.filter(|n| *n < offers.len())
}

#[cfg(test)]
mod tests;
