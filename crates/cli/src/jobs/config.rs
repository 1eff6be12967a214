//! `config`: every variable that means something, with its value and where that comes from.

use serde_json::{Value, json};

use super::lookup;
use crate::Call;
use crate::columns::{Cell, Table};
use crate::discovery::ServerFile;
use crate::exit::Exit;
use crate::launch;
use crate::variables::VARIABLES;

/// Nothing to choose.
#[derive(Debug, clap::Args)]
pub struct Settings {}

struct Row {
    name: &'static str,
    value: String,
    source: &'static str,
    meaning: &'static str,
}

pub(crate) fn run(call: &mut Call<'_>, _: &Settings) -> anyhow::Result<Exit> {
    let rows = rows(call);
    let data = call.surroundings.data.as_deref();
    let directory = lookup::directory(call, None)?;
    let root = lookup::root(&directory);
    let server = data.and_then(|data| ServerFile::read(data).ok().flatten());
    let reachable = data.is_some_and(launch::is_served);
    let config = call.surroundings.opencode_config();
    let exists = config.as_deref().is_some_and(std::path::Path::exists);
    if call.json() {
        let env: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "name": row.name, "value": row.value, "source": row.source,
                    "description": row.meaning,
                })
            })
            .collect();
        let told = json!({
            "env": env,
            "workspace": root,
            "stateRoot": data,
            "serverLog": data.map(|data| data.join(launch::LOG)),
            // Nothing has to be allowed there: asks are answered.
            "opencodeConfig": {
                "path": config, "exists": exists, "permissionsOk": true, "missing": [],
            },
            "server": {"url": server.map(|server| server.url), "reachable": reachable},
        });
        call.output.json(&told.to_string())?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["NAME", "VALUE", "SOURCE", "MEANING"]);
    for row in rows {
        table.row([
            row.name.into(),
            row.value.into(),
            row.source.into(),
            Cell::from(row.meaning),
        ]);
    }
    let width = call.output.width();
    call.output.line(&table.render(width))?;
    let shown = |path: Option<&std::path::Path>| {
        path.map_or_else(|| "unknown".to_owned(), |path| path.display().to_string())
    };
    call.output
        .line(&format!("\nworkspace        {}", root.display()))?;
    call.output
        .line(&format!("state            {}", shown(data)))?;
    call.output.line(&format!(
        "opencode config  {}{}",
        shown(config.as_deref()),
        if exists { "" } else { " (not there)" }
    ))?;
    let server = match (server, reachable) {
        (Some(server), true) => server.url,
        (Some(_) | None, _) => "none is running; the first job starts one".to_owned(),
    };
    call.output.line(&format!("server           {server}"))?;
    Ok(Exit::Success)
}

fn rows(call: &Call<'_>) -> Vec<Row> {
    let variables = &call.surroundings.variables;
    VARIABLES
        .iter()
        .map(|variable| {
            let set = variables.get(variable.name);
            let value = match set {
                Some(_) if variable.is_secret => "<set>".to_owned(),
                Some(value) => countersign_core::visible::visible(value).into_owned(),
                None => variable.default.to_owned(),
            };
            Row {
                name: variable.name,
                value,
                source: if set.is_some() { "env" } else { "default" },
                meaning: variable.meaning,
            }
        })
        .collect()
}
