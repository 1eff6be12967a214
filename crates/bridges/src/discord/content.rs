//! Messages as Discord has them.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::dialect;
use crate::adapter::{Button, Key, Meaning, Outgoing, OutgoingFile};
use crate::http::Form;

/// Nothing is fetched and shown for addresses in a message.
const WITHOUT_EMBEDS: u32 = 1 << 2;
/// Only one person sees it.
const EPHEMERAL: u32 = 1 << 6;
/// Discord takes so many buttons in a row, and so many rows.
const IN_A_ROW: usize = 5;
const ROWS: usize = 5;
/// The longest message, in Discord's signs.
pub(super) const LONGEST: usize = 2_000;

/// What a message is in Discord. Who is meant is always said, so that no word of it can mean anybody.
pub(super) fn message(message: &Outgoing) -> Value {
    let mut people = message.text.people();
    people.retain(|id| dialect::is_number(id));
    people.dedup();
    json!({
        "content": dialect::markdown(&message.text),
        "allowed_mentions": {"parse": [], "users": people},
        "components": rows(&message.buttons),
        "flags": WITHOUT_EMBEDS,
    })
}

/// Words that only the one sees who pressed something.
pub(super) fn whisper(words: &str) -> Value {
    let mut content = dialect::plain(words);
    if content.encode_utf16().count() > LONGEST {
        let short: String = words.chars().take(LONGEST / 4).collect();
        content = dialect::plain(&format!("{short} …"));
    }
    json!({
        "content": content,
        "allowed_mentions": {"parse": []},
        "flags": WITHOUT_EMBEDS | EPHEMERAL,
    })
}

/// `message` with what makes it one message, however often it is sent.
pub(super) fn with_key(mut message: Value, key: &Key) -> Value {
    // A nonce has 25 signs at most, and a key has more.
    let digest = Sha256::digest(key.0.as_bytes());
    message["nonce"] = json!(BASE64_URL_SAFE_NO_PAD.encode(&digest[..18]));
    message["enforce_nonce"] = json!(true);
    message
}

fn rows(buttons: &[Button]) -> Vec<Value> {
    let button = |button: &Button| {
        let style = match button.meaning {
            Meaning::Yes => 3,
            Meaning::No => 4,
            Meaning::Neutral => 2,
        };
        json!({"type": 2, "style": style, "label": button.label, "custom_id": button.payload})
    };
    let row = |buttons: &[Button]| {
        let buttons: Vec<Value> = buttons.iter().map(button).collect();
        json!({"type": 1, "components": buttons})
    };
    buttons.chunks(IN_A_ROW).take(ROWS).map(row).collect()
}

/// A file as the parts of a form, and the type that says what parts them.
pub(super) fn form(file: &OutgoingFile, key: &Key) -> (String, Bytes) {
    let message = json!({
        "attachments": [{"id": "0", "filename": Form::safe(&file.name)}],
        "allowed_mentions": {"parse": []},
    });
    Form::new()
        .json("payload_json", &with_key(message, key))
        .file("files[0]", file)
        .end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn more_options_than_there_is_room_for_are_left_to_words() {
        let button = |n: usize| Button {
            label: format!("Option {n}"),
            payload: format!("p:0123456789:{n}"),
            sign: String::new(),
            meaning: Meaning::Neutral,
        };
        let outgoing = Outgoing {
            text: Text::plain("Which?"),
            buttons: (0..30).map(button).collect(),
        };
        let message = message(&outgoing);
        let rows = message["components"].as_array().unwrap();
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[4]["components"][4]["custom_id"], "p:0123456789:24");
    }

    #[test]
    fn a_key_is_a_short_nonce_and_the_same_each_time() {
        let key = Key("cs_0123456789abcdef0123456789abcdef".to_owned());
        let (one, other) = (with_key(json!({}), &key), with_key(json!({}), &key));
        assert_eq!(one, other);
        assert_eq!(one["nonce"].as_str().unwrap().len(), 24);
    }

    #[test]
    fn a_whisper_fits_whatever_it_says() {
        let content = whisper(&"*".repeat(5_000));
        assert!(content["content"].as_str().unwrap().len() <= LONGEST);
    }
}
