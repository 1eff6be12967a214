//! Messages as Telegram has them: plain words, and beside them what stands out in which units of UTF-16. Nothing is
//! escaped, so nothing can break out.
//!
//! Telegram looks for mentions and commands in words by itself, and pings whoever is mentioned; it does not in code. So
//! whatever looks like one is code here, letter for letter as it was. It reads a hundred entities of a message at most: one
//! that needs more is code as a whole.

use countersign_core::visible::visible;
use serde_json::{Value, json};

use crate::adapter::{Button, Meaning, Outgoing};
use crate::text::{Block, Span, Text};

/// The longest text of a message, in units of UTF-16.
pub(super) const LONGEST: usize = 4_096;
/// How many entities are sent.
const MOST_ENTITIES: usize = 95;
/// The longest payload of a button, in bytes.
const LONGEST_PAYLOAD: usize = 64;
/// The longest name that a person is called by, in characters.
const LONGEST_NAME: usize = 24;
/// What an empty text is: Telegram takes none.
const NOTHING: &str = "…";

/// A text in Telegram's terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Written {
    pub(super) words: String,
    pub(super) entities: Vec<Value>,
    units: usize,
}

/// What a message is, without where it goes. Buttons that are not there are said to be none: an edit without a word on them
/// would leave the old ones.
pub(super) fn content(message: &Outgoing, name_of: impl Fn(&str) -> Option<String>) -> Value {
    let mut written = write(&message.text, name_of);
    if written.units > LONGEST {
        // Names were longer than what was measured.
        written = write(&message.text, |_| None);
    }
    json!({
        "text": written.words,
        "entities": written.entities,
        "link_preview_options": {"is_disabled": true},
        "reply_markup": {"inline_keyboard": message.buttons.iter().map(row).collect::<Vec<_>>()},
    })
}

/// A button on a row of its own: labels can be long.
fn row(button: &Button) -> Value {
    debug_assert!(button.payload.len() <= LONGEST_PAYLOAD, "the core promises");
    let mut made = json!({"text": button.label, "callback_data": button.payload});
    match button.meaning {
        Meaning::Yes => made["style"] = json!("success"),
        Meaning::No => made["style"] = json!("danger"),
        Meaning::Neutral => {}
    }
    json!([made])
}

/// Writes a text; a person is called by their name, or by their id where that is not known.
pub(super) fn write(text: &Text, name_of: impl Fn(&str) -> Option<String>) -> Written {
    let mut written = Written::default();
    written.text(text, &name_of);
    if written.entities.len() > MOST_ENTITIES {
        written = as_code(text, &name_of);
    }
    if written.words.trim().is_empty() {
        written = Written::default();
        written.push(NOTHING);
    }
    written
}

/// The same words with nothing but people in them: all between those is code.
fn as_code(text: &Text, name_of: &impl Fn(&str) -> Option<String>) -> Written {
    let mut whole = Written::default();
    whole.text(text, name_of);
    let is_person = |entity: &&Value| entity["type"] == "text_mention";
    // Each has code before it, and there is some after the last one.
    let people = whole.entities.iter().filter(is_person);
    let people: Vec<Value> = people.take((MOST_ENTITIES - 1) / 2).cloned().collect();
    let mut at = 0;
    let mut entities = Vec::new();
    let code = |from: usize, to: usize, entities: &mut Vec<Value>| {
        if to > from {
            entities.push(json!({"type": "code", "offset": from, "length": to - from}));
        }
    };
    for person in people {
        let number = |name: &str| {
            let found = person[name].as_u64().unwrap_or(0);
            usize::try_from(found).unwrap_or(0)
        };
        let (from, length) = (number("offset"), number("length"));
        code(at, from, &mut entities);
        at = from + length;
        entities.push(person);
    }
    code(at, whole.units, &mut entities);
    Written { entities, ..whole }
}

impl Written {
    fn push(&mut self, words: &str) {
        self.words.push_str(words);
        self.units += words.encode_utf16().count();
    }

    /// Words that stand out, by an entity that is made of `entity`.
    fn marked(&mut self, words: &str, mut entity: Value) {
        let offset = self.units;
        self.push(words);
        if self.units > offset {
            entity["offset"] = json!(offset);
            entity["length"] = json!(self.units - offset);
            self.entities.push(entity);
        }
    }

    fn text(&mut self, text: &Text, name_of: &impl Fn(&str) -> Option<String>) {
        let mut former: Option<&Block> = None;
        for block in &text.blocks {
            match (former, block) {
                (None, _) => {}
                (
                    Some(Block::Paragraph { .. }),
                    Block::Paragraph { .. } | Block::Heading { .. },
                ) => {
                    self.push("\n\n");
                }
                (Some(_), _) => self.push("\n"),
            }
            self.block(block, name_of);
            former = Some(block);
        }
    }

    fn block(&mut self, block: &Block, name_of: &impl Fn(&str) -> Option<String>) {
        match block {
            Block::Paragraph { spans } => self.spans(spans, None, name_of),
            Block::Heading { spans } => self.spans(spans, Some("bold"), name_of),
            Block::Quote { spans } => {
                let offset = self.units;
                let at = self.entities.len();
                self.spans(spans, None, name_of);
                if self.units > offset {
                    let quote = json!({
                        "type": "blockquote", "offset": offset, "length": self.units - offset,
                    });
                    self.entities.insert(at, quote);
                }
            }
            Block::Item {
                depth,
                marker,
                spans,
            } => {
                self.push(&"  ".repeat(usize::from(*depth)));
                self.push(marker);
                self.push(" ");
                self.spans(spans, None, name_of);
            }
            Block::Code { language, text } => {
                let mut entity = json!({"type": "pre"});
                if !language.is_empty() {
                    entity["language"] = json!(language);
                }
                self.marked(text, entity);
            }
        }
    }

    fn spans(
        &mut self,
        spans: &[Span],
        look: Option<&str>,
        name_of: &impl Fn(&str) -> Option<String>,
    ) {
        for span in spans {
            match span {
                Span::Plain(words) => self.harmless(words, look),
                Span::Bold(words) => self.harmless(words, Some("bold")),
                Span::Italic(words) => self.harmless(words, Some("italic")),
                Span::Code(words) => self.marked(words, json!({"type": "code"})),
                Span::Link { label, url } => {
                    if triggers(label).next().is_none() {
                        self.marked(label, json!({"type": "text_link", "url": url}));
                    } else {
                        self.harmless(label, look);
                    }
                }
                Span::Person(id) => self.person(id, name_of(id).as_deref()),
            }
        }
    }

    /// Somebody who is pinged.
    fn person(&mut self, id: &str, name: Option<&str>) {
        let Ok(number) = id.parse::<i64>() else {
            self.marked(id, json!({"type": "code"}));
            return;
        };
        // People call themselves what they like: a name is one line, and means nobody else.
        let name = visible(name.unwrap_or_default()).replace(['\n', '\t'], " ");
        let name: String = name
            .trim_start_matches(['@', '/'])
            .chars()
            .take(LONGEST_NAME)
            .collect();
        let name = if name.trim().is_empty() {
            id
        } else {
            name.as_str()
        };
        let user = json!({"id": number, "is_bot": false, "first_name": name});
        self.marked(name, json!({"type": "text_mention", "user": user}));
    }

    /// Words in which nothing means anything to Telegram.
    fn harmless(&mut self, words: &str, look: Option<&str>) {
        let mut rest = 0;
        for (from, to) in triggers(words) {
            self.looking(&words[rest..from], look);
            self.marked(&words[from..to], json!({"type": "code"}));
            rest = to;
        }
        self.looking(&words[rest..], look);
    }

    fn looking(&mut self, words: &str, look: Option<&str>) {
        match look {
            Some(look) => self.marked(words, json!({"type": look})),
            None => self.push(words),
        }
    }
}

/// Where words look like a mention (`@name`) or like a command that is sent when somebody taps on it (`/name`), in bytes.
fn triggers(words: &str) -> impl Iterator<Item = (usize, usize)> {
    let is_word = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + words.get(from..)?.find(['@', '/'])?;
            let rest = &words[at + 1..];
            let length = rest.find(|sign| !is_word(sign)).unwrap_or(rest.len());
            from = at + 1 + length;
            let before = words[..at].chars().next_back();
            let can_begin = words[at..].starts_with('@')
                || !before.is_some_and(|sign| sign.is_alphanumeric() || "/:_".contains(sign));
            if length > 0 && can_begin {
                return Some((at, from));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &Text) -> Written {
        write(text, |_| None)
    }

    /// What each entity is about, by cutting the words as Telegram does.
    fn marked(written: &Written) -> Vec<(String, String)> {
        let units: Vec<u16> = written.words.encode_utf16().collect();
        let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        let entities = written.entities.iter();
        entities
            .map(|entity| {
                let from = number(&entity["offset"]);
                let part = &units[from..from + number(&entity["length"])];
                let kind = entity["type"].as_str().unwrap().to_owned();
                (kind, String::from_utf16(part).unwrap())
            })
            .collect()
    }

    #[test]
    fn what_stands_out_is_counted_in_units_of_utf_16() {
        let text = Text {
            blocks: vec![
                Block::Heading {
                    spans: vec![Span::plain("😀 title")],
                },
                Block::paragraph([Span::plain("so "), Span::bold("𝔹old"), Span::code("`x`")]),
                Block::code("rust", "fn a() {\n  \"<b>\"\n}"),
                Block::Quote {
                    spans: vec![Span::plain("quoted")],
                },
            ],
        };
        let written = plain(&text);
        let marked = marked(&written);
        let marked: Vec<(&str, &str)> = marked
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            marked,
            [
                ("bold", "😀 title"),
                ("bold", "𝔹old"),
                ("code", "`x`"),
                ("pre", "fn a() {\n  \"<b>\"\n}"),
                ("blockquote", "quoted"),
            ]
        );
        assert_eq!(written.entities[3]["language"], "rust");
    }

    #[test]
    fn mentions_and_commands_are_code_and_paths_and_addresses_stay() {
        let text = Text {
            blocks: vec![Block::paragraph([
                Span::plain(
                    "ask @alice, tap /allow or (/deny@sign_bot) see https://a.example/b/c and a/b 5 / 6 a@b",
                ),
                Span::bold("really @bob"),
                Span::Link {
                    label: "@eve".to_owned(),
                    url: "https://a.example".to_owned(),
                },
            ])],
        };
        let marked = marked(&plain(&text));
        let code: Vec<&str> = marked
            .iter()
            .filter(|(kind, _)| kind == "code")
            .map(|(_, words)| words.as_str())
            .collect();
        assert_eq!(
            code,
            [
                "@alice",
                "/allow",
                "/deny",
                "@sign_bot",
                "@b",
                "@bob",
                "@eve"
            ]
        );
        assert!(marked.contains(&("bold".to_owned(), "really ".to_owned())));
        assert!(!marked.iter().any(|(kind, _)| kind == "text_link"));
    }

    #[test]
    fn more_entities_than_telegram_reads_become_one_and_people_are_still_called() {
        let mut spans = vec![Span::Person("7".to_owned())];
        spans.extend((0..300).map(|n| Span::plain(&format!(" @name{n}"))));
        spans.push(Span::Person("8".to_owned()));
        let text = Text {
            blocks: vec![Block::Paragraph { spans }],
        };
        let name = "@Ali\u{202E}ce\n";
        let written = write(&text, |id| (id == "7").then(|| name.to_owned()));
        let marked = marked(&written);
        let kinds: Vec<&str> = marked.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["text_mention", "code", "text_mention"]);
        assert_eq!(marked[0].1, "Ali⟨U+202E⟩ce ");
        assert_eq!(written.entities[0]["user"]["id"], 7);
        assert!(marked[1].1.contains("@name0") && marked[1].1.contains("@name299"));
    }

    #[test]
    fn an_empty_text_is_none_and_buttons_that_are_not_there_are_said_to_be_none() {
        let content = content(&Outgoing::plain(Text::plain(" ")), |_| None);
        assert_eq!(content["text"], "…");
        assert_eq!(content["reply_markup"], json!({"inline_keyboard": []}));
    }
}
