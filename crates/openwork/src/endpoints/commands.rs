//! Commands.

use countersign_server::Response;
use countersign_workspace::{Change, CommandDraft, Scope};
use serde_json::{Value, json};

use super::Call;
use crate::refusal::Refusal;
use crate::reloads::{Reason, Trigger};
use crate::reply::{self, Items};
use crate::settings::resolve;
use crate::trail::Deed;
use crate::writing::{News, Paths, Wish, replaces};

/// Where commands are, below the workspace.
const FOLDER: &str = ".opencode/commands";

/// `GET /workspace/:id/commands`
pub(crate) async fn list(call: &Call) -> Result<Response, Refusal> {
    let scope = match call.query("scope").as_deref() {
        Some("global") => {
            // What is the user's own is for the host to see.
            call.surface.keys.host(&call.headers).await?;
            Scope::Global
        }
        _ => Scope::Project,
    };
    listed(call, scope).await
}

async fn listed(call: &Call, scope: Scope) -> Result<Response, Refusal> {
    let items = call.look(move |seat| seat.files.commands(scope)).await?;
    Ok(reply::ok(&Items { items }))
}

/// `POST /workspace/:id/commands`
pub(crate) async fn upsert(call: &Call) -> Result<Response, Refusal> {
    let body = call.json().await?;
    let name = body.text("name");
    let draft = CommandDraft {
        name: name.clone(),
        template: body.text("template"),
        description: body.filled("description"),
        agent: body.filled("agent"),
        model: body.filled("model"),
        subtask: body.get("subtask").and_then(Value::as_bool),
    };
    let path = path_of(call, &name);
    let news = news(call, &name, &path);
    let wish = Wish {
        change: Change::UpsertCommand(draft),
        question: format!("Upsert command {name}"),
        paths: Paths::These(vec![path.clone()]),
        deed: Deed {
            action: "commands.upsert",
            target: path,
            summary: format!("Upserted command {name}"),
        },
        news,
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    listed(call, Scope::Project).await
}

/// `DELETE /workspace/:id/commands/:name`
pub(crate) async fn delete(call: &Call, name: String) -> Result<Response, Refusal> {
    let path = path_of(call, &name);
    let wish = Wish {
        question: format!("Delete command {name}"),
        paths: Paths::These(vec![path.clone()]),
        deed: Deed {
            action: "commands.delete",
            target: call
                .seat
                .files
                .path()
                .join(FOLDER)
                .to_string_lossy()
                .into_owned(),
            summary: format!("Deleted command {name}"),
        },
        news: if call.surface.settings.compat.is_scoped() {
            News::Changed(Reason::Commands, trigger(name.clone(), path, "removed"))
        } else {
            News::None
        },
        change: Change::DeleteCommand { name },
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    Ok(reply::ok(&json!({ "ok": true })))
}

fn path_of(call: &Call, name: &str) -> String {
    let name = name.trim().trim_start_matches('/');
    let path = resolve(call.seat.files.path(), &format!("{FOLDER}/{name}.md"));
    path.to_string_lossy().into_owned()
}

/// 0.1 announces nothing of commands.
fn news(call: &Call, name: &str, path: &str) -> News {
    if !call.surface.settings.compat.is_scoped() {
        return News::None;
    }
    let (name, path) = (name.to_owned(), path.to_owned());
    News::Always(
        Reason::Commands,
        Box::new(move |plan| {
            let action = if replaces(plan) { "updated" } else { "added" };
            trigger(name, path, action)(plan)
        }),
    )
}

fn trigger(
    name: String,
    path: String,
    action: &'static str,
) -> Box<dyn FnOnce(&countersign_workspace::Plan) -> Trigger + Send> {
    Box::new(move |_| Trigger {
        kind: "command",
        name: Some(name),
        action,
        path: Some(path),
    })
}
