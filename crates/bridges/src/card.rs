//! The card of an ask: what will run, whole or with the count of what is not shown, and the options. Pure.

use countersign_core::actor::{ActorKind, Surface};
use countersign_core::answer::{Answer, Choice, Scope};
use countersign_core::ask::{Ask, AskState, Door, OptionKind, Shown, Subject};
use countersign_core::delivery::DeliveryState;
use countersign_core::visible::visible;

use crate::adapter::{Button, Meaning, Outgoing};
use crate::text::{Block, Span, Text};

/// How often the room on a card is halved until it fits.
const HALVINGS: usize = 6;
/// The longest label of a button, in characters.
const LABEL: usize = 75;
/// More options than this have no buttons: they are named.
const MOST_BUTTONS: usize = 9;
/// The reactions that stand for buttons.
const SIGNS: [&str; MOST_BUTTONS] = ["1️⃣", "2️⃣", "3️⃣", "4️⃣", "5️⃣", "6️⃣", "7️⃣", "8️⃣", "9️⃣"];

/// How much of each text is on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Room {
    /// The most that is shown whole, in characters; of more than that the head and the tail are.
    shown: usize,
    head: usize,
    tail: usize,
    /// How many lines of a change are.
    diff_lines: usize,
}

impl Room {
    const MOST: Self = Self {
        shown: 3_000,
        head: 2_000,
        tail: 800,
        diff_lines: 30,
    };

    const fn halved(self) -> Self {
        Self {
            shown: self.shown / 2,
            head: self.head / 2,
            tail: self.tail / 2,
            diff_lines: self.diff_lines / 2,
        }
    }
}

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

/// The card of an ask as it stands, and what goes along with it. As much is shown of it as `fits` the platform; what is not
/// shown is counted, and is in a file.
pub(crate) fn card(
    ask: &Ask,
    to: &Address<'_>,
    fits: impl Fn(&Text) -> bool,
) -> (Outgoing, Vec<Enclosure>) {
    let mut room = Room::MOST;
    for _ in 0..HALVINGS {
        let made = card_within(ask, to, asked(ask, to, room));
        if fits(&made.0.text) {
            return made;
        }
        room = room.halved();
    }
    // Something else in it is long: all of it is in a file then.
    let (whole, mut enclosures) = asked(ask, to, Room::MOST);
    let file = file_name("ask", to.token, "txt", &enclosures);
    let text = Text::default().with(Block::paragraph([
        Span::plain("✋ An ask that is too long for a message. "),
        Span::bold("⚠ All of it is in "),
        Span::code(&file),
        Span::plain(" · "),
        Span::code(to.token),
    ]));
    enclosures.push(Enclosure {
        name: file,
        text: whole.words(),
    });
    card_within(ask, to, (text, enclosures))
}

/// The card of an ask of which `asked` is shown.
fn card_within(
    ask: &Ask,
    to: &Address<'_>,
    asked: (Text, Vec<Enclosure>),
) -> (Outgoing, Vec<Enclosure>) {
    let (mut text, enclosures) = asked;
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
fn asked(ask: &Ask, to: &Address<'_>, room: Room) -> (Text, Vec<Enclosure>) {
    let blocks = vec![Block::paragraph([
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
    let mut board = Board {
        token: to.token,
        room,
        blocks,
        enclosures: Vec::new(),
    };
    match &ask.subject {
        Subject::Permission { targets, shown, .. } => {
            for part in shown {
                board.show(part);
            }
            if shown.is_empty() {
                board.whole("targets", &targets.join("\n"));
            }
        }
        Subject::Question { questions } => {
            for question in questions {
                board.blocks.push(Block::paragraph([
                    Span::bold(&line(&question.header)),
                    Span::plain(&format!("\n{}", question.question)),
                ]));
                for option in &question.options {
                    board.blocks.push(Block::Item {
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
            board.blocks.push(Block::paragraph([Span::plain(&line)]));
            for change in changes {
                board.diff(&change.path, &change.patch);
            }
        }
    }
    let text = Text {
        blocks: board.blocks,
    };
    (text, board.enclosures)
}

/// What is asked, while it is put on a card.
struct Board<'a> {
    token: &'a str,
    room: Room,
    blocks: Vec<Block>,
    enclosures: Vec<Enclosure>,
}

impl Board<'_> {
    fn show(&mut self, part: &Shown) {
        match part {
            Shown::Command { text } => self.whole("command", text),
            Shown::Diff { path, patch } => self.diff(path, patch),
            Shown::Path { path, outside } => {
                let note = if *outside {
                    " (outside the workspace)"
                } else {
                    ""
                };
                self.blocks.push(Block::paragraph([
                    Span::code(&line(path)),
                    Span::plain(note),
                ]));
            }
            Shown::Text { label, text } => {
                self.blocks.push(Block::paragraph([Span::plain(&format!(
                    "{}:",
                    line(label)
                ))]));
                self.whole(label, text);
            }
        }
    }

    /// A text that is shown letter for letter; of a long one the head, the tail, and a file with all of it.
    fn whole(&mut self, name: &str, text: &str) {
        let Room {
            shown,
            head: most_head,
            tail: most_tail,
            ..
        } = self.room;
        let text = visible(text);
        let length = text.chars().count();
        if length <= shown {
            self.blocks.push(Block::code("", &text));
            return;
        }
        let hidden_length = length - most_head - most_tail;
        let head: String = text.chars().take(most_head).collect();
        let tail: String = text.chars().skip(length - most_tail).collect();
        let hidden: String = text.chars().skip(most_head).take(hidden_length).collect();
        let file = file_name(name, self.token, "txt", &self.enclosures);
        self.blocks.push(Block::code("", &head));
        self.blocks.push(Block::paragraph([
            Span::bold(&format!(
                "⚠ {} characters ({} line breaks) are not shown here. All {length} are in ",
                hidden_length,
                hidden.matches('\n').count(),
            )),
            Span::code(&file),
        ]));
        self.blocks.push(Block::code("", &tail));
        self.enclosures.push(Enclosure {
            name: file,
            text: text.into_owned(),
        });
    }

    fn diff(&mut self, path: &str, patch: &str) {
        let patch = visible(patch);
        let count = |sign: char| {
            let header: String = std::iter::repeat_n(sign, 3).collect();
            let lines = patch.lines();
            lines
                .filter(|line| line.starts_with(sign) && !line.starts_with(&header))
                .count()
        };
        let lines: Vec<&str> = patch.lines().collect();
        let file = file_name("change", self.token, "diff", &self.enclosures);
        self.blocks.push(Block::paragraph([
            Span::code(&line(path)),
            Span::plain(&format!(" +{} −{}, all of it in ", count('+'), count('-'))),
            Span::code(&file),
        ]));
        let begin = lines
            .iter()
            .take(self.room.diff_lines)
            .copied()
            .collect::<Vec<_>>()
            .join("\n");
        let begin: String = begin.chars().take(self.room.shown).collect();
        let is_whole = begin.len() >= patch.trim_end().len();
        self.blocks.push(Block::code("diff", &begin));
        if !is_whole {
            let rest = patch.chars().count() - begin.chars().count();
            let note = format!("⚠ {rest} characters of the change are not shown here.");
            self.blocks.push(Block::paragraph([Span::bold(&note)]));
        }
        self.enclosures.push(Enclosure {
            name: file,
            text: patch.into_owned(),
        });
    }
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
