//! The Web API, and the addresses that it gives away.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State as Extracted};
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

use super::{APP_TOKEN, BOT, BOT_ID, BOT_TOKEN, File, Shared, State, blocks, locked};

/// The biggest body that is read.
const BODY_LIMIT: usize = 32 << 20;
/// The longest text of a message.
const LONGEST: usize = 40_000;

pub(super) fn router(state: Shared) -> Router {
    Router::new()
        .fallback(answer)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(state)
}

/// An error that Slack names, and what goes with it.
type Refusal = (&'static str, Value);

fn no<T>(error: &'static str) -> Result<T, Refusal> {
    Err((error, Value::Null))
}

async fn answer(Extracted(state): Extracted<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, BODY_LIMIT).await;
    let body = body.unwrap_or_default();
    let token = parts.headers.get(AUTHORIZATION);
    let token = token.and_then(|token| token.to_str().ok()?.strip_prefix("Bearer "));
    let path = parts.uri.path().trim_start_matches('/');
    match path.split_once('/') {
        Some(("api", method)) => {
            let given = parameters(parts.uri.query(), &parts.headers, &body);
            let token = token.or(given.get("token").and_then(Value::as_str));
            let mut state = locked(&state);
            let answer = call(&mut state, method, token, &given);
            let scopes: Vec<&str> = state.scopes.iter().map(String::as_str).collect();
            let headers = [("x-oauth-scopes", scopes.join(","))];
            (headers, axum::Json(answer)).into_response()
        }
        Some(("upload", id)) => match locked(&state).files.get_mut(id) {
            Some(file) => {
                file.content = Some(body.to_vec());
                "OK".into_response()
            }
            None => StatusCode::NOT_FOUND.into_response(),
        },
        Some(("files", rest)) => {
            if token != Some(BOT_TOKEN) || !locked(&state).scopes.contains("files:read") {
                // People are led to where they sign in.
                return (StatusCode::FOUND, [("location", "/signin")]).into_response();
            }
            let id = rest.split('/').next().unwrap_or_default();
            let content = locked(&state)
                .files
                .get(id)
                .and_then(|file| file.content.clone());
            content.map_or_else(
                || StatusCode::NOT_FOUND.into_response(),
                axum::response::IntoResponse::into_response,
            )
        }
        Some(("response", number)) => {
            let mut state = locked(&state);
            let Some(mut whisper) = state.responses.get(number).cloned() else {
                return (StatusCode::NOT_FOUND, "expired_url").into_response();
            };
            let said: Value = serde_json::from_slice(&body).unwrap_or_default();
            if said["response_type"] != "ephemeral" || said["replace_original"] == true {
                return (StatusCode::BAD_REQUEST, "not supported here").into_response();
            }
            whisper["text"] = said["text"].clone();
            whisper["blocks"] = said["blocks"].clone();
            whisper["by"] = json!("response_url");
            state.whispers.push(whisper);
            "ok".into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// What is given with a call, as JSON or as a form; lists and objects in a form are JSON again.
fn parameters(query: Option<&str>, headers: &HeaderMap, body: &Bytes) -> Map<String, Value> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let mut given = Map::new();
    let mut form = query.unwrap_or_default().to_owned();
    if kind.is_some_and(|kind| kind.starts_with("application/json")) {
        given = serde_json::from_slice(body).unwrap_or_default();
    } else {
        form = format!("{form}&{}", String::from_utf8_lossy(body));
    }
    let Ok(url) = reqwest::Url::parse(&format!("http://form/?{form}")) else {
        return given;
    };
    for (name, value) in url.query_pairs() {
        let read = match serde_json::from_str::<Value>(&value) {
            Ok(read @ (Value::Array(_) | Value::Object(_) | Value::Bool(_))) => read,
            _ => json!(value),
        };
        given.insert(name.into_owned(), read);
    }
    given
}

fn call(state: &mut State, method: &str, token: Option<&str>, given: &Map<String, Value>) -> Value {
    let given = Given(given);
    let answer = match allowed(state, method, token) {
        Ok(()) => match method {
            "auth.test" => Ok(json!({
                "url": "https://fake.slack.com/", "team": "Fake", "team_id": "T0FAKE001", "user": "countersign",
                "user_id": BOT, "bot_id": BOT_ID, "is_enterprise_install": false,
            })),
            "apps.connections.open" => Ok(open_connection(state)),
            "chat.postMessage" => post(state, given),
            "chat.update" => update(state, given),
            "chat.postEphemeral" => whisper(state, given),
            "conversations.open" => {
                let channel = state.direct(given.text("users"));
                Ok(json!({"channel": {"id": channel}}))
            }
            "conversations.info" => info(state, given),
            "conversations.history" => history(state, given),
            "conversations.replies" => replies(state, given),
            "users.conversations" => {
                let direct = state.channels.keys().filter(|id| id.starts_with('D'));
                let channels: Vec<Value> =
                    direct.map(|id| json!({"id": id, "is_im": true})).collect();
                Ok(json!({"channels": channels, "response_metadata": {"next_cursor": ""}}))
            }
            "reactions.add" | "reactions.remove" => react(state, given, method == "reactions.add"),
            "reactions.get" => find(state, given, "timestamp")
                .map(|message| json!({"type": "message", "message": message})),
            "files.getUploadURLExternal" => new_file(state, given),
            "files.completeUploadExternal" => share(state, given),
            _ => no("unknown_method"),
        },
        Err(refusal) => Err(refusal),
    };
    match answer {
        Ok(mut answer) => {
            answer["ok"] = json!(true);
            answer
        }
        Err((error, more)) => {
            let mut answer = json!({"ok": false, "error": error});
            if let (Value::Object(more), Some(answer)) = (more, answer.as_object_mut()) {
                answer.extend(more);
            }
            answer
        }
    }
}

/// Whether the token is good, and allows the method.
fn allowed(state: &State, method: &str, token: Option<&str>) -> Result<(), Refusal> {
    let wanted = if method == "apps.connections.open" {
        APP_TOKEN
    } else {
        BOT_TOKEN
    };
    match token {
        None => return no("not_authed"),
        Some(token) if token == wanted => {}
        Some(BOT_TOKEN | APP_TOKEN) => return no("not_allowed_token_type"),
        Some(_) => return no("invalid_auth"),
    }
    let needed = match method {
        "chat.postMessage" | "chat.update" | "chat.postEphemeral" => "chat:write",
        "conversations.open" => "im:write",
        "conversations.info" => "channels:read",
        "conversations.history" | "conversations.replies" => "channels:history",
        "users.conversations" => "im:read",
        "reactions.add" | "reactions.remove" => "reactions:write",
        "reactions.get" => "reactions:read",
        "files.getUploadURLExternal" | "files.completeUploadExternal" => "files:write",
        _ => return Ok(()),
    };
    if state.scopes.contains(needed) {
        return Ok(());
    }
    Err(("missing_scope", json!({"needed": needed, "provided": ""})))
}

/// What is given with a call.
#[derive(Clone, Copy)]
struct Given<'a>(&'a Map<String, Value>);

impl<'a> Given<'a> {
    fn text(self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn get(self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

fn open_connection(state: &mut State) -> Value {
    let ticket = format!("ticket-{}", state.number());
    state.tickets.insert(ticket.clone());
    json!({"url": format!("{}/link/?ticket={ticket}", state.socket_address)})
}

/// The channel, if the app is in it.
fn joined<'a>(state: &'a mut State, channel: &str) -> Result<&'a mut super::Channel, Refusal> {
    let Some(there) = state.channels.get_mut(channel) else {
        return no("channel_not_found");
    };
    if there.members.contains(BOT) {
        Ok(there)
    } else {
        no("not_in_channel")
    }
}

fn find<'a>(state: &'a mut State, given: Given<'_>, name: &str) -> Result<&'a mut Value, Refusal> {
    let ts = given.text(name);
    let there = joined(state, given.text("channel"))?;
    let found = there.messages.iter_mut().find(|it| it["ts"] == ts);
    found.map_or_else(|| no("message_not_found"), Ok)
}

/// What a message says, or why Slack does not take it.
fn content(given: Given<'_>) -> Result<(Value, Value), Refusal> {
    let (text, list) = (given.get("text"), given.get("blocks"));
    if text.as_str().unwrap_or_default().chars().count() > LONGEST {
        return no("msg_too_long");
    }
    if list.is_null() {
        return if text.is_string() {
            Ok((text, list))
        } else {
            no("no_text")
        };
    }
    match blocks::refused(&list) {
        Some((error, problem)) => {
            Err((error, json!({"response_metadata": {"messages": [problem]}})))
        }
        None => Ok((text, list)),
    }
}

fn post(state: &mut State, given: Given<'_>) -> Result<Value, Refusal> {
    let channel = given.text("channel");
    let there = joined(state, channel)?;
    let thread = given.get("thread_ts");
    if thread.is_string() && !there.messages.iter().any(|it| it["ts"] == thread) {
        return no("cannot_reply_to_message");
    }
    let (text, blocks) = content(given)?;
    let mut message = json!({"user": BOT, "bot_id": BOT_ID, "app_id": "A0FAKE001", "text": text, "blocks": blocks});
    if thread.is_string() {
        message["thread_ts"] = thread;
    }
    // Slack unfolds links unless it is told not to.
    message["unfolds"] = json!(given.get("unfurl_links") != json!(false));
    let ts = state.put(channel, message.clone());
    Ok(json!({"channel": channel, "ts": ts, "message": message}))
}

fn update(state: &mut State, given: Given<'_>) -> Result<Value, Refusal> {
    let message = find(state, given, "ts")?;
    if message["bot_id"] != BOT_ID {
        return no("cant_update_message");
    }
    let (text, blocks) = content(given)?;
    message["text"] = text;
    message["blocks"] = blocks;
    message["edited"] = json!({"user": BOT, "ts": "1.000000"});
    let message = message.clone();
    let (channel, ts) = (given.text("channel"), given.text("ts"));
    let event = json!({
        "type": "message", "subtype": "message_changed", "channel": channel, "channel_type": "channel",
        "message": message, "ts": ts, "hidden": true,
    });
    state.tell(&event);
    Ok(json!({"channel": channel, "ts": ts, "text": message["text"]}))
}

fn whisper(state: &mut State, given: Given<'_>) -> Result<Value, Refusal> {
    let (channel, user) = (given.text("channel"), given.text("user"));
    if !joined(state, channel)?.members.contains(user) {
        return no("user_not_in_channel");
    }
    let (text, blocks) = content(given)?;
    let whisper = json!({
        "user": user, "channel": channel, "thread_ts": given.get("thread_ts"), "text": text, "blocks": blocks,
    });
    state.whispers.push(whisper);
    Ok(json!({"message_ts": state.time()}))
}

fn info(state: &mut State, given: Given<'_>) -> Result<Value, Refusal> {
    let id = given.text("channel");
    let Some(there) = state.channels.get(id) else {
        return no("channel_not_found");
    };
    Ok(
        json!({"channel": {"id": id, "is_member": there.members.contains(BOT), "is_archived": false}}),
    )
}

/// One page of what is listed, from after the cursor on.
fn page(messages: Vec<Value>, given: Given<'_>) -> Value {
    let limit: usize = given.text("limit").parse().unwrap_or(100);
    let from: usize = given.text("cursor").parse().unwrap_or(0);
    let has_more = messages.len() > from + limit;
    let next = if has_more {
        (from + limit).to_string()
    } else {
        String::new()
    };
    let messages: Vec<Value> = messages.into_iter().skip(from).take(limit).collect();
    json!({"messages": messages, "has_more": has_more, "response_metadata": {"next_cursor": next}})
}

/// Whether a message is newer than what is given; times are of the same length.
fn is_newer(message: &Value, oldest: &str) -> bool {
    let time = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    time(message["ts"].as_str().unwrap_or_default()) > time(oldest)
}

/// The messages that are in no thread, or begin one: the newest first.
fn history(state: &mut State, given: Given<'_>) -> Result<Value, Refusal> {
    let oldest = given.text("oldest");
    let there = joined(state, given.text("channel"))?;
    let is_listed = |message: &&Value| {
        let is_reply = message["thread_ts"].is_string() && message["thread_ts"] != message["ts"];
        !is_reply && is_newer(message, oldest)
    };
    let listed = there.messages.iter().rev().filter(is_listed).cloned();
    Ok(page(listed.collect(), given))
}

/// The messages of a thread, the one that began it always among them: the oldest first.
fn replies(state: &mut State, given: Given<'_>) -> Result<Value, Refusal> {
    let (root, oldest) = (given.text("ts"), given.text("oldest"));
    let there = joined(state, given.text("channel"))?;
    if !there.messages.iter().any(|it| it["ts"] == root) {
        return no("thread_not_found");
    }
    let is_listed = |message: &&Value| {
        message["ts"] == root || (message["thread_ts"] == root && is_newer(message, oldest))
    };
    let listed = there.messages.iter().filter(is_listed).cloned();
    Ok(page(listed.collect(), given))
}

fn react(state: &mut State, given: Given<'_>, is_new: bool) -> Result<Value, Refusal> {
    let name = given.text("name");
    let message = find(state, given, "timestamp")?;
    let mut reactions = message["reactions"].as_array().cloned().unwrap_or_default();
    let is_there = reactions.iter().any(|it| it["name"] == name);
    match (is_new, is_there) {
        (true, true) => return no("already_reacted"),
        (false, false) => return no("no_reaction"),
        (true, false) => reactions.push(json!({"name": name, "users": [BOT], "count": 1})),
        (false, true) => reactions.retain(|it| it["name"] != name),
    }
    message["reactions"] = json!(reactions);
    Ok(json!({}))
}

fn new_file(state: &mut State, given: Given<'_>) -> Result<Value, Refusal> {
    let name = given.text("filename").to_owned();
    if name.is_empty() || given.text("length").parse::<u64>().unwrap_or(0) == 0 {
        return no("invalid_arguments");
    }
    let id = format!("F{:08}", state.number());
    let file = File {
        name,
        content: None,
    };
    state.files.insert(id.clone(), file);
    Ok(json!({"upload_url": format!("{}/upload/{id}", state.address), "file_id": id}))
}

fn share(state: &mut State, given: Given<'_>) -> Result<Value, Refusal> {
    let (files, channel) = (given.get("files"), given.text("channel_id"));
    joined(state, channel)?;
    let (_, blocks) = content(given)?;
    let mut shared = Vec::new();
    for file in files.as_array().into_iter().flatten() {
        let id = file["id"].as_str().unwrap_or_default();
        match state.files.get(id) {
            Some(File {
                name,
                content: Some(content),
            }) => shared.push(
                json!({"id": id, "name": name, "size": content.len(), "title": file["title"]}),
            ),
            _ => return no("file_not_found"),
        }
    }
    let mut message =
        json!({"user": BOT, "bot_id": BOT_ID, "text": "", "blocks": blocks, "files": shared});
    if given.get("thread_ts").is_string() {
        message["thread_ts"] = given.get("thread_ts");
    }
    state.put(channel, message);
    Ok(json!({"files": shared}))
}
