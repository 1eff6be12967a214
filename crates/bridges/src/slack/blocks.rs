//! Slack's dialect: rich text, of which every element says what it is.
//!
//! `mrkdwn`, the other one, is read for mentions, and three backticks in code would end the code. In rich text words are
//! words, and only an element of the kind `user` means anybody.

use serde_json::{Value, json};

use crate::adapter::{Button, Key, Meaning, Outgoing};
use crate::text::{Block, Span, Text};

/// How much of a text stands in notifications, where there are no blocks.
const NOTIFIED: usize = 300;

/// A message as blocks. The key is the name of the first: nobody sees it, and it is found again by it.
pub(super) fn blocks(message: &Outgoing, key: Option<&Key>) -> Value {
    let mut first = rich_text(&message.text);
    if let Some(key) = key {
        first["block_id"] = json!(key.0);
    }
    let mut blocks = vec![first];
    if !message.buttons.is_empty() {
        let elements: Vec<Value> = message.buttons.iter().enumerate().map(button).collect();
        blocks.push(json!({"type": "actions", "elements": elements}));
    }
    Value::Array(blocks)
}

fn button((n, button): (usize, &Button)) -> Value {
    let label = if button.label.is_empty() {
        "…"
    } else {
        &button.label
    };
    let mut element = json!({
        "type": "button",
        "action_id": format!("countersign_{n}"),
        "value": button.payload,
        "text": {"type": "plain_text", "text": label, "emoji": false},
    });
    match button.meaning {
        Meaning::Yes => element["style"] = json!("primary"),
        Meaning::No => element["style"] = json!("danger"),
        Meaning::Neutral => {}
    }
    element
}

/// What stands in notifications: words in which nothing means anything.
pub(super) fn notice(text: &Text) -> String {
    let words = text.words();
    let mut short: String = words.chars().take(NOTIFIED).collect();
    if short.len() < words.len() {
        short.push('…');
    }
    escape(&short)
}

/// A text as one block.
pub(super) fn rich_text(text: &Text) -> Value {
    let mut elements: Vec<Value> = Vec::new();
    let mut section: Vec<Value> = Vec::new();
    for block in &text.blocks {
        match block {
            Block::Paragraph { spans } => in_section(&mut section, "\n", spans, false),
            Block::Heading { spans } => in_section(&mut section, "\n", spans, true),
            Block::Item {
                depth,
                marker,
                spans,
            } => {
                let indent = "    ".repeat(usize::from(*depth));
                in_section(&mut section, "", &[], false);
                section.push(words(&format!("{indent}{marker} "), None));
                section.extend(spans.iter().filter_map(|span| element(span, false)));
            }
            Block::Quote { spans } => {
                end_section(&mut elements, &mut section);
                let quoted: Vec<Value> = spans
                    .iter()
                    .filter_map(|span| element(span, false))
                    .collect();
                if !quoted.is_empty() {
                    elements.push(json!({"type": "rich_text_quote", "elements": quoted}));
                }
            }
            Block::Code { text, .. } => {
                end_section(&mut elements, &mut section);
                let text = if text.is_empty() { " " } else { text };
                let code =
                    json!({"type": "rich_text_preformatted", "elements": [words(text, None)]});
                elements.push(code);
            }
        }
    }
    end_section(&mut elements, &mut section);
    if elements.is_empty() {
        // A block of nothing is none.
        elements.push(json!({"type": "rich_text_section", "elements": [words(" ", None)]}));
    }
    json!({"type": "rich_text", "elements": elements})
}

/// Adds a line to what is said without a break of its kind, with `gap` more between it and what stands before.
fn in_section(section: &mut Vec<Value>, gap: &str, spans: &[Span], is_bold: bool) {
    if !section.is_empty() {
        section.push(words(&format!("\n{gap}"), None));
    }
    section.extend(spans.iter().filter_map(|span| element(span, is_bold)));
}

fn end_section(elements: &mut Vec<Value>, section: &mut Vec<Value>) {
    if !section.is_empty() {
        let section = std::mem::take(section);
        elements.push(json!({"type": "rich_text_section", "elements": section}));
    }
}

fn words(text: &str, style: Option<&str>) -> Value {
    let mut element = json!({"type": "text", "text": text});
    if let Some(style) = style {
        element["style"] = json!({style: true});
    }
    element
}

fn element(span: &Span, is_bold: bool) -> Option<Value> {
    // Slack refuses elements of nothing.
    if span.words().is_empty() {
        return None;
    }
    Some(match span {
        Span::Plain(text) => words(text, is_bold.then_some("bold")),
        Span::Bold(text) => words(text, Some("bold")),
        Span::Italic(text) => words(text, Some("italic")),
        Span::Code(text) => words(text, Some("code")),
        Span::Link { label, url } => json!({"type": "link", "url": url, "text": label}),
        Span::Person(id) => json!({"type": "user", "user_id": id}),
    })
}

/// Words in which nothing means anything to Slack.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_says_what_it_is_and_words_are_words() {
        let text = Text {
            blocks: vec![
                Block::Heading {
                    spans: vec![Span::plain("Look")],
                },
                Block::paragraph([Span::plain("<!everyone> "), Span::Person("U1".to_owned())]),
                Block::code("sh", "echo '```'"),
            ],
        };
        let expected = json!({"type": "rich_text", "elements": [
            {"type": "rich_text_section", "elements": [
                {"type": "text", "text": "Look", "style": {"bold": true}},
                {"type": "text", "text": "\n\n"},
                {"type": "text", "text": "<!everyone> "},
                {"type": "user", "user_id": "U1"},
            ]},
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "echo '```'"}]},
        ]});
        assert_eq!(rich_text(&text), expected);
        assert!(notice(&text).contains("&lt;!everyone&gt;"));
    }

    #[test]
    fn a_text_of_nothing_is_still_a_block() {
        let empty = rich_text(&Text::plain(""));
        assert_eq!(empty["elements"][0]["elements"][0]["text"], " ");
    }
}
