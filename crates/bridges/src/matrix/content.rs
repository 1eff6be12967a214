//! Messages as Matrix has them.

use serde_json::{Value, json};

use super::html;
use crate::adapter::{Outgoing, Place};
use crate::text::{Block, Span, Text};

/// What says on a message of ours how many reactions were seeded.
pub(super) const SEEDED: &str = "org.countersign.buttons";

/// What a message is in Matrix. Who is meant is always said, so that no word of it can mean anybody.
pub(super) fn content(message: &Outgoing) -> Value {
    let mut body = message.text.words();
    let mut formatted = html::html(&message.text);
    if !message.buttons.is_empty() {
        formatted.push_str("<p>");
        for button in &message.buttons {
            let legend = format!("{} {}", button.sign, button.label);
            body.push('\n');
            body.push_str(&legend);
            // The signs have selectors in them, which are meant.
            let text = Text::default().with(Block::paragraph([Span::Plain(legend)]));
            let line = html::html(&text);
            formatted.push_str(line.trim_start_matches("<p>").trim_end_matches("</p>"));
            formatted.push_str("<br>");
        }
        formatted.push_str("</p>");
    }
    let people = message.text.people();
    let mentions = if people.is_empty() {
        json!({})
    } else {
        json!({"user_ids": people})
    };
    json!({
        "msgtype": "m.text",
        "body": body,
        "format": "org.matrix.custom.html",
        "formatted_body": formatted,
        "m.mentions": mentions,
        SEEDED: message.buttons.len(),
    })
}

/// Puts a message into its thread.
pub(super) fn in_thread(mut content: Value, place: &Place) -> Value {
    if let Some(root) = &place.thread {
        content["m.relates_to"] = json!({
            "rel_type": "m.thread",
            "event_id": root,
            "is_falling_back": true,
            "m.in_reply_to": {"event_id": root},
        });
    }
    content
}
