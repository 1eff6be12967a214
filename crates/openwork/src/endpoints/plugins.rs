//! Plugins.

use countersign_server::Response;
use countersign_workspace::{Change, Plugin, Reach, plugins};
use serde::Serialize;

use super::Call;
use crate::refusal::Refusal;
use crate::reloads::{Reason, Trigger};
use crate::reply;
use crate::trail::Deed;
use crate::writing::{News, Paths, Wish};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    items: Vec<Plugin>,
    load_order: [&'static str; 4],
}

/// `GET /workspace/:id/plugins`
pub(crate) async fn list(call: &Call) -> Result<Response, Refusal> {
    let reach = match call.query("includeGlobal").as_deref() {
        Some("true") => Reach::Everything,
        _ => Reach::Project,
    };
    listed(call, reach).await
}

async fn listed(call: &Call, reach: Reach) -> Result<Response, Refusal> {
    let items = call.glance(move |seat| seat.files.plugins(reach)).await?;
    Ok(reply::ok(&Listed {
        items,
        load_order: [
            "config.global",
            "config.project",
            "dir.global",
            "dir.project",
        ],
    }))
}

/// `POST /workspace/:id/plugins`
pub(crate) async fn add(call: &Call) -> Result<Response, Refusal> {
    let spec = call.json().await?.text("spec");
    let wish = Wish {
        question: format!("Add plugin {spec}"),
        paths: Paths::Config,
        deed: Deed {
            action: "plugins.add",
            target: "opencode.json".to_owned(),
            summary: format!("Added {spec}"),
        },
        news: changed(&spec, "added"),
        change: Change::AddPlugin { spec },
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    listed(call, Reach::Project).await
}

/// `DELETE /workspace/:id/plugins/:name`
pub(crate) async fn remove(call: &Call, name: String) -> Result<Response, Refusal> {
    let wish = Wish {
        question: format!("Remove plugin {name}"),
        paths: Paths::Config,
        deed: Deed {
            action: "plugins.remove",
            target: "opencode.json".to_owned(),
            summary: format!("Removed {name}"),
        },
        news: changed(&name, "removed"),
        change: Change::RemovePlugin { name },
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    listed(call, Reach::Project).await
}

fn changed(spec: &str, action: &'static str) -> News {
    let name = plugins::name(spec).to_owned();
    News::Changed(
        Reason::Plugins,
        Box::new(move |_| Trigger {
            kind: "plugin",
            name: Some(name),
            action,
            path: None,
        }),
    )
}
