//! Skills.

use countersign_server::Response;
use countersign_workspace::{Change, Reach, Skill};
use http::StatusCode;
use serde::Serialize;
use serde_json::json;

use super::Call;
use crate::refusal::Refusal;
use crate::reloads::{Reason, Trigger};
use crate::reply;
use crate::settings::resolve;
use crate::trail::Deed;
use crate::writing::{News, Paths, Wish, replaces};

/// `GET /workspace/:id/skills`
pub(crate) async fn list(call: &Call) -> Result<Response, Refusal> {
    let with_global = call.query("includeGlobal").as_deref() == Some("true");
    let looks = call.seat.listings.skill_looks(with_global);
    let body = call.look_together(looks, move |seat| {
        let reach = if with_global {
            Reach::Everything
        } else {
            Reach::Project
        };
        let skills = seat.files.skills(reach)?;
        Ok(seat.listings.skills(&skills, with_global))
    });
    Ok(reply::bytes(StatusCode::OK, body.await?))
}

#[derive(Serialize)]
struct Upserted {
    name: String,
    path: String,
    description: String,
    scope: &'static str,
}

/// `POST /workspace/:id/skills`
pub(crate) async fn upsert(call: &Call) -> Result<Response, Refusal> {
    let body = call.json().await?;
    let (name, content) = (body.text("name"), body.text("content"));
    let description = body.filled("description");
    let path = resolve(
        call.seat.files.path(),
        &format!(".opencode/skills/{}/SKILL.md", name.trim()),
    );
    let path = path.to_string_lossy().into_owned();
    let wish = Wish {
        question: format!("Upsert skill {name}"),
        paths: Paths::These(vec![path.clone()]),
        deed: Deed {
            action: "skills.upsert",
            target: path.clone(),
            summary: format!("Upserted skill {name}"),
        },
        news: upserted(name.clone(), path.clone()),
        change: Change::UpsertSkill {
            name: name.clone(),
            content,
            description: description.clone(),
        },
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    Ok(reply::ok(&Upserted {
        name,
        path,
        description: description.unwrap_or_default(),
        scope: "project",
    }))
}

#[derive(Serialize)]
struct Shown<'a> {
    item: &'a Skill,
    content: &'a str,
}

/// `GET /workspace/:id/skills/:name`
pub(crate) async fn show(call: &Call, name: String) -> Result<Response, Refusal> {
    let reach = match call.query("includeGlobal").as_deref() {
        Some("true") => Reach::Everything,
        _ => Reach::Project,
    };
    let found = call
        .look(move |seat| seat.files.skill(name.trim(), reach))
        .await?;
    Ok(reply::ok(&Shown {
        item: &found.skill,
        content: &found.content,
    }))
}

/// `DELETE /workspace/:id/skills/:name`
pub(crate) async fn delete(call: &Call, name: String) -> Result<Response, Refusal> {
    let name = name.trim().to_owned();
    let path = resolve(call.seat.files.path(), &format!(".opencode/skills/{name}"));
    let path = path.to_string_lossy().into_owned();
    let (event, at) = (name.clone(), path.clone());
    let wish = Wish {
        question: format!("Delete skill {name}"),
        paths: Paths::These(vec![path.clone()]),
        deed: Deed {
            action: "skills.delete",
            target: path.clone(),
            summary: format!("Deleted skill {name}"),
        },
        news: News::Changed(
            Reason::Skills,
            Box::new(move |_| Trigger {
                kind: "skill",
                name: Some(event),
                action: "removed",
                path: Some(at),
            }),
        ),
        change: Change::DeleteSkill { name: name.clone() },
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    Ok(reply::ok(
        &json!({ "ok": true, "name": name, "path": path }),
    ))
}

fn upserted(name: String, path: String) -> News {
    News::Always(
        Reason::Skills,
        Box::new(move |plan| Trigger {
            kind: "skill",
            name: Some(name),
            action: if replaces(plan) { "updated" } else { "added" },
            path: Some(path),
        }),
    )
}
