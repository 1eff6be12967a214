//! What a plain agent says, as templates.

use serde_json::{Value, json};

use super::script::{Act, Stage, say};

/// The session that every agent of this kind opens.
pub const SESSION: &str = "hostile-1";

/// A session that is not its own.
pub const FOREIGN_SESSION: &str = "somebody-elses-session";

/// The id of the plain ask.
pub(super) const ASK_ID: &str = "7";

/// The plain ask's command. It would do no harm.
pub const COMMAND: &str = "echo hostile";

/// What a plain agent does at `stage`.
pub(super) fn acts(stage: Stage) -> Vec<Act> {
    match stage {
        Stage::Start => vec![],
        Stage::Initialize => vec![say(initialized(&json!(1)))],
        Stage::New => vec![say(opened(SESSION))],
        Stage::Prompt => vec![say(chunk("Working.")), say(tool_call()), say(ask())],
        Stage::Answer => vec![say(tool_done("completed")), say(ended("end_turn"))],
        Stage::Cancel => vec![say(ended("cancelled"))],
        Stage::End => vec![Act::Exit(0)],
    }
}

/// A response to the request at hand.
pub(super) fn response(result: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#)
}

/// An error in response to the request at hand.
pub(super) fn error(code: i64, message: &str) -> String {
    let error = json!({ "code": code, "message": message });
    format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#)
}

/// A request; `id` is JSON.
pub(super) fn request(id: &str, method: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub(super) fn initialized(version: &Value) -> String {
    response(&json!({
        "protocolVersion": version,
        "agentCapabilities": { "loadSession": true, "sessionCapabilities": { "resume": {} } },
        "agentInfo": { "name": "hostile-agent", "version": "1" },
        "authMethods": [],
    }))
}

pub(super) fn opened(session: &str) -> String {
    response(&json!({ "sessionId": session }))
}

pub(super) fn update_of(session: &str, update: &Value) -> String {
    let params = json!({ "sessionId": session, "update": update });
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#)
}

pub(super) fn update(update: &Value) -> String {
    update_of("$SESSION", update)
}

pub(super) fn chunk(text: &str) -> String {
    update(&chunk_update(text))
}

pub(super) fn chunk_update(text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "sessionUpdate": "agent_message_chunk", "content": content })
}

pub(super) fn tool_call() -> String {
    update(&json!({
        "sessionUpdate": "tool_call",
        "toolCallId": "call-1",
        "title": COMMAND,
        "kind": "execute",
        "status": "pending",
        "rawInput": { "command": COMMAND, "cwd": "$CWD" },
    }))
}

pub(super) fn tool_done(status: &str) -> String {
    update(
        &json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": status }),
    )
}

/// The options of the plain ask.
pub(super) fn options() -> Value {
    json!([
        option("yes", "Allow", "allow_once"),
        option("always", "Always allow", "allow_always"),
        option("no", "Deny", "reject_once"),
    ])
}

pub(super) fn option(id: &str, name: &str, kind: &str) -> Value {
    json!({ "optionId": id, "name": name, "kind": kind })
}

pub(super) fn ask() -> String {
    ask_with(ASK_ID, COMMAND, &options())
}

/// An ask for leave to run `command`; `id` is JSON.
pub(super) fn ask_with(id: &str, command: &str, options: &Value) -> String {
    ask_in("$SESSION", id, command, options)
}

pub(super) fn ask_in(session: &str, id: &str, command: &str, options: &Value) -> String {
    let call = json!({
        "toolCallId": "call-1",
        "title": command,
        "kind": "execute",
        "status": "pending",
        "rawInput": { "command": command, "cwd": "$CWD" },
    });
    let params = json!({ "sessionId": session, "toolCall": call, "options": options });
    request(id, "session/request_permission", &params)
}

/// The end of the turn, whichever request is at hand.
pub(super) fn ended(reason: &str) -> String {
    let result = json!({ "stopReason": reason });
    format!(r#"{{"jsonrpc":"2.0","id":$PROMPT,"result":{result}}}"#)
}
