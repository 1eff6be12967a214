//! What is done in a file session: the catalogue, and many files at once.

mod catalogue;
mod items;
mod operations;

use std::sync::Arc;

use countersign_core::digest::Digest;
use countersign_server::{Request, Response};
use countersign_workspace::beneath::{BeneathError, Root};
use serde::Serialize;
use serde_json::{Value, json};

use self::catalogue::{CatalogueEntry, catalogue};
use self::items::{Planned, Wanted, invalid, read_one};
use self::operations::Operation;
use super::files::{deed, question};
use crate::approvals::{Permit, Question};
use crate::aside::aside;
use crate::body::Fields;
use crate::file_path::relative;
use crate::file_sessions::{FileSession, life};
use crate::keys::{Caller, Scope};
use crate::percent;
use crate::refusal::Refusal;
use crate::reply::{self, Items};
use crate::roster::Seat;
use crate::routes::FileAct;
use crate::surface::OpenWork;
use crate::wire_time::millis;
use crate::writing::{Done, panicked};

const WRITE: &str = "workspace.files.session.write";
const OPERATE: &str = "workspace.files.session.ops";
/// How many things are done at once.
const MOST_ITEMS: usize = 64;
/// How many entries of the catalogue are answered: if nothing is said, and at most.
const CATALOGUE: (usize, usize) = (2_000, 10_000);

/// A file session with its workspace and its holder.
struct Held {
    surface: Arc<OpenWork>,
    seat: Arc<Seat>,
    caller: Caller,
    session: FileSession,
}

/// Everything below `/files/sessions/:id`.
pub(crate) async fn answer(
    surface: Arc<OpenWork>,
    id: &str,
    act: FileAct,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let caller = surface.keys.client(&head.headers).await?;
    if matches!(act, FileAct::Write | FileAct::Operate) {
        caller.require(Scope::Collaborator)?;
        surface.ensure_writable()?;
    }
    let session = surface.file_sessions.find(&caller, id)?;
    let seat = surface.roster.find(&session.workspace)?;
    let held = Held {
        surface,
        seat,
        caller,
        session,
    };
    let query = head.uri.query();
    match act {
        FileAct::Close => {
            held.surface.file_sessions.close(&held.session);
            Ok(reply::ok(&json!({ "ok": true })))
        }
        FileAct::Renew => {
            let body = held.surface.bodies.json(body).await?;
            let life = life(body.get("ttlSeconds").and_then(Value::as_f64));
            let view = held.surface.file_sessions.renew(&held.session, life);
            Ok(reply::ok(&json!({ "session": view })))
        }
        FileAct::Snapshot => held.snapshot(query).await,
        FileAct::Events => {
            let since = percent::query(query, "since").and_then(|since| since.trim().parse().ok());
            let told = held
                .surface
                .file_sessions
                .since(&held.session.workspace, since.unwrap_or(0));
            Ok(reply::ok(&told))
        }
        FileAct::Read => {
            let body = held.surface.bodies.json(body).await?;
            held.read(body).await
        }
        FileAct::Write => {
            let body = held.surface.bodies.json(body).await?;
            held.write(body).await
        }
        FileAct::Operate => {
            let body = held.surface.bodies.json(body).await?;
            held.operate(body).await
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Catalogue<'a> {
    session_id: &'a str,
    workspace_id: &'a str,
    generated_at: i64,
    cursor: u64,
    total: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<String>,
    items: Vec<CatalogueEntry>,
}

impl Held {
    async fn beneath<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Root) -> Result<T, BeneathError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let seat = Arc::clone(&self.seat);
        let done = aside(move || seat.files.root().and_then(|root| work(&root))).await;
        let done = done.ok_or_else(panicked)?;
        done.map_err(|error| countersign_workspace::Refusal::from(error).into())
    }

    async fn snapshot(&self, query: Option<&str>) -> Result<Response, Refusal> {
        let said = |name| percent::query(query, name).filter(|text| !text.trim().is_empty());
        let prefix = said("prefix").map(|prefix| relative(&prefix)).transpose()?;
        let after = said("after").map(|after| relative(&after)).transpose()?;
        let with_folders = said("includeDirs").as_deref() != Some("false");
        let limit = said("limit")
            .and_then(|limit| limit.parse().ok())
            .filter(|limit| *limit > 0);
        let limit = limit.unwrap_or(CATALOGUE.0).min(CATALOGUE.1);
        let mut items = self
            .beneath(move |root| catalogue(root, prefix.as_deref()))
            .await?;
        items.retain(|entry| {
            (with_folders || entry.kind == "file")
                && after.as_ref().is_none_or(|after| entry.path > *after)
        });
        let total = items.len();
        items.truncate(limit);
        let truncated = total > items.len();
        Ok(reply::ok(&Catalogue {
            session_id: &self.session.id,
            workspace_id: &self.session.workspace,
            generated_at: millis(self.surface.clock.now()),
            cursor: self.cursor(),
            total,
            truncated,
            next_after: items
                .last()
                .filter(|_| truncated)
                .map(|last| last.path.clone()),
            items,
        }))
    }

    fn cursor(&self) -> u64 {
        self.surface
            .file_sessions
            .since(&self.session.workspace, u64::MAX)
            .cursor
    }

    async fn read(&self, mut body: Fields) -> Result<Response, Refusal> {
        let paths = list(body.take("paths"), "paths")?;
        let paths = paths
            .iter()
            .map(|path| relative(path.as_str().unwrap_or_default()));
        let paths: Vec<_> = paths.collect::<Result<_, _>>()?;
        let items = self.beneath(move |root| {
            Ok(paths
                .iter()
                .map(|path| read_one(root, path))
                .collect::<Vec<_>>())
        });
        Ok(reply::ok(&Items {
            items: items.await?,
        }))
    }

    fn may_write(&self) -> Result<(), Refusal> {
        if self.session.can_write {
            Ok(())
        } else {
            Err(Refusal::new(403, "forbidden", "File session is read-only"))
        }
    }

    async fn write(&self, mut body: Fields) -> Result<Response, Refusal> {
        self.may_write()?;
        let wanted = list(body.take("writes"), "writes")?;
        let wanted: Vec<_> = wanted.iter().map(Wanted::parse).collect::<Result<_, _>>()?;
        let planned = self.beneath(move |root| {
            Ok(wanted
                .into_iter()
                .map(|it| it.plan(root))
                .collect::<Vec<_>>())
        });
        let (mut items, mut plan) = (Vec::new(), Vec::new());
        for planned in planned.await? {
            match planned {
                Ok(write) => plan.push(write),
                Err(item) => items.push(item),
            }
        }
        if !plan.is_empty() {
            items.extend(self.carry_out_writes(plan).await?);
        }
        Ok(reply::ok(
            &json!({ "items": items, "cursor": self.cursor() }),
        ))
    }

    async fn carry_out_writes(&self, plan: Vec<Planned>) -> Result<Vec<Value>, Refusal> {
        let changes: Vec<_> = plan.iter().map(|write| write.change.clone()).collect();
        let summary = format!("Write {} file(s) via file session", plan.len());
        let question = question(WRITE, summary, &self.seat, &changes);
        let permitting = self.surface.permit(&self.caller, &self.seat, question);
        let permit = permitting.await?;
        let seat = Arc::clone(&self.seat);
        let doing = async move {
            let place = Arc::clone(&seat);
            let writing = aside(move || {
                let outcomes = plan.into_iter().map(|write| write.carry_out(&place));
                outcomes.collect::<Vec<_>>()
            });
            let outcomes = writing.await.ok_or_else(panicked)?;
            let digests = outcomes
                .iter()
                .filter_map(|outcome| outcome.digest.as_ref());
            let digest = Digest::of_parts(digests.map(|digest| digest.as_bytes().as_slice()));
            let items: Vec<_> = outcomes.into_iter().map(|outcome| outcome.item).collect();
            let written: Vec<_> = items.iter().filter_map(path_and_revision).collect();
            Ok(Done {
                digest: Some(digest),
                ground: None,
                deeds: written
                    .iter()
                    .map(|(path, _)| {
                        deed(WRITE, &seat, path, format!("Wrote {path} via file session"))
                    })
                    .collect(),
                announce: Box::new(move |surface| {
                    for (path, revision) in written {
                        let sessions = &surface.file_sessions;
                        sessions.note(&seat.entry.id, "write", &path, None, Some(revision));
                    }
                }),
                value: items,
            })
        };
        self.surface
            .carry_out(&self.caller, &self.seat, permit, doing)
            .await
    }

    async fn operate(&self, mut body: Fields) -> Result<Response, Refusal> {
        self.may_write()?;
        let operations = Operation::parse_all(&body.take("operations"), MOST_ITEMS)?;
        let operations = self
            .beneath(move |root| {
                let seen = operations.into_iter().map(|it| it.look(root));
                Ok(seen.collect::<Vec<_>>())
            })
            .await?;
        let (permit, count) = (self.permit_operations(&operations).await?, operations.len());
        let seat = Arc::clone(&self.seat);
        let doing = async move {
            let place = Arc::clone(&seat);
            let working = aside(move || {
                let root = place.files.root()?;
                let items = operations.iter().map(|it| it.carry_out(&root));
                Ok(items.collect::<Vec<_>>())
            });
            let done = working.await.ok_or_else(panicked)?;
            let items = done.map_err(|error: BeneathError| {
                Refusal::from(countersign_workspace::Refusal::from(error))
            })?;
            let events = items.clone();
            Ok(Done {
                digest: Some(Digest::of_json(&json!(items))),
                ground: None,
                deeds: vec![deed(
                    OPERATE,
                    &seat,
                    ".",
                    format!("Applied {count} file operation(s) via file session"),
                )],
                announce: Box::new(move |surface| {
                    for item in &events {
                        note_operation(surface, &seat, item);
                    }
                }),
                value: items,
            })
        };
        let items = self
            .surface
            .carry_out(&self.caller, &self.seat, permit, doing)
            .await?;
        Ok(reply::ok(
            &json!({ "items": items, "cursor": self.cursor() }),
        ))
    }

    async fn permit_operations(&self, operations: &[Operation]) -> Result<Permit, Refusal> {
        let paths: Vec<&str> = operations.iter().flat_map(Operation::paths).collect();
        if paths.is_empty() {
            // Each of them will be refused.
            return Ok(Permit::NotNeeded);
        }
        let root = self.seat.files.path();
        let words: Vec<_> = operations.iter().map(Operation::words).collect();
        let question = Question {
            action: OPERATE,
            summary: format!(
                "Apply {} file operation(s) via file session: {}",
                operations.len(),
                words.join("; ")
            ),
            paths: paths
                .iter()
                .map(|path| root.join(path).to_string_lossy().into_owned())
                .collect(),
            changes: operations.iter().flat_map(Operation::changes).collect(),
            fingerprint: Digest::of_parts(words.iter().map(String::as_bytes)),
        };
        self.surface
            .permit(&self.caller, &self.seat, question)
            .await
    }
}

/// What was written, and what it is called now.
fn path_and_revision(item: &Value) -> Option<(String, String)> {
    let text = |key: &str| item[key].as_str().map(str::to_owned);
    Some((text("path")?, text("revision")?))
}

fn note_operation(surface: &OpenWork, seat: &Seat, item: &Value) {
    if item["ok"] != Value::Bool(true) {
        return;
    }
    let kind = match item["type"].as_str() {
        Some("mkdir") => "mkdir",
        Some("rename") => "rename",
        _ => "delete",
    };
    let path = item["path"].as_str().or(item["from"].as_str());
    surface.file_sessions.note(
        &seat.entry.id,
        kind,
        path.unwrap_or_default(),
        item["to"].as_str(),
        None,
    );
}

fn list(value: Value, name: &str) -> Result<Vec<Value>, Refusal> {
    match value {
        Value::Array(items) if items.is_empty() => {
            Err(invalid(format!("{name} must not be empty")))
        }
        Value::Array(items) if items.len() > MOST_ITEMS => Err(invalid(format!(
            "{name} must include <= {MOST_ITEMS} items"
        ))),
        Value::Array(items) => Ok(items),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(invalid(format!("{name} must be an array")))
        }
    }
}
