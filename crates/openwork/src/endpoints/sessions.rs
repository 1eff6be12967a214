//! Conversations, read from the engine of a workspace.

use countersign_server::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Call;
use super::engine_call::{self, escape};
use crate::refusal::Refusal;
use crate::reply::{self, Items};
use crate::trail::{Deed, Trail};

/// `GET /workspace/:id/sessions`
pub(crate) async fn list(call: &Call) -> Result<Response, Refusal> {
    let mut query = Vec::new();
    if let Some(roots) = call.query("roots") {
        match roots.as_str() {
            "true" | "1" => query.push(("roots", "true".to_owned())),
            "false" | "0" => query.push(("roots", "false".to_owned())),
            _ => return Err(invalid_query("roots must be a boolean")),
        }
    }
    for name in ["start", "limit"] {
        if let Some(number) = call.query(name) {
            query.push((name, whole_number(name, &number)?));
        }
    }
    if let Some(search) = call
        .query("search")
        .filter(|search| !search.trim().is_empty())
    {
        query.push(("search", search));
    }
    let items = ask(call, Method::GET, "/session", &query).await?;
    let is_list = items
        .as_array()
        .is_some_and(|items| items.iter().all(is_session));
    if is_list {
        Ok(reply::ok(&Items { items }))
    } else {
        Err(invalid_response())
    }
}

/// `GET /workspace/:id/sessions/:sid`
pub(crate) async fn show(call: &Call, id: &str) -> Result<Response, Refusal> {
    let item = session(call, id).await?;
    Ok(reply::ok(&json!({ "item": item })))
}

/// `GET /workspace/:id/sessions/:sid/messages`
pub(crate) async fn messages(call: &Call, id: &str) -> Result<Response, Refusal> {
    let items = messages_of(call, id).await?;
    Ok(reply::ok(&Items { items }))
}

/// `GET /workspace/:id/sessions/:sid/snapshot`
pub(crate) async fn snapshot(call: &Call, id: &str) -> Result<Response, Refusal> {
    let session = session(call, id).await?;
    let messages = messages_of(call, id).await?;
    let todos = ask(
        call,
        Method::GET,
        &format!("/session/{}/todo", escape(id)),
        &[],
    )
    .await?;
    if !todos.is_array() {
        return Err(invalid_response());
    }
    let statuses = ask(call, Method::GET, "/session/status", &[]).await?;
    let status = statuses
        .get(id)
        .cloned()
        .unwrap_or_else(|| json!({ "type": "idle" }));
    let item =
        json!({ "session": session, "messages": messages, "todos": todos, "status": status });
    Ok(reply::ok(&json!({ "item": item })))
}

/// `DELETE /workspace/:id/sessions/:sid`
pub(crate) async fn delete(call: &Call, id: &str) -> Result<Response, Refusal> {
    session(call, id).await?;
    ask(
        call,
        Method::DELETE,
        &format!("/session/{}", escape(id)),
        &[],
    )
    .await?;
    let deed = Deed {
        action: "session.delete",
        target: id.to_owned(),
        summary: format!("Deleted session {id}"),
    };
    Trail::note(&call.seat, &call.caller, deed).await?;
    Ok(reply::ok(&json!({ "ok": true })))
}

async fn session(call: &Call, id: &str) -> Result<Value, Refusal> {
    let item = ask(call, Method::GET, &format!("/session/{}", escape(id)), &[]).await?;
    if is_session(&item) {
        Ok(item)
    } else {
        Err(invalid_response())
    }
}

async fn messages_of(call: &Call, id: &str) -> Result<Value, Refusal> {
    let mut query = Vec::new();
    if let Some(limit) = call.query("limit") {
        query.push(("limit", whole_number("limit", &limit)?));
    }
    let items = ask(
        call,
        Method::GET,
        &format!("/session/{}/message", escape(id)),
        &query,
    )
    .await?;
    if items.is_array() {
        Ok(items)
    } else {
        Err(invalid_response())
    }
}

/// Asks the engine of the workspace.
async fn ask(
    call: &Call,
    method: Method,
    path: &str,
    query: &[(&str, String)],
) -> Result<Value, Refusal> {
    let client = call.surface.upstream.client()?;
    let reply = engine_call::ask(client, &call.seat.entry, method, path, query).await?;
    match reply.status {
        status if status.is_success() => reply.body.ok_or_else(invalid_response),
        StatusCode::NOT_FOUND => Err(Refusal::new(404, "session_not_found", "Session not found")),
        StatusCode::BAD_REQUEST => Err(invalid_query("OpenCode rejected the query")),
        _ => Err(reply.refused()),
    }
}

fn is_session(value: &Value) -> bool {
    value.get("id").is_some_and(Value::is_string)
}

fn whole_number(name: &str, text: &str) -> Result<String, Refusal> {
    match text.trim().parse::<u64>() {
        Ok(number) if number > 0 || name == "start" => Ok(number.to_string()),
        Ok(_) | Err(_) => Err(invalid_query(format!("{name} must be a positive integer"))),
    }
}

fn invalid_query(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new(400, "invalid_query", message)
}

fn invalid_response() -> Refusal {
    Refusal::new(
        502,
        "opencode_invalid_response",
        "OpenCode returned an invalid response",
    )
}
