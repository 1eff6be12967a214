//! The user's own environment variables, which the programs around OpenWork give to what they start.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use countersign_core::time::Timestamp;
use countersign_server::{Request, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::aside::aside;
use crate::refusal::Refusal;
use crate::reply;
use crate::routes::Env;
use crate::surface::OpenWork;
use crate::wire_time::millis;
use crate::writing::panicked;

/// Names that are not for users to set.
const RESERVED: [&str; 2] = ["OPENWORK_", "OPENCODE_"];

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Variable {
    key: String,
    value: String,
    updated_at: i64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    schema_version: u32,
    updated_at: i64,
    variables: Vec<Variable>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    key: String,
    updated_at: i64,
    has_value: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

/// The file with the variables.
pub(crate) struct Environment {
    path: PathBuf,
    /// Held by whoever changes it.
    writing: Mutex<()>,
}

impl Environment {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            writing: Mutex::default(),
        }
    }

    fn read(&self) -> Result<Vec<Variable>, Refusal> {
        match std::fs::read(&self.path) {
            Ok(text) => match serde_json::from_slice::<File>(&text) {
                Ok(file) => Ok(file.variables),
                Err(_) => Err(Refusal::new(
                    409,
                    "invalid_env_store",
                    "Environment variable store is invalid. Fix or remove the local env file before editing.",
                )),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Refusal::internal(&error)),
        }
    }

    /// Changes the variables; `change` says whether there was anything to change.
    fn change(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut Vec<Variable>) -> bool,
    ) -> Result<bool, Refusal> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut variables = self.read()?;
        if !change(&mut variables) {
            return Ok(false);
        }
        variables.sort_by(|one, other| one.key.cmp(&other.key));
        let file = File {
            schema_version: 1,
            updated_at: millis(now),
            variables,
        };
        replace(&self.path, &file).map_err(|error| Refusal::internal(&error))?;
        Ok(true)
    }
}

/// Writes the file as a whole; only its user can read it.
fn replace(path: &Path, file: &File) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension("json.draft");
    let text = serde_json::to_string_pretty(file)?;
    let mut options = std::fs::File::options();
    let mut out = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    // One that was left behind may have other rights.
    out.set_permissions(Permissions::from_mode(0o600))?;
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.sync_all()?;
    std::fs::rename(&draft, path)
}

/// Everything below `/env`, for who shows the host token itself.
pub(crate) async fn answer(
    surface: &Arc<OpenWork>,
    env: Env,
    request: Request,
) -> Result<Response, Refusal> {
    surface.keys.host_token(request.headers())?;
    match env {
        Env::List => {
            let with_values = crate::percent::query(request.uri().query(), "includeValues");
            let with_values = with_values.as_deref() != Some("false");
            let items = read(surface).await?.into_iter();
            let items: Vec<_> = items.map(|it| shown(it, with_values)).collect();
            Ok(reply::ok(&reply::Items { items }))
        }
        Env::Keys => {
            let keys: Vec<_> = read(surface).await?.into_iter().map(|it| it.key).collect();
            Ok(reply::ok(&json!({ "keys": keys })))
        }
        Env::Show(key) => {
            check(&key)?;
            let found = read(surface).await?.into_iter().find(|it| it.key == key);
            let item = shown(found.ok_or_else(unknown)?, true);
            Ok(reply::ok(&json!({ "item": item })))
        }
        Env::Put => put(surface, request).await,
        Env::Delete(key) => {
            surface.ensure_writable()?;
            check(&key)?;
            let removed = change(surface, move |variables| {
                let before = variables.len();
                variables.retain(|it| it.key != key);
                variables.len() < before
            });
            if removed.await? {
                Ok(reply::ok(&json!({ "ok": true })))
            } else {
                Err(unknown())
            }
        }
    }
}

async fn put(surface: &Arc<OpenWork>, request: Request) -> Result<Response, Refusal> {
    surface.ensure_writable()?;
    let mut body = surface.bodies.json(request.into_body()).await?;
    let entries = match body.take("entries") {
        Value::Array(entries) => entries,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            vec![json!({ "key": body.take("key"), "value": body.take("value") })]
        }
    };
    let mut wanted = Vec::with_capacity(entries.len());
    for entry in &entries {
        let Value::Object(entry) = entry else {
            return Err(Refusal::new(
                400,
                "invalid_entry",
                "Each entry must be an object",
            ));
        };
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let key = text("key").trim().to_owned();
        check(&key)?;
        if RESERVED.iter().any(|prefix| key.starts_with(prefix)) {
            let message = "Environment variable name is reserved for OpenWork internals";
            return Err(Refusal::new(400, "reserved_env_key", message));
        }
        wanted.push((key, text("value").to_owned()));
    }
    if wanted.is_empty() {
        return Err(Refusal::new(400, "no_entries", "No entries provided"));
    }
    let count = wanted.len();
    let updated_at = millis(surface.clock.now());
    change(surface, move |variables| {
        for (key, value) in wanted {
            variables.retain(|it| it.key != key);
            variables.push(Variable {
                key,
                value,
                updated_at,
            });
        }
        true
    })
    .await?;
    Ok(reply::ok(&json!({ "ok": true, "count": count })))
}

fn shown(variable: Variable, with_value: bool) -> Shown {
    Shown {
        key: variable.key,
        updated_at: variable.updated_at,
        has_value: !variable.value.is_empty(),
        value: with_value.then_some(variable.value),
    }
}

fn check(key: &str) -> Result<(), Refusal> {
    let is_plain = key
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain
        && key
            .bytes()
            .next()
            .is_some_and(|byte| !byte.is_ascii_digit())
    {
        Ok(())
    } else {
        Err(Refusal::new(
            400,
            "invalid_env_key",
            "Invalid environment variable name",
        ))
    }
}

fn unknown() -> Refusal {
    Refusal::new(404, "env_not_found", "Environment variable not found")
}

async fn read(surface: &Arc<OpenWork>) -> Result<Vec<Variable>, Refusal> {
    let surface = Arc::clone(surface);
    aside(move || surface.environment.read())
        .await
        .ok_or_else(panicked)?
}

async fn change(
    surface: &Arc<OpenWork>,
    change: impl FnOnce(&mut Vec<Variable>) -> bool + Send + 'static,
) -> Result<bool, Refusal> {
    let now = surface.clock.now();
    let surface = Arc::clone(surface);
    aside(move || surface.environment.change(now, change))
        .await
        .ok_or_else(panicked)?
}
