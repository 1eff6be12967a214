//! What in a configuration looks like a secret, so that nobody hands one out without knowing.
//!
//! It goes by what keys are called and by what secrets look like. What stands for a variable (`{env:…}`, `{file:…}`) is
//! none. It finds what people put there by habit; who means to hide something can.

use serde::Serialize;
use serde_json::{Map, Value};

/// Words that name secrets, and how each is called to people.
const WORDS: [(&str, &str); 11] = [
    ("token", "token"),
    ("bearer", "Bearer"),
    ("authorization", "Bearer"),
    ("secret", "secret"),
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("credential", "credentials"),
    ("credentials", "credentials"),
    ("apikey", "apiKey"),
    ("cookie", "cookie"),
];
/// Words that name a secret together.
const PAIRS: [(&str, &str, &str); 4] = [
    ("api", "key", "apiKey"),
    ("access", "key", "apiKey"),
    ("private", "key", "privateKey"),
    ("client", "secret", "secret"),
];
/// How the secrets of well-known services begin.
const BEGINNINGS: [&str; 14] = [
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "sk-",
    "rk_",
    "sk_live_",
    "AKIA",
    "ASIA",
    "AIza",
];
/// How much has to follow.
const LEAST: usize = 8;

/// That a part of a configuration looks as if a secret were in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What tells it from others.
    pub id: String,
    /// Which part it is.
    pub label: String,
    /// What looks like a secret there; never the secret.
    pub detail: String,
}

/// What in `config` looks like a secret, one warning for each of its parts.
pub fn warnings(config: &Value) -> Vec<Warning> {
    let parts = config.as_object().into_iter().flatten();
    let found = parts.filter_map(|(key, value)| {
        let mut signs = Vec::new();
        collect(Some(key), value, &mut signs);
        if signs.is_empty() {
            return None;
        }
        let (label, what) = match key.as_str() {
            "mcp" => ("MCP servers", "MCP config"),
            "plugin" => ("Plugin settings", "plugin config"),
            other => (other, "config"),
        };
        Some(Warning {
            id: format!("{key}-config"),
            label: label.to_owned(),
            detail: format!("Contains secret-like {what}: {}.", signs.join(", ")),
        })
    });
    found.collect()
}

/// `config` without what looks like a secret, and without what is empty then.
pub fn without(config: &Value) -> Value {
    cleaned(None, config).unwrap_or_else(|| Value::Object(Map::new()))
}

fn collect(key: Option<&str>, value: &Value, signs: &mut Vec<&'static str>) {
    if let Some(sign) = sign_of(key, value) {
        if !signs.contains(&sign) {
            signs.push(sign);
        }
        return;
    }
    match value {
        Value::Array(items) => {
            for (item, flag) in items.iter().zip(flags(items)) {
                collect(flag, item, signs);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                collect(Some(key), value, signs);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn cleaned(key: Option<&str>, value: &Value) -> Option<Value> {
    if sign_of(key, value).is_some() {
        return None;
    }
    match value {
        Value::Array(items) => {
            let kept = items.iter().zip(flags(items));
            let kept: Vec<_> = kept
                .filter_map(|(item, flag)| cleaned(flag, item))
                .collect();
            (!kept.is_empty() || items.is_empty()).then_some(Value::Array(kept))
        }
        Value::Object(fields) => {
            let kept = fields.iter();
            let kept: Map<_, _> = kept
                .filter_map(|(key, value)| Some((key.clone(), cleaned(Some(key), value)?)))
                .collect();
            (!kept.is_empty() || fields.is_empty()).then_some(Value::Object(kept))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

/// For each item of a list the flag before it, whose value it is.
fn flags(items: &[Value]) -> impl Iterator<Item = Option<&str>> {
    let flag = |item: &'_ Value| item.as_str().is_some_and(|text| text.starts_with('-'));
    (0..items.len()).map(move |index| {
        let before = items.get(index.checked_sub(1)?)?;
        before
            .as_str()
            .filter(|_| flag(before) && !flag(&items[index]))
    })
}

/// What kind of secret a value looks like, under the key `key`.
fn sign_of(key: Option<&str>, value: &Value) -> Option<&'static str> {
    match value {
        Value::String(text) if is_placeholder(text) || text.trim().is_empty() => None,
        Value::String(text) => key.and_then(named).or_else(|| looks_like(text)),
        Value::Number(_) => key.and_then(named),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// What kind of secret a name is the name of.
fn named(name: &str) -> Option<&'static str> {
    let words = words(name);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    if has("public") {
        return None;
    }
    let word = WORDS.iter().find(|(word, _)| has(word));
    let pair = PAIRS.iter().find(|(one, other, _)| has(one) && has(other));
    word.map(|(_, sign)| *sign)
        .or(pair.map(|(_, _, sign)| *sign))
}

/// The words of a name, however they are joined, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = letter.is_lowercase() || letter.is_numeric();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What kind of secret a text looks like.
fn looks_like(text: &str) -> Option<&'static str> {
    let mut pieces = text.split(|letter: char| letter.is_whitespace() || "\"'`,;".contains(letter));
    let mut after_bearer = false;
    pieces.find_map(|piece| {
        if std::mem::replace(&mut after_bearer, piece.eq_ignore_ascii_case("bearer"))
            && piece.len() >= LEAST
            && !is_placeholder(piece)
        {
            return Some("Bearer");
        }
        let begins = |start: &&str| {
            piece
                .strip_prefix(*start)
                .is_some_and(|rest| rest.len() >= LEAST)
        };
        if BEGINNINGS.iter().any(begins) {
            return Some("token");
        }
        if piece.starts_with("eyJ") && piece.split('.').filter(|part| part.len() > 2).count() == 3 {
            return Some("JWT");
        }
        in_address(piece).or_else(|| assigned(piece))
    })
}

/// An address with somebody's password in it.
fn in_address(piece: &str) -> Option<&'static str> {
    let (_, rest) = piece.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (user, _) = host.rsplit_once('@')?;
    user.contains(':').then_some("password")
}

/// `API_KEY=…`, `--token=…`, `?token=…`.
fn assigned(piece: &str) -> Option<&'static str> {
    piece.split(['?', '&', '#']).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = name.rsplit('/').next().unwrap_or(name);
        named(name).filter(|_| !value.is_empty() && !is_placeholder(value))
    })
}

/// Whether a text stands for something that is elsewhere, whatever is around it.
fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    let is_whole = |open: &str, close: char| {
        text.strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
            .is_some_and(|inside| !inside.contains(['{', '}', ' ']))
    };
    is_whole("{env:", '}') || is_whole("{file:", '}') || is_whole("${", '}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_left_out_and_nothing_else() {
        let config = json!({
            "$schema": "https://opencode.ai/config.json",
            "plugin": ["opencode-scheduler", "@acme/tools@1.2.0"],
            "mcp": {
                "jira": {
                    "type": "remote", "url": "https://jira.example.com/mcp", "enabled": true,
                    "headers": { "Authorization": "Bearer abcdefghijklmnop" },
                },
                "notes": { "type": "local", "command": ["npx", "-y", "notes", "--api-key", "abc", "--port", "80", "--token=x"] },
                "env": { "environment": { "GITHUB_TOKEN": "{env:GITHUB_TOKEN}", "MODE": "token-free" } },
                "odd": { "url": "https://me:pw@example.com/", "args": "ghp_1234567890abcdef", "at": "https://e.com/?token=1" },
            },
            "provider": { "acme": { "options": { "apiKey": "k", "publicKey": "shown", "keyboard": "qwerty", "maxTokens": 5 } } },
        });
        assert_eq!(
            without(&config),
            json!({
                "$schema": "https://opencode.ai/config.json",
                "plugin": ["opencode-scheduler", "@acme/tools@1.2.0"],
                "mcp": {
                    "jira": { "type": "remote", "url": "https://jira.example.com/mcp", "enabled": true },
                    "notes": { "type": "local", "command": ["npx", "-y", "notes", "--api-key", "--port", "80"] },
                    "env": { "environment": { "GITHUB_TOKEN": "{env:GITHUB_TOKEN}", "MODE": "token-free" } },
                },
                "provider": { "acme": { "options": { "publicKey": "shown", "keyboard": "qwerty", "maxTokens": 5 } } },
            })
        );
        let warned = warnings(&config);
        let ids: Vec<_> = warned.iter().map(|warning| warning.id.as_str()).collect();
        assert_eq!(ids, ["mcp-config", "provider-config"]);
        assert_eq!(
            warned[0].detail,
            "Contains secret-like MCP config: Bearer, apiKey, token, password."
        );
        assert!(warnings(&without(&config)).is_empty());
    }

    #[test]
    fn what_stands_for_a_variable_is_no_secret() {
        for text in ["{env:A_TOKEN}", "Bearer {env:A}", "{file:./token}", "${A}"] {
            assert_eq!(sign_of(Some("token"), &json!(text)), None, "{text}");
        }
        assert!(sign_of(Some("token"), &json!("{env:A} secret")).is_some());
    }
}
