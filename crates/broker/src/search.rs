//! Looking for words in what was said and done, in every session that the caller may see.
//!
//! How much is looked at is bounded, and said: whoever wants more looks further back.

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::session::Item;
use countersign_store::{LookedAt, Passage, Place};
use serde_json::Value;

use crate::Broker;
use crate::error::BrokerError;

/// The longest text that can be looked for, in characters.
const LONGEST: usize = 200;
/// How many words it can have.
const MOST_WORDS: usize = 8;
/// How many items are looked at with the ledger in hand.
const STRETCH: i64 = 2_000;
/// How many items are looked at for one request.
const MOST: u64 = 100_000;
/// How many items are read at a time that may hold the words.
const AT_ONCE: i64 = 50;
/// How much stands before and behind a word that was found, in characters.
const BEFORE: usize = 48;
const AFTER: usize = 120;

/// What somebody looks for.
#[derive(Debug, Clone)]
pub struct SearchWish {
    /// The words; all of them have to be in one item.
    pub text: String,
    /// Only in this workspace.
    pub workspace: Option<WorkspaceId>,
    /// Only in what is older than this.
    pub before: Option<Place>,
    /// How many places are wanted.
    pub limit: usize,
}

/// A place where words were found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The item and its session.
    pub passage: Passage,
    /// What stands around the first of the words.
    pub excerpt: Excerpt,
}

/// A word that was found, and what stands around it, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// What stands before it; `…` where it goes on.
    pub before: String,
    /// The word as it is written there.
    pub matched: String,
    /// What stands behind it.
    pub after: String,
}

/// What was found, newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Finding {
    /// The places.
    pub hits: Vec<Hit>,
    /// How many items were looked at.
    pub looked_at: u64,
    /// Where to go on; nothing if everything was looked at.
    pub next: Option<Place>,
}

impl Broker {
    /// Looks for words in every transcript that the caller may see.
    pub async fn search(&self, caller: &Caller, wish: SearchWish) -> Result<Finding, BrokerError> {
        caller.require(Grant::Read)?;
        let words = words_of(&wish.text)?;
        let workspace = match (caller.workspace(), wish.workspace) {
            (Some(only), Some(wanted)) if only != wanted => return Ok(Finding::default()),
            (only, wanted) => only.or(wanted),
        };
        let mut finding = Finding {
            next: wish.before,
            ..Finding::default()
        };
        loop {
            let LookedAt {
                passages,
                count,
                end,
            } = self
                .store
                .look_for(&words, workspace, finding.next.as_ref(), STRETCH, AT_ONCE)
                .await?;
            finding.looked_at += count;
            for passage in passages {
                let Some(excerpt) = excerpt(&passage.item.item, &words) else {
                    continue;
                };
                let place = passage.place.clone();
                finding.hits.push(Hit { passage, excerpt });
                if finding.hits.len() == wish.limit {
                    finding.next = Some(place);
                    return Ok(finding);
                }
            }
            finding.next = end;
            if finding.next.is_none() || finding.looked_at >= MOST {
                return Ok(finding);
            }
        }
    }
}

/// The words that are looked for.
fn words_of(text: &str) -> Result<Vec<String>, BrokerError> {
    let invalid = |problem: &str| BrokerError::Invalid {
        field: "q",
        problem: problem.to_owned(),
    };
    if text.chars().count() > LONGEST {
        return Err(invalid("has at most 200 characters"));
    }
    // Neither database takes a NUL.
    if text.contains('\0') {
        return Err(invalid("must not contain NUL characters"));
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    match words.len() {
        0 => Err(invalid("must not be empty")),
        1..=MOST_WORDS => Ok(words),
        _ => Err(invalid("has at most eight words")),
    }
}

/// What stands around the first of the words in an item; nothing if one of them is in none of its texts.
fn excerpt(item: &Item, words: &[String]) -> Option<Excerpt> {
    let texts = texts_of(item);
    let find = |word: &str| {
        texts
            .iter()
            .find_map(|text| find(text, word).map(|at| (*text, at)))
    };
    let (first, others) = words.split_first()?;
    let (text, (begin, end)) = find(first)?;
    if !others.iter().all(|word| find(word).is_some()) {
        return None;
    }
    Some(Excerpt {
        before: last_of(&text[..begin]),
        matched: text[begin..end].to_owned(),
        after: first_of(&text[end..]),
    })
}

/// The texts of an item that people read.
fn texts_of(item: &Item) -> Vec<&str> {
    match item {
        Item::Prompt { text, .. }
        | Item::Text { text }
        | Item::Thought { text }
        | Item::Notice { text } => vec![text],
        Item::Attachment { attachment } => vec![&attachment.name],
        Item::Plan { steps } => steps.iter().map(|step| step.text.as_str()).collect(),
        Item::Tool {
            tool,
            input,
            output,
            changes,
            ..
        } => {
            let mut texts = vec![tool.as_str()];
            collect(input, &mut texts);
            texts.push(output);
            texts.extend(changes.iter().map(|change| change.path.as_str()));
            texts
        }
    }
}

/// The texts within what a tool was given.
fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// From where to where `word` stands in `text`, whatever their case.
fn find(text: &str, word: &str) -> Option<(usize, usize)> {
    let lower: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    text.char_indices().find_map(|(begin, _)| {
        let mut wanted = lower.iter();
        let mut next = wanted.next()?;
        for (offset, letter) in text[begin..].char_indices() {
            for lower in letter.to_lowercase() {
                if lower != *next {
                    return None;
                }
                match wanted.next() {
                    Some(more) => next = more,
                    None => return Some((begin, begin + offset + letter.len_utf8())),
                }
            }
        }
        None
    })
}

/// The end of a text, in one line.
fn last_of(text: &str) -> String {
    let cut = text
        .char_indices()
        .rev()
        .nth(BEFORE - 1)
        .map_or(0, |(at, _)| at);
    let mark = if cut > 0 { "…" } else { "" };
    format!("{mark}{}", in_one_line(&text[cut..]))
}

/// The beginning of a text, in one line.
fn first_of(text: &str) -> String {
    match text.char_indices().nth(AFTER) {
        Some((cut, _)) => format!("{}…", in_one_line(&text[..cut])),
        None => in_one_line(text),
    }
}

fn in_one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_whitespace() { ' ' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(item: &Item, words: &[&str]) -> Option<(String, String, String)> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        excerpt(item, &words).map(|found| (found.before, found.matched, found.after))
    }

    fn text(text: &str) -> Item {
        Item::Text {
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_word_is_found_in_any_case_and_shown_as_it_is_written() {
        let item = text("The Ähren are ripe.\nTake them in.");
        let expected = (
            "The ".to_owned(),
            "Ähren".to_owned(),
            " are ripe. Take them in.".to_owned(),
        );
        assert_eq!(found(&item, &["äHREN"]), Some(expected));
        assert_eq!(found(&item, &["wheat"]), None);
    }

    #[test]
    fn all_words_have_to_be_in_one_item_in_any_order() {
        let item = text("one two three");
        assert!(found(&item, &["three", "one"]).is_some());
        assert_eq!(found(&item, &["three", "four"]), None);
    }

    #[test]
    fn what_only_the_ledger_writes_around_the_words_is_not_found() {
        let item = Item::Tool {
            tool: "bash".to_owned(),
            status: countersign_core::session::ToolStatus::Completed,
            input: json!({ "command": "ls -l \"a b\"", "more": [{ "deep": "down" }] }),
            output: "total 0".to_owned(),
            changes: Vec::new(),
            child: None,
        };
        for word in ["bash", "\"a", "down", "TOTAL"] {
            assert!(found(&item, &[word]).is_some(), "{word}");
        }
        for word in ["command", "status", "completed", "kind"] {
            assert_eq!(found(&item, &[word]), None, "{word}");
        }
    }

    #[test]
    fn what_is_long_is_cut_and_says_so() {
        let long = "ä".repeat(500);
        let (before, _, after) = found(&text(&format!("{long}X{long}")), &["x"]).unwrap();
        assert_eq!(before.chars().count(), BEFORE + 1);
        assert!(before.starts_with('…'));
        assert_eq!(after.chars().count(), AFTER + 1);
        assert!(after.ends_with('…'));
    }
}
