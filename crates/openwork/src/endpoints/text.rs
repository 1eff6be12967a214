//! opencode's configuration as it is written.

use countersign_server::Response;
use countersign_workspace::{Change, Scope};
use serde::Serialize;
use serde_json::Value;

use super::Call;
use super::config::updated;
use crate::refusal::Refusal;
use crate::reloads::Reason;
use crate::reply;
use crate::trail::Deed;
use crate::writing::{News, Paths, Wish};

#[derive(Serialize)]
struct Text {
    path: String,
    exists: bool,
    content: Option<String>,
}

/// `GET /workspace/:id/opencode-config`
pub(crate) async fn show(call: &Call) -> Result<Response, Refusal> {
    let scope = scope(call.query("scope").as_deref())?;
    let text = call.look(move |seat| seat.files.config_text(scope)).await?;
    Ok(reply::ok(&Text {
        path: text.path.to_string_lossy().into_owned(),
        exists: text.text.is_some(),
        content: text.text,
    }))
}

#[derive(Serialize)]
struct Written {
    ok: bool,
    path: String,
}

/// `POST /workspace/:id/opencode-config`
pub(crate) async fn write(call: &Call) -> Result<Response, Refusal> {
    let mut body = call.json().await?;
    let scope = scope(body.filled("scope").as_deref())?;
    let Value::String(text) = body.take("content") else {
        return Err(Refusal::new(
            400,
            "invalid_payload",
            "content must be a string",
        ));
    };
    let found = call.look(move |seat| seat.files.config_text(scope)).await?;
    let path = found.path.to_string_lossy().into_owned();
    let wish = Wish {
        change: Change::WriteConfig { scope, text },
        question: "Write OpenCode config".to_owned(),
        paths: Paths::These(vec![path.clone()]),
        deed: Deed {
            action: "config.write",
            target: path.clone(),
            summary: "Wrote OpenCode config".to_owned(),
        },
        news: News::Changed(Reason::Config, updated(path.clone())),
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    Ok(reply::ok(&Written { ok: true, path }))
}

fn scope(name: Option<&str>) -> Result<Scope, Refusal> {
    match name {
        None | Some("project") => Ok(Scope::Project),
        Some("global") => Ok(Scope::Global),
        Some(_) => Err(Refusal::new(
            400,
            "invalid_scope",
            "scope must be project or global",
        )),
    }
}
