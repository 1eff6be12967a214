//! What differs from run to run by nature, replaced by the names that the recordings have for it.

use std::path::{Path, PathBuf};

use countersign_core::digest::Digest;

use crate::json::Json;
use crate::upstream::Upstream;

const TOKENS: [&str; 2] = ["client-token-123", "host-token-456"];
/// A number above this is a time in milliseconds.
const TIMES: f64 = 1.5e12;

/// The names of one run: its folder, its workspaces, its upstream, and what was learnt on the way.
pub(crate) struct Names {
    pub(crate) root: PathBuf,
    upstream: String,
    /// Ids of approvals, by the name that requests have for them.
    pub(crate) learnt: Vec<(&'static str, String)>,
}

impl Names {
    pub(crate) fn new(root: &Path, upstream: &Upstream) -> Self {
        Self {
            root: root.to_owned(),
            upstream: upstream.host(),
            learnt: Vec::new(),
        }
    }

    fn root(&self) -> &str {
        self.root.to_str().unwrap()
    }

    fn workspaces(&self) -> impl Iterator<Item = (String, String)> {
        (1..=6).map(|number| {
            let path = format!("{}/ws{number}", self.root());
            let digest = Digest::of_bytes(path.as_bytes()).to_string();
            (format!("${{WS{number}}}"), format!("ws_{}", &digest[..12]))
        })
    }

    /// Puts what is meant in the place of names.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, id) in self.workspaces() {
            text = text.replace(&name, &id);
        }
        for (name, value) in &self.learnt {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        text.replace("${ROOT}", self.root())
            .replace("${MOCK}", &format!("http://{}", self.upstream))
    }

    /// Puts names in the place of what they mean.
    pub(crate) fn fold(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, id) in self.workspaces() {
            text = text.replace(&id, &name);
        }
        text.replace(&format!("http://{}", self.upstream), "${MOCK}")
            .replace(self.root(), "${ROOT}")
            .replace(&self.root().replace('/', "%2F"), "${ROOT_ENC}")
            .replace(&self.upstream, "${MOCKHOST}")
    }

    /// The normal form of a text.
    pub(crate) fn text(&self, text: &str) -> String {
        let text = replace_runs(&self.fold(text), is_uuid, 36, |_| "<uuid>".to_owned());
        let text = replace_runs(&text, is_hash, 64, |hash| {
            let known = TOKENS.map(|token| Digest::of_bytes(token.as_bytes()).to_string());
            if known.iter().any(|known| known == hash) {
                hash.to_owned()
            } else {
                "<sha256>".to_owned()
            }
        });
        ["\"createdAt\":", "\"updatedAt\":", "\"timestamp\":"]
            .iter()
            .fold(text, |text, key| without_times(&text, key))
    }

    /// The normal form of a value.
    pub(crate) fn value(&self, value: &Json, key: Option<&str>) -> Json {
        match value {
            Json::Object(fields) => Json::Object(
                fields
                    .iter()
                    .map(|(key, value)| (key.clone(), self.value(value, Some(key))))
                    .collect(),
            ),
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| self.value(item, None)).collect())
            }
            Json::String(text) => Json::String(self.text(text)),
            Json::Number(_) if matches!(key, Some("uptimeMs" | "ttlMs")) => Json::string("<dur>"),
            Json::Number(number) if number.as_f64() > Some(TIMES) => Json::string("<ms>"),
            Json::Number(_) | Json::Bool(_) | Json::Null => value.clone(),
        }
    }
}

fn is_uuid(run: &str) -> bool {
    run.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    })
}

fn is_hash(run: &str) -> bool {
    run.bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Replaces every run of `length` letters that `is_one`.
fn replace_runs(
    text: &str,
    is_one: fn(&str) -> bool,
    length: usize,
    name: impl Fn(&str) -> String,
) -> String {
    let mut named = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(run) = rest.get(..length).filter(|run| is_one(run)) {
            named.push_str(&name(run));
            rest = &rest[length..];
        } else {
            named.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    named
}

/// Replaces the times behind `key`.
fn without_times(text: &str, key: &str) -> String {
    let mut parts = text.split(key);
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        named.push_str(key);
        let value = part.trim_start();
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 13 && value.starts_with('1') {
            named.push_str(&part[..part.len() - value.len()]);
            named.push_str("<ms>");
            named.push_str(&value[digits..]);
        } else {
            named.push_str(part);
        }
    }
    named
}
