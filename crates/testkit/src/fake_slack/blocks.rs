//! Blocks, as Slack takes them and as people see them.

use serde_json::Value;

/// Slack's limits.
const MOST_BLOCKS: usize = 50;
const LONGEST_SECTION: usize = 3_000;
const MOST_ACTIONS: usize = 25;
const LONGEST_VALUE: usize = 2_000;
const LONGEST_LABEL: usize = 75;
const LONGEST_NAME: usize = 255;
/// Not written down anywhere: what was seen to be refused is longer.
const LONGEST_BLOCKS: usize = 15_500;

/// The error with which Slack refuses these blocks, if it does.
pub(super) fn refused(blocks: &Value) -> Option<(&'static str, String)> {
    let invalid = |problem: &str| Some(("invalid_blocks", problem.to_owned()));
    let Some(list) = blocks.as_array() else {
        return invalid("no list");
    };
    if list.len() > MOST_BLOCKS {
        return invalid("too many blocks");
    }
    if blocks.to_string().chars().count() > LONGEST_BLOCKS {
        return Some(("msg_blocks_too_long", String::new()));
    }
    let mut names = Vec::new();
    for block in list {
        if let Some(name) = block["block_id"].as_str() {
            if name.is_empty() || name.chars().count() > LONGEST_NAME || names.contains(&name) {
                return invalid("block_id");
            }
            names.push(name);
        }
        let wrong = match block["type"].as_str() {
            Some("rich_text") => rich_text(block),
            Some("section") => text(&block["text"], LONGEST_SECTION),
            Some("actions") => actions(block),
            _ => Some("type".to_owned()),
        };
        if let Some(wrong) = wrong {
            return invalid(&wrong);
        }
    }
    None
}

fn text(text: &Value, longest: usize) -> Option<String> {
    let length = text["text"].as_str().unwrap_or_default().chars().count();
    let is_known = text["type"] == "plain_text" || text["type"] == "mrkdwn";
    (!is_known || length == 0 || length > longest).then(|| format!("text of {length}"))
}

fn actions(block: &Value) -> Option<String> {
    let elements = block["elements"].as_array()?;
    if elements.is_empty() || elements.len() > MOST_ACTIONS {
        return Some("elements".to_owned());
    }
    let mut names = Vec::new();
    for element in elements {
        let name = element["action_id"].as_str().unwrap_or_default();
        if element["type"] != "button" || name.is_empty() || names.contains(&name) {
            return Some("action_id".to_owned());
        }
        names.push(name);
        if element["text"]["type"] != "plain_text" {
            return Some("a button has plain text".to_owned());
        }
        if let Some(wrong) = text(&element["text"], LONGEST_LABEL) {
            return Some(wrong);
        }
        if element["value"].as_str().map_or(0, str::len) > LONGEST_VALUE {
            return Some("value".to_owned());
        }
        let style = &element["style"];
        if !style.is_null() && style != "primary" && style != "danger" {
            return Some("style".to_owned());
        }
    }
    None
}

fn rich_text(block: &Value) -> Option<String> {
    let parts = block["elements"].as_array();
    let Some(parts) = parts.filter(|parts| !parts.is_empty()) else {
        return Some("elements".to_owned());
    };
    for part in parts {
        let kind = part["type"].as_str().unwrap_or_default();
        let is_known = [
            "rich_text_section",
            "rich_text_preformatted",
            "rich_text_quote",
        ];
        let elements = part["elements"].as_array();
        let Some(elements) = elements.filter(|it| is_known.contains(&kind) && !it.is_empty())
        else {
            return Some(format!("a part of the type {kind}"));
        };
        for element in elements {
            let field = match element["type"].as_str() {
                Some("text") => "text",
                Some("link") => "url",
                Some("user") if kind != "rich_text_preformatted" => "user_id",
                _ => return Some(format!("an element of {kind}: {element}")),
            };
            if element[field].as_str().is_none_or(str::is_empty) {
                return Some(format!("an element of nothing: {element}"));
            }
        }
    }
    None
}

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
}

/// The elements of the rich text of a message.
fn elements(message: &Value) -> Vec<Vec<&Value>> {
    let blocks = list(&message["blocks"]).filter(|block| block["type"] == "rich_text");
    let parts = blocks.flat_map(|block| list(&block["elements"]));
    parts
        .map(|part| list(&part["elements"]).collect())
        .collect()
}

/// Returns the words of a message as people read them.
pub fn words(message: &Value) -> String {
    let parts: Vec<String> = elements(message)
        .into_iter()
        .map(|elements| {
            let word = |element: &Value| match element["type"].as_str() {
                Some("user") => format!("@{}", element["user_id"].as_str().unwrap_or_default()),
                _ => element["text"].as_str().unwrap_or_default().to_owned(),
            };
            elements.into_iter().map(word).collect()
        })
        .collect();
    if parts.is_empty() {
        let text = message["text"].as_str().unwrap_or_default();
        return text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
    }
    parts.join("\n")
}

/// Returns whom a message pings: people whom an element means, and whatever Slack reads out of its text.
pub fn pings(message: &Value) -> Vec<String> {
    let mut pings: Vec<String> = elements(message)
        .into_iter()
        .flatten()
        .filter_map(|element| match element["type"].as_str()? {
            "user" => Some(element["user_id"].as_str()?.to_owned()),
            "broadcast" | "usergroup" => Some(element.to_string()),
            _ => None,
        })
        .collect();
    let text = message["text"].as_str().unwrap_or_default();
    let in_brackets = text
        .split('<')
        .skip(1)
        .filter_map(|rest| rest.split_once('>'));
    let read = in_brackets.filter(|(inside, _)| inside.starts_with(['@', '!']));
    pings.extend(read.map(|(inside, _)| inside.to_owned()));
    pings
}

/// Returns the buttons of a message.
pub fn buttons(message: &Value) -> Vec<Value> {
    let blocks = message["blocks"].as_array().into_iter().flatten();
    let actions = blocks.filter(|block| block["type"] == "actions");
    actions
        .flat_map(|block| block["elements"].as_array().cloned().unwrap_or_default())
        .collect()
}
