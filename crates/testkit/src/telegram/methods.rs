//! The methods of the Bot API, as far as they are used.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

use super::{Alert, BOT, BOT_NAME, Shared, TOKEN, World, spec};

/// The longest text, in units of UTF-16.
const LONGEST: usize = 4_096;
/// Entities beyond these are not looked at.
const MOST_ENTITIES: usize = 100;
/// How many updates are told at a time.
const MOST_UPDATES: usize = 100;

/// What a method says: its result, or a code and words.
type Outcome = Result<Value, (u16, String)>;

fn bad(words: &str) -> (u16, String) {
    (400, format!("Bad Request: {words}"))
}

pub(super) async fn call(
    State(shared): State<Shared>,
    Path((bot, method)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let outcome = if bot == format!("bot{TOKEN}") {
        carry_out(&shared, &method, &headers, &body).await
    } else {
        Err((401, "Unauthorized".to_owned()))
    };
    let (status, body) = match outcome {
        Ok(result) => (200, json!({"ok": true, "result": result})),
        Err((code, words)) => (
            code,
            json!({"ok": false, "error_code": code, "description": words}),
        ),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, axum::Json(body)).into_response()
}

pub(super) async fn download(
    State(shared): State<Shared>,
    Path((bot, name)): Path<(String, String)>,
) -> Response {
    let world = shared.world();
    match world.files.get(&name) {
        Some((_, content)) if bot == format!("bot{TOKEN}") => content.clone().into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn carry_out(shared: &Shared, method: &str, headers: &HeaderMap, body: &Bytes) -> Outcome {
    let content_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let (arguments, file) = read(content_type.unwrap_or_default(), body)?;
    if let Some(problem) = spec::problem(method, &arguments) {
        shared.world().problems.push(problem.clone());
        return Err(bad(&problem));
    }
    if method == "getUpdates" {
        return get_updates(shared, &arguments).await;
    }
    let mut world = shared.world();
    match method {
        "getMe" => Ok(json!({
            "id": BOT, "is_bot": true, "first_name": "Countersign", "username": BOT_NAME,
            "can_join_groups": true, "can_read_all_group_messages": false,
            "supports_inline_queries": false,
        })),
        "getWebhookInfo" => Ok(json!({
            "url": "", "has_custom_certificate": false, "pending_update_count": world.updates.len(),
        })),
        "deleteWebhook" | "setMyCommands" => Ok(json!(true)),
        "getChat" => chat(&world, &arguments),
        "getChatMember" => member(&world, &arguments),
        "getFile" => {
            let id = arguments["file_id"].as_str().unwrap_or_default();
            let (_, content) = world.files.get(id).ok_or_else(|| bad("invalid file_id"))?;
            Ok(json!({
                "file_id": id, "file_unique_id": id, "file_size": content.len(), "file_path": id,
            }))
        }
        "createForumTopic" => make_topic(&mut world, &arguments),
        "sendMessage" => send(&mut world, &arguments, &json!({})),
        "sendDocument" => {
            let (name, content) = file.ok_or_else(|| bad("there is no document in the request"))?;
            let id = format!("sent-{}", world.next_id());
            let document = json!({
                "file_id": id, "file_unique_id": id, "file_name": name, "file_size": content.len(),
            });
            world.files.insert(id, (name, content));
            send(&mut world, &arguments, &json!({"document": document}))
        }
        "editMessageText" => edit(&mut world, &arguments),
        "answerCallbackQuery" => answer_press(&mut world, &arguments),
        "setMessageReaction" => react(&mut world, &arguments),
        _ => Err((404, "Not Found: method not found".to_owned())),
    }
}

async fn get_updates(shared: &Shared, arguments: &Value) -> Outcome {
    let offset = arguments["offset"].as_i64().unwrap_or(0);
    let hold = Duration::from_secs(arguments["timeout"].as_u64().unwrap_or(0));
    let until = tokio::time::Instant::now() + hold;
    let mine = {
        let mut world = shared.world();
        world.polls += 1;
        world.is_followed |= offset >= 0;
        if offset < 0 {
            let kept = usize::try_from(-offset).unwrap_or(0);
            let forgotten = world.updates.len().saturating_sub(kept);
            world.updates.drain(..forgotten);
        } else {
            // Asking for what is next says that the rest was received.
            world
                .updates
                .retain(|it| it["update_id"].as_i64() >= Some(offset));
        }
        world.polls
    };
    shared.stirred.notify_waiters();
    loop {
        let stirred = shared.stirred.notified();
        tokio::pin!(stirred);
        stirred.as_mut().enable();
        {
            let mut world = shared.world();
            if world.polls != mine {
                let words = "Conflict: terminated by other getUpdates request; make sure that only one bot \
                     instance is running";
                return Err((409, words.to_owned()));
            }
            let mut told: Vec<Value> = world.updates.iter().take(MOST_UPDATES).cloned().collect();
            if std::mem::take(&mut world.is_doubled) && told.is_empty() {
                told.extend(world.newest.clone());
            }
            if !told.is_empty() || tokio::time::Instant::now() >= until {
                return Ok(json!(told));
            }
        }
        // Whether something came or the time is over is looked at above.
        drop(tokio::time::timeout_at(until, stirred).await);
    }
}

fn chat_id(arguments: &Value) -> Result<i64, (u16, String)> {
    let id = &arguments["chat_id"];
    let number = id.as_i64().or_else(|| id.as_str()?.parse().ok());
    number.ok_or_else(|| bad("chat not found"))
}

fn chat(world: &World, arguments: &Value) -> Outcome {
    let found = world.chats.get(&chat_id(arguments)?).cloned();
    found.ok_or_else(|| bad("chat not found"))
}

fn member(world: &World, arguments: &Value) -> Outcome {
    chat(world, arguments)?;
    let id = arguments["user_id"].as_i64().unwrap_or(0);
    if id == BOT {
        return Ok(json!({
            "status": "administrator", "user": {"id": BOT, "is_bot": true, "first_name": "Countersign"},
            "can_manage_topics": !world.may_not_make_topics,
        }));
    }
    let user = world.users.get(&id).ok_or_else(|| bad("user not found"))?;
    Ok(json!({"status": "member", "user": user}))
}

fn make_topic(world: &mut World, arguments: &Value) -> Outcome {
    let chat = chat(world, arguments)?;
    if chat["is_forum"] != true {
        return Err(bad("the chat is not a forum"));
    }
    if world.may_not_make_topics {
        return Err(bad("not enough rights to create a topic"));
    }
    let id = world.next_id();
    let name = arguments["name"].clone();
    let beginning = json!({
        "message_id": id, "date": 1_700_000_000 + id, "chat": chat, "from": {"id": 0},
        "message_thread_id": id, "is_topic_message": true, "forum_topic_created": {"name": name},
    });
    world.keep(&beginning);
    Ok(json!({"message_thread_id": id, "name": name, "icon_color": 0}))
}

fn send(world: &mut World, arguments: &Value, more: &Value) -> Outcome {
    let chat = chat(world, arguments)?;
    let id = chat_id(arguments)?;
    if id > 0 && !world.started.contains(&id) {
        let words = "Forbidden: bot was blocked by the user";
        return Err((403, words.to_owned()));
    }
    let content = content(arguments, more)?;
    let topic = arguments["message_thread_id"].as_i64();
    if topic.is_some_and(|topic| world.message(id, topic).is_none()) {
        return Err(bad("message thread not found"));
    }
    let reply = &arguments["reply_parameters"];
    let replied = reply["message_id"].as_i64();
    let is_there = replied.is_none_or(|replied| world.message(id, replied).is_some());
    if !is_there && reply["allow_sending_without_reply"] != true {
        return Err(bad("message to be replied not found"));
    }
    let number = world.next_id();
    let mut message = json!({
        "message_id": number, "date": 1_700_000_000 + number, "chat": chat,
        "from": {"id": BOT, "is_bot": true, "first_name": "Countersign", "username": BOT_NAME},
    });
    if let Some(message) = message.as_object_mut() {
        message.extend(content);
    }
    world.place(&mut message, topic, replied);
    world.keep(&message);
    Ok(message)
}

/// What a message holds, if it may be.
fn content(arguments: &Value, more: &Value) -> Result<Map<String, Value>, (u16, String)> {
    let mut content = more.as_object().cloned().unwrap_or_default();
    if let Some(text) = arguments["text"].as_str() {
        if text.trim().is_empty() {
            return Err(bad("message text is empty"));
        }
        let length = text.encode_utf16().count();
        if length > LONGEST {
            return Err(bad("message is too long"));
        }
        let entities = arguments["entities"].as_array();
        let entities: Vec<Value> = entities
            .into_iter()
            .flatten()
            .take(MOST_ENTITIES)
            .cloned()
            .collect();
        for entity in &entities {
            let end = entity["offset"].as_u64().zip(entity["length"].as_u64());
            if !end.is_some_and(|(offset, own)| own > 0 && offset + own <= length as u64) {
                return Err(bad("entity is outside of the text"));
            }
        }
        content.insert("text".to_owned(), json!(text));
        content.insert("entities".to_owned(), json!(entities));
    }
    let markup = &arguments["reply_markup"];
    let rows = markup["inline_keyboard"].as_array();
    let buttons = rows
        .into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .flatten();
    let mut payloads = buttons.map(|button| button["callback_data"].as_str().unwrap_or_default());
    if payloads.any(|payload| payload.is_empty() || payload.len() > 64) {
        return Err(bad("BUTTON_DATA_INVALID"));
    }
    // Without a word on them there are no buttons, before an edit and after it.
    content.insert("reply_markup".to_owned(), markup.clone());
    Ok(content)
}

fn edit(world: &mut World, arguments: &Value) -> Outcome {
    let key = (
        chat_id(arguments)?,
        arguments["message_id"].as_i64().unwrap_or(0),
    );
    let content = content(arguments, &json!({}))?;
    let message = world.messages.get_mut(&key);
    let message = message.ok_or_else(|| bad("message to edit not found"))?;
    if message["from"]["id"] != BOT {
        return Err(bad("message can't be edited"));
    }
    if content
        .iter()
        .all(|(name, value)| message[name.as_str()] == *value)
    {
        return Err(bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a \
             current content and reply markup of the message",
        ));
    }
    if let Some(message) = message.as_object_mut() {
        message.extend(content);
    }
    Ok(message.clone())
}

fn answer_press(world: &mut World, arguments: &Value) -> Outcome {
    let id = arguments["callback_query_id"].as_str().unwrap_or_default();
    let Some(user) = world.presses.remove(id) else {
        return Err(bad(
            "query is too old and response timeout expired or query ID is invalid",
        ));
    };
    let text = arguments["text"].as_str().unwrap_or_default();
    if text.chars().count() > 200 {
        return Err(bad("MESSAGE_TOO_LONG"));
    }
    world.alerts.push(Alert {
        user,
        text: text.to_owned(),
        is_alert: arguments["show_alert"] == true,
    });
    Ok(json!(true))
}

fn react(world: &mut World, arguments: &Value) -> Outcome {
    let key = (
        chat_id(arguments)?,
        arguments["message_id"].as_i64().unwrap_or(0),
    );
    if world.message(key.0, key.1).is_none() {
        return Err(bad("message to react not found"));
    }
    let signs = arguments["reaction"].as_array().into_iter().flatten();
    let signs: Vec<String> = signs
        .filter_map(|sign| sign["emoji"].as_str().map(str::to_owned))
        .collect();
    // Bots have one.
    if signs.len() > 1 || !signs.iter().all(|sign| spec::is_reaction(sign)) {
        return Err(bad("REACTION_INVALID"));
    }
    world.reactions.insert(key, signs);
    Ok(json!(true))
}

/// A file of a form: its name and what is in it.
type Sent = Option<(String, Vec<u8>)>;

/// The arguments of a call, and its file.
fn read(content_type: &str, body: &[u8]) -> Result<(Value, Sent), (u16, String)> {
    if body.is_empty() {
        return Ok((json!({}), None));
    }
    match content_type.split_once("boundary=") {
        None => {
            let arguments: Value =
                serde_json::from_slice(body).map_err(|_| bad("it is no JSON"))?;
            Ok((
                if arguments.is_null() {
                    json!({})
                } else {
                    arguments
                },
                None,
            ))
        }
        Some((_, boundary)) => read_form(boundary.trim_matches('"'), body),
    }
}

fn read_form(boundary: &str, body: &[u8]) -> Result<(Value, Sent), (u16, String)> {
    let broken = || bad("the form is broken");
    let mut arguments = Map::new();
    let mut file = None;
    let mut named: Vec<(String, String)> = Vec::new();
    let mark = format!("--{boundary}");
    let mut files: Vec<(String, String, Vec<u8>)> = Vec::new();
    for part in split(body, mark.as_bytes()).into_iter().skip(1) {
        let Some(part) = part.strip_prefix(b"\r\n") else {
            // The end.
            break;
        };
        let mut halves = split(part, b"\r\n\r\n").into_iter();
        let head = String::from_utf8_lossy(halves.next().ok_or_else(broken)?).into_owned();
        let begin = head.len() + 4;
        let content = part
            .get(begin..part.len().saturating_sub(2))
            .ok_or_else(broken)?;
        let fields = head.lines().next().unwrap_or_default().split(';');
        let fields = fields.filter_map(|field| field.trim().split_once('='));
        let fields: Vec<(&str, &str)> = fields.collect();
        let field = |name: &str| {
            let (_, value) = fields.iter().find(|(field, _)| *field == name)?;
            Some(value.trim_matches('"').to_owned())
        };
        let name = field("name").ok_or_else(broken)?;
        match field("filename") {
            Some(file_name) => files.push((name, file_name, content.to_vec())),
            None => named.push((name, String::from_utf8_lossy(content).into_owned())),
        }
    }
    for (name, value) in named {
        if let Some(attached) = value.trim_matches('"').strip_prefix("attach://") {
            let found = files.iter().find(|(field, _, _)| field == attached);
            file = found.map(|(_, name, content)| (name.clone(), content.clone()));
            arguments.insert(name, json!(value));
            continue;
        }
        // Whatever is no text is JSON in a form.
        let parsed = serde_json::from_str(&value).ok();
        let parsed = parsed.filter(|parsed: &Value| !parsed.is_string());
        arguments.insert(name, parsed.unwrap_or(Value::String(value)));
    }
    if let Some((field, name, content)) =
        files.into_iter().find(|(field, _, _)| field == "document")
    {
        arguments.insert(field, json!("attach"));
        file = Some((name, content));
    }
    Ok((Value::Object(arguments), file))
}

/// The parts of `body` between the occurrences of `mark`.
fn split<'b>(body: &'b [u8], mark: &[u8]) -> Vec<&'b [u8]> {
    let mut parts = Vec::new();
    let mut from = 0;
    while let Some(at) = body[from..].windows(mark.len()).position(|it| it == mark) {
        parts.push(&body[from..from + at]);
        from += at + mark.len();
    }
    parts.push(&body[from..]);
    parts
}
