//! What of a session has been shown, so that words which come twice, live and as a finished item, are
//! shown once.

use std::collections::HashMap;

use countersign_core::session::{Item, PlanStep, StepStatus, ToolStatus, TranscriptItem};
use countersign_core::visible::visible;
use owo_colors::OwoColorize as _;
use serde_json::Value;

use crate::ask_text::cut;

const INPUT_LIMIT: usize = 240;
const OUTPUT_LIMIT: usize = 400;

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// More of what the agent says.
    Words(String),
    /// More of what it thinks.
    Thought(String),
    /// A line about what it does.
    Line(String),
}

/// What has been shown of a session.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    said: HashMap<String, Said>,
    tools: HashMap<i64, ToolStatus>,
    /// The piece that was shown last; another one begins on a new line.
    current: String,
}

/// What has been shown of one piece.
#[derive(Debug, Default)]
struct Said {
    shown: String,
    /// The end of `shown` that was taken from the item itself, ahead of its words as they come live.
    ahead: String,
}

impl Transcript {
    /// Words as they are said.
    pub(super) fn live(&mut self, native_id: &str, words: &str, thought: bool) -> Vec<Piece> {
        let said = self.said.entry(native_id.to_owned()).or_default();
        let fresh = if let Some(rest) = said.ahead.strip_prefix(words) {
            said.ahead = rest.to_owned();
            String::new()
        } else {
            let fresh = words.strip_prefix(said.ahead.as_str()).unwrap_or(words);
            said.ahead.clear();
            fresh.to_owned()
        };
        said.shown.push_str(&fresh);
        self.piece(native_id, fresh, thought)
    }

    /// An item as it is in the ledger.
    pub(super) fn item(&mut self, item: &TranscriptItem) -> Vec<Piece> {
        match &item.item {
            // Whoever prompts knows what came along.
            Item::Prompt { .. } | Item::Attachment { .. } => Vec::new(),
            Item::Text { text } => self.catch_up(&item.native_id, text, false),
            Item::Thought { text } => self.catch_up(&item.native_id, text, true),
            Item::Plan { steps } => self.once(&item.native_id, &plan(steps)),
            Item::Notice { text } => self.once(&item.native_id, &visible(text)),
            Item::Tool {
                tool,
                status,
                input,
                output,
                ..
            } => self.tool(item.seq, tool, *status, input, output),
        }
    }

    fn catch_up(&mut self, native_id: &str, text: &str, thought: bool) -> Vec<Piece> {
        let said = self.said.entry(native_id.to_owned()).or_default();
        let fresh = if let Some(rest) = text.strip_prefix(said.shown.as_str()) {
            rest.to_owned()
        } else if said.shown.starts_with(text) {
            // An older state of it.
            String::new()
        } else {
            format!("\n{text}")
        };
        text.clone_into(&mut said.shown);
        said.ahead.push_str(&fresh);
        self.piece(native_id, fresh, thought)
    }

    fn once(&mut self, native_id: &str, line: &str) -> Vec<Piece> {
        let said = self.said.entry(native_id.to_owned()).or_default();
        if said.shown == line {
            return Vec::new();
        }
        line.clone_into(&mut said.shown);
        vec![Piece::Line(line.to_owned())]
    }

    fn tool(
        &mut self,
        seq: i64,
        tool: &str,
        status: ToolStatus,
        input: &Value,
        output: &str,
    ) -> Vec<Piece> {
        if status == ToolStatus::Pending || self.tools.insert(seq, status) == Some(status) {
            return Vec::new();
        }
        self.current.clear();
        let call = format!("{}  {}", visible(tool).bold(), about(input));
        let line = match status {
            ToolStatus::Pending | ToolStatus::Running => format!("{} {call}", "▸".cyan()),
            ToolStatus::Completed => format!("{} {call}", "✓".green()),
            ToolStatus::Failed => {
                let output = cut(output, OUTPUT_LIMIT, String::new);
                format!("{} {call}\n  {}", "✗".red(), output.red())
            }
        };
        vec![Piece::Line(line)]
    }

    fn piece(&mut self, native_id: &str, fresh: String, thought: bool) -> Vec<Piece> {
        if fresh.is_empty() {
            return Vec::new();
        }
        let fresh = if self.current.is_empty() || self.current == native_id {
            fresh
        } else {
            format!("\n{fresh}")
        };
        native_id.clone_into(&mut self.current);
        vec![if thought {
            Piece::Thought(fresh)
        } else {
            Piece::Words(fresh)
        }]
    }
}

/// A plan, with a mark at each step that says where it stands.
fn plan(steps: &[PlanStep]) -> String {
    let lines = steps.iter().map(|step| {
        let mark = match step.status {
            StepStatus::Pending => "○".dimmed().to_string(),
            StepStatus::InProgress => "▸".cyan().to_string(),
            StepStatus::Completed => "✓".green().to_string(),
        };
        format!("\n  {mark} {}", visible(&step.text))
    });
    format!("Plan:{}", lines.collect::<String>())
}

/// What a tool was given, on one line.
fn about(input: &Value) -> String {
    const TELLING: [&str; 8] = [
        "command",
        "filePath",
        "path",
        "pattern",
        "url",
        "query",
        "description",
        "prompt",
    ];
    let text = TELLING
        .iter()
        .find_map(|key| input.get(key).and_then(Value::as_str))
        .map_or_else(|| input.to_string(), str::to_owned);
    cut(&text, INPUT_LIMIT, String::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use countersign_core::time::Timestamp;
    use serde_json::json;

    fn row(seq: i64, native_id: &str, item: Item) -> TranscriptItem {
        TranscriptItem {
            seq,
            native_id: native_id.to_owned(),
            at: Timestamp::from_micros(0),
            changed_at: None,
            item,
        }
    }

    fn text(native_id: &str, text: &str) -> TranscriptItem {
        row(
            1,
            native_id,
            Item::Text {
                text: text.to_owned(),
            },
        )
    }

    fn words(pieces: Vec<Vec<Piece>>) -> String {
        pieces
            .into_iter()
            .flatten()
            .map(|piece| match piece {
                Piece::Words(words) | Piece::Thought(words) => words,
                Piece::Line(line) => format!("[{}]", strip_str(&line)),
            })
            .collect()
    }

    #[test]
    fn words_that_come_live_and_as_an_item_are_shown_once() {
        let mut transcript = Transcript::default();
        let shown = vec![
            transcript.live("a", "Hello ", false),
            transcript.live("a", "world", false),
            transcript.item(&text("a", "Hello world")),
            transcript.item(&text("a", "Hello world")),
        ];
        assert_eq!(words(shown), "Hello world");
    }

    #[test]
    fn words_that_were_missed_are_made_up_for_and_late_ones_not_repeated() {
        let mut transcript = Transcript::default();
        let shown = vec![
            transcript.live("a", "Hel", false),
            transcript.item(&text("a", "Hello wor")),
            transcript.live("a", "lo ", false),
            transcript.live("a", "world", false),
            transcript.live("a", "!", false),
            transcript.item(&text("a", "Hello world!")),
        ];
        assert_eq!(words(shown), "Hello world!");
    }

    #[test]
    fn another_piece_begins_on_a_new_line() {
        let mut transcript = Transcript::default();
        let shown = vec![
            transcript.live("a", "one", true),
            transcript.live("b", "two", false),
        ];
        assert_eq!(words(shown), "one\ntwo");
    }

    #[test]
    fn a_tool_is_told_when_it_starts_and_when_it_ends() {
        let mut transcript = Transcript::default();
        let tool = |status, output: &str| {
            row(
                2,
                "t",
                Item::Tool {
                    tool: "bash".to_owned(),
                    status,
                    input: json!({"command": "ls \u{1b}[2K"}),
                    output: output.to_owned(),
                    changes: Vec::new(),
                    child: None,
                },
            )
        };
        let shown = vec![
            transcript.item(&tool(ToolStatus::Pending, "")),
            transcript.item(&tool(ToolStatus::Running, "")),
            transcript.item(&tool(ToolStatus::Running, "")),
            transcript.item(&tool(ToolStatus::Failed, "no")),
        ];
        assert_eq!(
            words(shown),
            "[▸ bash  ls ⟨U+001B⟩[2K][✗ bash  ls ⟨U+001B⟩[2K\n  no]"
        );
    }
}
