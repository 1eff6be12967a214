//! Messages of the bot: what Discord takes of them beyond its specification, and whom they ping.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::rest::{Answer, Asked, Refused, checked, refused};
use super::world::World;

/// The longest message, which the specification does not say for bots.
const LONGEST: usize = 2_000;

/// The message of a form, and its files with their names.
pub(super) fn form(body: &Bytes, boundary: &str) -> (Value, Vec<(String, Vec<u8>)>) {
    let (mut message, mut files) = (Value::Null, Vec::new());
    let mark = format!("--{boundary}");
    let mut rest = &body[..];
    let find = |text: &[u8], wanted: &[u8]| text.windows(wanted.len()).position(|it| it == wanted);
    while let Some(begin) = find(rest, mark.as_bytes()) {
        rest = &rest[begin + mark.len()..];
        let (Some(head), Some(end)) = (
            find(rest, b"\r\n\r\n"),
            find(rest, format!("\r\n{mark}").as_bytes()),
        ) else {
            break;
        };
        let header = String::from_utf8_lossy(&rest[..head]).into_owned();
        let content = &rest[head + 4..end];
        if header.contains("name=\"payload_json\"") {
            message = serde_json::from_slice(content).unwrap_or_default();
        } else if let Some((_, name)) = header.split_once("filename=\"") {
            let name = name.split('"').next().unwrap_or_default();
            files.push((name.to_owned(), content.to_vec()));
        }
    }
    (message, files)
}

pub(super) fn post(world: &mut World, asked: &Asked, channel: u64) -> Result<Answer, Refused> {
    let operation = "POST /channels/{channel_id}/messages";
    checked(world, operation, asked)?;
    is_sound(&asked.body)?;
    let body = &asked.body;
    let content = body["content"].as_str().unwrap_or_default().trim();
    if content.is_empty() && asked.files.is_empty() {
        return refused(400, 50_006, "Cannot send an empty message");
    }
    let nonce = body.get("nonce").filter(|nonce| !nonce.is_null());
    let key = nonce.map(|nonce| (channel, nonce.to_string()));
    if body["enforce_nonce"] == true
        && let Some(known) = key.as_ref().and_then(|key| world.nonces.get(key))
        && let Some(message) = world.message(channel, *known)
    {
        return Ok((operation, 200, message));
    }
    let mut message = world.new_message(channel, world.bot, content);
    message["components"] = components(&body["components"]);
    message["flags"] = json!(body["flags"].as_u64().unwrap_or_default());
    let mut attachments = Vec::new();
    for (name, file) in &asked.files {
        let id = world.new_id();
        attachments.push(attachment(world, id, name, file.len()));
        world.files.insert(id, file.clone());
    }
    message["attachments"] = json!(attachments);
    let pinged = pings(world, content, &body["allowed_mentions"]);
    let id = world.put_message(channel, &message, nonce);
    world.pings.insert(id, pinged);
    if let Some(key) = key {
        world.nonces.insert(key, id);
    }
    if let Some(nonce) = nonce {
        message["nonce"] = nonce.clone();
    }
    Ok((operation, 200, message))
}

pub(super) fn attachment(world: &World, id: u64, name: &str, size: usize) -> Value {
    let url = format!("{}/attachments/{id}/{name}", world.url);
    json!({"id": id.to_string(), "filename": name, "size": size, "url": url, "proxy_url": url})
}

/// What the specification does not say, and Discord does.
pub(super) fn is_sound(body: &Value) -> Result<(), Refused> {
    let content = body["content"].as_str().unwrap_or_default();
    if content.chars().count() > LONGEST {
        return refused(400, 50_035, "Must be 2000 or fewer in length.");
    }
    let rows = body["components"].as_array().cloned().unwrap_or_default();
    let mut ids = Vec::new();
    for row in &rows {
        let buttons = row["components"].as_array().cloned().unwrap_or_default();
        if buttons.is_empty() || buttons.len() > 5 {
            return refused(400, 50_035, "Must be between 1 and 5 in length.");
        }
        ids.extend(buttons.iter().map(|button| button["custom_id"].to_string()));
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    if rows.len() > 5 || ids.len() < count {
        return refused(400, 50_035, "Component custom id cannot be duplicated");
    }
    Ok(())
}

/// Components as they are answered: each with its number.
pub(super) fn components(sent: &Value) -> Value {
    let mut next = 0;
    let mut numbered = |component: &Value| {
        next += 1;
        let mut component = component.clone();
        component["id"] = json!(next);
        component
    };
    let rows = sent.as_array().cloned().unwrap_or_default();
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let mut row = numbered(row);
            let inner = row["components"].as_array().cloned().unwrap_or_default();
            row["components"] = json!(inner.iter().map(&mut numbered).collect::<Vec<_>>());
            row
        })
        .collect();
    json!(rows)
}

/// Whom a message pings, by Discord's rules for what may be meant.
pub(super) fn pings(world: &World, content: &str, allowed: &Value) -> Vec<String> {
    let is_parsed = |what: &str| match allowed["parse"].as_array() {
        Some(parse) => parse.iter().any(|it| it == what),
        None => allowed.is_null(),
    };
    let mut pings = Vec::new();
    for name in ["@everyone", "@here"] {
        pings.extend((is_parsed("everyone") && content.contains(name)).then(|| name.to_owned()));
    }
    if is_parsed("roles") && content.contains("<@&") {
        pings.push("a role".to_owned());
    }
    let named = allowed["users"].as_array().cloned().unwrap_or_default();
    for person in world.people.keys().map(u64::to_string) {
        let may = is_parsed("users") || named.iter().any(|id| *id == *person);
        pings.extend((may && content.contains(&format!("<@{person}>"))).then_some(person));
    }
    pings
}
