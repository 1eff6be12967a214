//! MCP servers.

use std::sync::Arc;

use countersign_core::digest::Digest;
use countersign_server::Response;
use countersign_workspace::{Change, Reach, mcp};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Call;
use super::engine_call::{self, escape};
use super::proxy::base_url;
use crate::approvals::Question;
use crate::refusal::Refusal;
use crate::reloads::{Reason, Trigger};
use crate::reply::{self, Items};
use crate::trail::Deed;
use crate::writing::{Done, News, Paths, Wish, replaces};

const SIGN_OUT: &str = "mcp.auth.remove";
/// Where opencode keeps with what it signed in, below the home.
const SIGNED_IN: &str = ".config/opencode/mcp-auth.json";

/// `GET /workspace/:id/mcp`
pub(crate) async fn list(call: &Call) -> Result<Response, Refusal> {
    // 0.1 shows those of the workspace alone.
    let reach = if call.surface.settings.compat.is_scoped() {
        Reach::Everything
    } else {
        Reach::Project
    };
    let items = call.look(move |seat| seat.files.mcp_in(reach)).await?;
    Ok(reply::ok(&Items { items }))
}

/// `POST /workspace/:id/mcp`
pub(crate) async fn set(call: &Call) -> Result<Response, Refusal> {
    let mut body = call.json().await?;
    let (name, config) = (body.text("name"), body.take("config"));
    if call.surface.settings.compat.is_scoped() {
        check_address(&config)?;
    }
    let event = name.clone();
    let wish = Wish {
        question: format!("Add MCP {name}"),
        paths: Paths::Config,
        deed: Deed {
            action: "mcp.add",
            target: "opencode.json".to_owned(),
            summary: format!("Added MCP {name}"),
        },
        news: News::Always(
            Reason::Mcp,
            Box::new(move |plan| Trigger {
                kind: "mcp",
                name: Some(event),
                action: if replaces(plan) { "updated" } else { "added" },
                path: None,
            }),
        ),
        change: Change::SetMcp { name, config },
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    list(call).await
}

/// In 0.13 the address of a server has to be one.
fn check_address(config: &Value) -> Result<(), Refusal> {
    let url = match (config.get("type"), config.get("url")) {
        (Some(Value::String(kind)), Some(Value::String(url))) if kind == "remote" => url,
        _ => return Ok(()),
    };
    let wrong = |message| Err(Refusal::new(400, "invalid_mcp_config", message));
    if url.trim().is_empty() {
        return wrong("Remote MCP requires url");
    }
    if url.trim() != url {
        return wrong("Remote MCP url must not include surrounding whitespace");
    }
    match reqwest::Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(()),
        Ok(_) | Err(_) => wrong("Remote MCP url must start with http(s)://"),
    }
}

/// `POST /workspace/:id/mcp/:name/enabled`
pub(crate) async fn enable(call: &Call, name: String) -> Result<Response, Refusal> {
    let Value::Bool(enabled) = call.json().await?.take("enabled") else {
        return Err(Refusal::new(
            400,
            "invalid_payload",
            "enabled must be a boolean",
        ));
    };
    let (action, wanted, done) = if enabled {
        ("mcp.enable", "Enable", "Enabled")
    } else {
        ("mcp.disable", "Disable", "Disabled")
    };
    let event = name.clone();
    let wish = Wish {
        question: format!("{wanted} MCP {name}"),
        paths: Paths::Config,
        deed: Deed {
            action,
            target: "opencode.json".to_owned(),
            summary: format!("{done} MCP {name}"),
        },
        news: News::Changed(
            Reason::Mcp,
            Box::new(move |_| Trigger {
                kind: "mcp",
                name: Some(event),
                action: "updated",
                path: None,
            }),
        ),
        change: Change::EnableMcp { name, enabled },
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    list(call).await
}

/// `DELETE /workspace/:id/mcp/:name`
pub(crate) async fn remove(call: &Call, name: String) -> Result<Response, Refusal> {
    let event = name.clone();
    let wish = Wish {
        question: format!("Remove MCP {name}"),
        paths: Paths::Config,
        deed: Deed {
            action: "mcp.remove",
            target: "opencode.json".to_owned(),
            summary: format!("Removed MCP {name}"),
        },
        news: News::Changed(
            Reason::Mcp,
            Box::new(move |_| Trigger {
                kind: "mcp",
                name: Some(event),
                action: "removed",
                path: None,
            }),
        ),
        change: Change::RemoveMcp { name },
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    list(call).await
}

/// `DELETE /workspace/:id/mcp/:name/auth`: the engine forgets with what it signed in there.
pub(crate) async fn sign_out(call: &Call, name: String) -> Result<Response, Refusal> {
    mcp::check_name(&name)?;
    base_url(&call.seat.entry)?;
    let home = call.seat.files.home().path();
    let target = home.join(SIGNED_IN).to_string_lossy().into_owned();
    let question = Question {
        action: SIGN_OUT,
        summary: format!("Logout MCP {name}"),
        paths: vec![target.clone()],
        changes: Vec::new(),
        fingerprint: Digest::of_parts([SIGN_OUT.as_bytes(), name.as_bytes()]),
    };
    let permitting = call.surface.permit(&call.caller, &call.seat, question);
    let permit = permitting.await?;
    let client = call.surface.upstream.client()?.clone();
    let seat = Arc::clone(&call.seat);
    let doing = async move {
        let at = format!("/mcp/{}", escape(&name));
        let to = |method, below: &str| {
            let path = format!("{at}/{below}");
            let (client, seat) = (client.clone(), Arc::clone(&seat));
            async move { engine_call::ask(&client, &seat.entry, method, &path, &[]).await }
        };
        // Whether or not there is a connection, there is none afterwards.
        let _ended = to(Method::POST, "disconnect").await;
        let reply = to(Method::DELETE, "auth").await?;
        // Who is signed in nowhere is signed out.
        if !reply.status.is_success() && reply.status != StatusCode::NOT_FOUND {
            return Err(reply.refused());
        }
        Ok(Done {
            digest: None,
            ground: None,
            deeds: vec![Deed {
                action: SIGN_OUT,
                target,
                summary: format!("Logged out MCP {name}"),
            }],
            announce: Box::new(|_| {}),
            value: (),
        })
    };
    call.surface
        .carry_out(&call.caller, &call.seat, permit, doing)
        .await?;
    Ok(reply::ok(&json!({ "ok": true })))
}
