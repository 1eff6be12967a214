//! One ask with everything that a person has to see before they answer. Nothing is left out.
//!
//! What the agent wrote stands behind a bar, so that it cannot pass for something that Countersign says.

use countersign_api::AskView;
use countersign_core::ask::{AskPhase, Door, OfferedOption, OptionKind, Question, Shown, Subject};
use countersign_core::session::FileDiff;
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;
use owo_colors::OwoColorize as _;

use super::{requester, standing};
use crate::duration::spoken;
use crate::reference::{short, tails};

/// The whole ask.
pub(crate) fn whole(ask: &AskView, now: Timestamp) -> String {
    let mut lines = Lines::default();
    let asked = match &ask.subject {
        Subject::Permission { .. } | Subject::Question { .. } => "asked",
        Subject::WorkspaceWrite { .. } => "proposed",
    };
    let by = format!(
        "{} {asked} by {}",
        visible(ask.subject.tool()),
        requester(ask)
    );
    lines.push(format!("{}  {by}", ask.id.bold()));
    lines.field("State", &standing(ask, now));
    lines.field(
        "Asked",
        &format!(
            "{} ({} ago)",
            ask.opened_at,
            spoken(now.since(ask.opened_at))
        ),
    );
    if let Some(end) = ask.expires_at {
        lines.field("Expires", &expiry(end, now));
    }
    lines.field("Directory", &visible(&ask.directory));
    match &ask.subject {
        Subject::Permission { .. } | Subject::Question { .. } => {
            lines.field("Session", &ask.session.to_string());
        }
        // Nobody talks in what holds the writes of a proposer together.
        Subject::WorkspaceWrite { .. } => lines.field("Client", &client(&ask.subject)),
    }
    if let Some(parent) = ask.parent_session {
        lines.field("Started by", &format!("session {parent}"));
    }
    if let Some(previous) = ask.previous {
        let ended = match &ask.subject {
            Subject::Permission { .. } | Subject::Question { .. } => "whose engine died",
            Subject::WorkspaceWrite { .. } => "the same wish, which was not carried out",
        };
        lines.field("Repeats", &format!("{previous}, {ended}"));
    }
    match &ask.subject {
        Subject::Permission { targets, shown, .. } => {
            permission(&mut lines, targets, shown);
        }
        Subject::Question { questions } => {
            for (index, part) in questions.iter().enumerate() {
                question(&mut lines, index + 1, part);
            }
        }
        Subject::WorkspaceWrite {
            summary,
            paths,
            changes,
            ..
        } => write(&mut lines, summary, paths, changes),
    }
    lines.blank();
    lines.field("Digest", &ask.digest.to_string());
    if ask.state == AskPhase::Open {
        lines.blank();
        lines.push(how_to_answer(ask));
    }
    lines.0.join("\n")
}

fn expiry(end: Timestamp, now: Timestamp) -> String {
    if end <= now {
        format!("{end}")
    } else {
        format!("{end} (in {})", spoken(end.since(now)))
    }
}

/// The commands that answer it, or why there is none.
fn how_to_answer(ask: &AskView) -> String {
    if !ask.may_answer {
        return match &ask.subject {
            Subject::Permission { .. } | Subject::Question { .. } => {
                "You may not answer it: that needs the grant `answer`".to_owned()
            }
            Subject::WorkspaceWrite { .. } => "You may not answer it: that needs the grant \
                 `approve`, and nobody answers what they proposed themselves"
                .to_owned(),
        };
    }
    let mut lines = Lines::default();
    let id = short(ask.id);
    match &ask.subject {
        Subject::Permission {
            targets, location, ..
        } => {
            if can_allow(ask) {
                lines.push(format!("  countersign allow {id}"));
            }
            if can_allow(ask) && !targets.is_empty() && location.is_known() {
                lines.push(format!(
                    "  countersign allow {id} --always --scope workspace --expires 7d"
                ));
            }
            own_options(&mut lines, ask, &id);
        }
        Subject::Question { questions } => {
            let offers = questions
                .iter()
                .any(|question| !question.options.is_empty());
            let each = |question: &Question| {
                if question.options.is_empty() {
                    "TEXT"
                } else {
                    "NUMBER"
                }
            };
            let choices: Vec<_> = questions.iter().map(each).collect();
            lines.push(format!("  countersign answer {id} {}", choices.join(" ")));
            if offers {
                let texts: Vec<_> = questions.iter().map(|_| "TEXT").collect();
                lines.push(format!(
                    "  countersign answer {id} --text {}",
                    texts.join(" ")
                ));
            }
        }
        Subject::WorkspaceWrite { .. } => lines.push(format!("  countersign allow {id}")),
    }
    let reason = if ask.door.tells_reasons() {
        "why, for the agent to read"
    } else {
        "why, for the record"
    };
    lines.push(format!("  countersign deny {id} --reason \"{reason}\""));
    if !ask.siblings.is_empty() {
        let siblings = tails(&ask.siblings).join(", ");
        let warning = format!("Denying it drops the session's other open asks too: {siblings}");
        lines.push(warning.yellow().to_string());
    }
    lines.0.join("\n")
}

/// Whether a plain yes can be said: an ACP agent may offer none, or several that a person has to tell apart.
fn can_allow(ask: &AskView) -> bool {
    let yes = |option: &&OfferedOption| option.kind == OptionKind::AllowOnce;
    !names_options(ask) || ask.options.iter().filter(yes).count() == 1
}

/// opencode's options are always the same, and `allow` and `deny` stand for them.
fn names_options(ask: &AskView) -> bool {
    match ask.door {
        Door::Acp | Door::AcpProxy => true,
        Door::Opencode | Door::OpencodePlugin | Door::Workspace => false,
    }
}

/// The agent's own options, each with what it means before what the agent calls it.
fn own_options(lines: &mut Lines, ask: &AskView, id: &str) {
    if !names_options(ask) {
        return;
    }
    for option in &ask.options {
        let meaning = match option.kind {
            OptionKind::AllowOnce => "allow once",
            OptionKind::AllowAlways => "let the agent remember",
            OptionKind::Deny => "deny",
            OptionKind::DenyAlways => "deny for good",
            OptionKind::Other => "other",
        };
        let called = format!("{meaning}: “{}”", visible(&option.name));
        lines.push(format!(
            "  countersign answer {id} --option {}  {}",
            shell_word(&visible(&option.id)),
            called.dimmed()
        ));
        if !option.note.is_empty() {
            lines.push(format!("      {}", visible(&option.note).yellow()));
        }
    }
}

/// A word as a shell has to be given it.
fn shell_word(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./:".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What the one who proposes a write calls itself.
fn client(subject: &Subject) -> String {
    match subject.client() {
        Some(name) => visible(name).into_owned(),
        None => "it does not say which".to_owned(),
    }
}

fn write(lines: &mut Lines, summary: &str, paths: &[String], changes: &[FileDiff]) {
    lines.blank();
    lines.head("What is to be done");
    lines.quote(summary);
    for change in changes {
        lines.blank();
        lines.head(&format!("Change of {}", visible(&change.path)));
        if change.patch.is_empty() {
            lines.push("Nothing would be different".to_owned());
        } else {
            lines.diff(&change.patch);
        }
    }
    if changes.is_empty() {
        lines.blank();
        lines.head("Paths");
        for path in paths {
            lines.quote(path);
        }
    }
}

fn permission(lines: &mut Lines, targets: &[String], shown: &[Shown]) {
    for part in shown {
        lines.blank();
        match part {
            Shown::Command { text } => {
                lines.head("Command");
                lines.quote(text);
            }
            Shown::Diff { path, patch } => {
                lines.head(&format!("Change of {}", visible(path)));
                lines.diff(patch);
            }
            Shown::Path {
                path,
                outside: true,
            } => {
                lines.head(&"Path outside the workspace".yellow().to_string());
                lines.quote(path);
            }
            Shown::Path {
                path,
                outside: false,
            } => {
                lines.head("Path");
                lines.quote(path);
            }
            Shown::Text { label, text } => {
                lines.head(&visible(label));
                lines.quote(text);
            }
        }
    }
    let said_already = matches!(
        (targets, shown),
        ([target], [Shown::Command { text: only } | Shown::Path { path: only, .. }]) if target == only
    );
    if !said_already && !targets.is_empty() {
        lines.blank();
        lines.head("What an “always” would match");
        for target in targets {
            lines.quote(target);
        }
    }
}

fn question(lines: &mut Lines, place: usize, part: &Question) {
    lines.blank();
    let several = if part.multiple {
        " (several may be chosen)"
    } else {
        ""
    };
    lines.head(&format!("{place}. {}{several}", visible(&part.header)));
    lines.quote(&part.question);
    for (number, option) in (1..).zip(&part.options) {
        let about = if option.description.is_empty() {
            option.label.clone()
        } else {
            format!("{}: {}", option.label, option.description)
        };
        lines.quote(&format!("{number}) {about}"));
    }
}

/// Lines that grow into a page.
#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn push(&mut self, line: String) {
        self.0.push(line);
    }

    fn blank(&mut self) {
        self.0.push(String::new());
    }

    fn field(&mut self, name: &str, value: &str) {
        let name = format!("{name:<11}");
        self.0.push(format!("{}{value}", name.dimmed()));
    }

    fn head(&mut self, text: &str) {
        self.0.push(text.bold().to_string());
    }

    fn quote(&mut self, text: &str) {
        for line in text.split('\n') {
            self.0.push(format!("{} {}", "│".dimmed(), visible(line)));
        }
    }

    fn diff(&mut self, patch: &str) {
        for line in patch.trim_end_matches('\n').split('\n') {
            let shown = visible(line);
            let coloured = match line.as_bytes().first() {
                Some(b'+') => shown.green().to_string(),
                Some(b'-') => shown.red().to_string(),
                Some(b'@') => shown.cyan().to_string(),
                Some(_) | None => shown.into_owned(),
            };
            self.0.push(format!("{} {coloured}", "│".dimmed()));
        }
    }
}
