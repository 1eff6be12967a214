//! The HTTP API: every body is checked with Discord's own specification, what is sent and what is answered.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::interactions::{call_back, follow_up};
use super::messages::{components, form, is_sound, post};
use super::spec::Fault;
use super::world::{Kind, World};
use super::{Shared, TOKEN, spec};

const BODY_LIMIT: usize = 64 << 20;

/// A request, read.
pub(super) struct Asked {
    method: Method,
    /// The parts of the path after the version.
    path: Vec<String>,
    query: String,
    pub(super) body: Value,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// What is answered: for which operation of the specification, with which status and body.
pub(super) type Answer = (&'static str, u16, Value);

/// An error of Discord's, with its number.
pub(super) struct Refused(u16, u64, String);

pub(super) fn refused<T>(status: u16, code: u64, message: &str) -> Result<T, Refused> {
    Err(Refused(status, code, message.to_owned()))
}

pub(super) async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if let Some(file) = request.uri().path().strip_prefix("/attachments/") {
        let id = file.split('/').next().and_then(|id| id.parse().ok());
        let world = shared.world();
        let content = id.and_then(|id: u64| world.files.get(&id).cloned());
        return content.map_or(
            StatusCode::NOT_FOUND.into_response(),
            IntoResponse::into_response,
        );
    }
    let is_interaction = ["/callback", "/webhooks/"]
        .iter()
        .any(|part| request.uri().path().contains(part));
    let authorisation = request.headers().get(AUTHORIZATION);
    let is_known =
        authorisation.is_some_and(|it| it.as_bytes() == format!("Bot {TOKEN}").as_bytes());
    if !is_known && !is_interaction {
        return error(&Refused(401, 0, "401: Unauthorized".to_owned()));
    }
    let asked = match read(request).await {
        Ok(asked) => asked,
        Err(refused) => return error(&refused),
    };
    let mut world = shared.world();
    match answer(&mut world, &shared.gateway, &asked) {
        Ok((operation, status, body)) => {
            if let Some(problem) = spec::problem(operation, status, &body) {
                world.violations.push(problem);
            }
            let status = StatusCode::from_u16(status).expect("it is a status");
            if body.is_null() {
                status.into_response()
            } else {
                (status, axum::Json(body)).into_response()
            }
        }
        Err(refused) => {
            if refused.1 == 50_035 {
                world.violations.push(refused.2.clone());
            }
            error(&refused)
        }
    }
}

fn error(refused: &Refused) -> Response {
    let status = StatusCode::from_u16(refused.0).expect("it is a status");
    let body = json!({"code": refused.1, "message": refused.2});
    (status, axum::Json(body)).into_response()
}

async fn read(request: Request) -> Result<Asked, Refused> {
    let (parts, body) = request.into_parts();
    let path = parts
        .uri
        .path()
        .strip_prefix("/api/v10/")
        .unwrap_or_default();
    let decoded = |part: &str| percent_decoded(part);
    let path = path.split('/').map(decoded).collect();
    let bytes = axum::body::to_bytes(Body::new(body), BODY_LIMIT).await;
    let bytes = bytes.or_else(|_| refused(400, 0, "too big"))?;
    let kind = parts
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let boundary = kind.and_then(|kind| kind.strip_prefix("multipart/form-data; boundary="));
    let (body, files) = match boundary {
        Some(boundary) => form(&bytes, boundary.trim_matches('"')),
        None if bytes.is_empty() => (Value::Null, Vec::new()),
        None => match serde_json::from_slice(&bytes) {
            Ok(body) => (body, Vec::new()),
            Err(_) => return refused(400, 50_109, "The request body contains invalid JSON."),
        },
    };
    Ok(Asked {
        method: parts.method,
        path,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body,
        files,
    })
}

fn percent_decoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = part.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn id(text: &str) -> Result<u64, Refused> {
    text.parse()
        .or_else(|_| refused(400, 50_035, "a part of the path is no number"))
}

/// Refuses a body that is not as the specification says, and notes what Discord would ignore.
pub(super) fn checked(world: &mut World, operation: &str, asked: &Asked) -> Result<(), Refused> {
    match spec::fault(operation, &asked.body) {
        None => Ok(()),
        Some(Fault::Unknown(problem)) => {
            world.violations.push(problem);
            Ok(())
        }
        Some(Fault::Refused(problem)) => {
            refused(400, 50_035, &format!("Invalid Form Body: {problem}"))
        }
    }
}

fn answer(world: &mut World, gateway: &str, asked: &Asked) -> Result<Answer, Refused> {
    let path: Vec<&str> = asked.path.iter().map(String::as_str).collect();
    match (asked.method.as_str(), path.as_slice()) {
        ("GET", ["users", "@me"]) => {
            let mut me = world.user(world.bot);
            me["mfa_enabled"] = json!(false);
            me["locale"] = json!("en-US");
            Ok(("GET /users/@me", 200, me))
        }
        ("GET", ["gateway", "bot"]) => {
            let limit =
                json!({"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1});
            let body = json!({"url": gateway, "shards": 1, "session_start_limit": limit});
            Ok(("GET /gateway/bot", 200, body))
        }
        ("GET", ["applications", "@me"]) => Ok(("GET /applications/@me", 200, application(world))),
        ("PUT", ["applications", _, "commands"]) => {
            let operation = "PUT /applications/{application_id}/commands";
            checked(world, operation, asked)?;
            world.commands = asked.body.clone();
            Ok((operation, 200, commands(world)))
        }
        ("POST", ["users", "@me", "channels"]) => {
            checked(world, "POST /users/@me/channels", asked)?;
            let person = id(asked.body["recipient_id"].as_str().unwrap_or_default())?;
            if !world.people.contains_key(&person) {
                return refused(400, 50_033, "Invalid Recipient(s)");
            }
            let channel = world.direct_of(person);
            Ok(("POST /users/@me/channels", 200, world.channel(channel)))
        }
        ("GET", ["guilds", guild]) if id(guild)? == world.guild => {
            Ok(("GET /guilds/{guild_id}", 200, world.server()))
        }
        ("GET", ["guilds", guild, "members", member]) if id(guild)? == world.guild => {
            let member = world.member(id(member)?);
            Ok(("GET /guilds/{guild_id}/members/{user_id}", 200, member))
        }
        ("GET", ["guilds", guild, "threads", "active"]) if id(guild)? == world.guild => Ok((
            "GET /guilds/{guild_id}/threads/active",
            200,
            threads(world, false),
        )),
        ("POST", ["interactions", interaction, token, "callback"]) => {
            call_back(world, asked, id(interaction)?, token)
        }
        ("POST", ["webhooks", _, token]) => follow_up(world, asked, token),
        (_, ["channels", channel, rest @ ..]) => {
            let channel = id(channel)?;
            if !world.channels.contains_key(&channel) {
                return refused(404, 10_003, "Unknown Channel");
            }
            in_channel(world, asked, channel, rest)
        }
        _ => refused(404, 0, "404: Not Found"),
    }
}

fn in_channel(
    world: &mut World,
    asked: &Asked,
    channel: u64,
    rest: &[&str],
) -> Result<Answer, Refused> {
    match (asked.method.as_str(), rest) {
        ("GET", []) => Ok(("GET /channels/{channel_id}", 200, world.channel(channel))),
        ("GET", ["threads", "archived", "public"]) => {
            let operation = "GET /channels/{channel_id}/threads/archived/public";
            Ok((operation, 200, threads(world, true)))
        }
        ("GET", ["messages"]) => {
            let after = asked
                .query
                .split('&')
                .find_map(|pair| pair.strip_prefix("after="));
            let after = id(after.unwrap_or("0"))?;
            let found = &world.channels[&channel].messages;
            let mut found: Vec<Value> = found
                .range(after + 1..)
                .take(100)
                .map(|(_, it)| it.clone())
                .collect();
            found.reverse();
            Ok(("GET /channels/{channel_id}/messages", 200, json!(found)))
        }
        ("POST", ["messages"]) => post(world, asked, channel),
        (_, ["messages", message, rest @ ..]) => {
            let message = id(message)?;
            let Some(found) = world.message(channel, message) else {
                return refused(404, 10_008, "Unknown Message");
            };
            on_message(world, asked, channel, message, found, rest)
        }
        _ => refused(404, 0, "404: Not Found"),
    }
}

fn on_message(
    world: &mut World,
    asked: &Asked,
    channel: u64,
    message: u64,
    found: Value,
    rest: &[&str],
) -> Result<Answer, Refused> {
    match (asked.method.as_str(), rest) {
        ("GET", []) => Ok((
            "GET /channels/{channel_id}/messages/{message_id}",
            200,
            found,
        )),
        ("PATCH", []) => {
            let operation = "PATCH /channels/{channel_id}/messages/{message_id}";
            checked(world, operation, asked)?;
            if found["author"]["id"] != world.bot.to_string().as_str() {
                return refused(
                    403,
                    50_005,
                    "Cannot edit a message authored by another user",
                );
            }
            is_sound(&asked.body)?;
            let mut edited = found;
            for field in ["content", "components", "flags"] {
                if let Some(value) = asked.body.get(field) {
                    edited[field] = value.clone();
                }
            }
            edited["components"] = components(&edited["components"]);
            edited["edited_timestamp"] = edited["timestamp"].clone();
            let at = world.channels.get_mut(&channel).expect("it was found");
            at.messages.insert(message, edited);
            Ok((
                operation,
                200,
                world.message(channel, message).unwrap_or_default(),
            ))
        }
        ("POST", ["threads"]) => {
            let operation = "POST /channels/{channel_id}/messages/{message_id}/threads";
            checked(world, operation, asked)?;
            if world.channels.contains_key(&message) {
                return refused(
                    400,
                    160_004,
                    "A thread has already been created for this message",
                );
            }
            if world.channels[&channel].kind != Kind::Text {
                return refused(400, 50_024, "Cannot execute action on this channel type");
            }
            let kind = Kind::Thread {
                parent: channel,
                archived: false,
            };
            let name = asked.body["name"].as_str().unwrap_or_default();
            world.put_channel(message, kind, name);
            let thread = world.channel(message);
            world.tell("THREAD_CREATE", &thread);
            Ok((operation, 201, thread))
        }
        ("PUT", ["reactions", sign, "@me"]) => {
            let signs = world.reactions.entry(message).or_default();
            if !signs.iter().any(|known| known == sign) {
                signs.push((*sign).to_owned());
            }
            let operation =
                "PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me";
            Ok((operation, 204, Value::Null))
        }
        ("DELETE", ["reactions", sign, "@me"]) => {
            world
                .reactions
                .entry(message)
                .or_default()
                .retain(|known| known != sign);
            let operation =
                "DELETE /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me";
            Ok((operation, 204, Value::Null))
        }
        _ => refused(404, 0, "404: Not Found"),
    }
}

fn threads(world: &World, put_away: bool) -> Value {
    let is_wanted =
        |kind: Kind| matches!(kind, Kind::Thread { archived, .. } if archived == put_away);
    let found = world.channels.iter().filter(|(_, it)| is_wanted(it.kind));
    let threads: Vec<Value> = found.map(|(id, _)| world.channel(*id)).collect();
    json!({"threads": threads, "members": [], "has_more": false})
}

fn application(world: &World) -> Value {
    let owner = world.people.keys().next().copied().unwrap_or_default();
    let flags: u64 = if world.may_read { 1 << 19 } else { 0 };
    json!({
        "id": world.bot.to_string(), "name": "countersign", "icon": null, "description": "", "type": null,
        "verify_key": "00", "flags": flags, "flags_new": flags.to_string(), "redirect_uris": [],
        "interactions_endpoint_url": null, "role_connections_verification_url": null, "owner": world.user(owner),
        "approximate_guild_count": 1, "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0, "explicit_content_filter": 0, "team": null,
        "eligible_oauth2_scopes": [],
    })
}

fn commands(world: &mut World) -> Value {
    let known = world.commands.as_array().cloned().unwrap_or_default();
    let mut commands = Vec::new();
    for mut command in known {
        let id = world.new_id().to_string();
        command["id"] = json!(id);
        command["version"] = json!(id);
        command["application_id"] = json!(world.bot.to_string());
        command["default_member_permissions"] = Value::Null;
        commands.push(command);
    }
    json!(commands)
}
