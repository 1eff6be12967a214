//! `audit`: what was done, by whom, in a chain that cannot be changed unnoticed.

use countersign_api::{AuditList, AuditVerdict, WorkspaceList};
use countersign_core::audit::AuditEntry;
use countersign_core::id::WorkspaceId;
use countersign_core::visible::visible;
use owo_colors::{OwoColorize as _, Style};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::columns::{Cell, Table};
use crate::connection::{Connection, Reply};
use crate::exit::Exit;
use crate::{Call, reference};

/// What to do with the audit.
#[derive(Debug, clap::Args)]
pub struct Audit {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List entries, oldest first
    List {
        /// Of this workspace: its id, name or path; the one around here if it is not said
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
        /// Begin behind this entry
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        after: i64,
        /// List at most this many
        #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Prove that every chain is whole; exit code 1 if one is not
    Verify,
    /// Print every entry, whole
    Export {
        /// Of this workspace alone: its id, name or path
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
        /// The form to print it in
        #[arg(long, value_enum, default_value = "jsonl")]
        format: Format,
    },
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// One JSON object on each line
    Jsonl,
}

/// A page of the audit, its entries as the server wrote them.
#[derive(Deserialize)]
struct RawPage {
    entries: Vec<Box<RawValue>>,
    #[serde(default)]
    next: Option<i64>,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Audit) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    match arguments.action {
        Action::List {
            workspace,
            after,
            limit,
        } => list(call, &connection, workspace.as_deref(), after, limit).await,
        Action::Verify => verify(call, &connection).await,
        Action::Export {
            workspace,
            format: Format::Jsonl,
        } => export(call, &connection, workspace.as_deref()).await,
    }
}

async fn list(
    call: &mut Call<'_>,
    connection: &Connection,
    workspace: Option<&str>,
    after: i64,
    limit: u16,
) -> anyhow::Result<Exit> {
    let workspaces = choose(call, connection, workspace).await?;
    for workspace in workspaces.into_iter().take(1) {
        let path = format!("/api/v1/audit?workspace={workspace}&after={after}&limit={limit}");
        let Reply { value, text }: Reply<AuditList> = connection.get(&path).await?;
        if call.json() {
            call.output.json(&text)?;
            continue;
        }
        let table = table(&value.entries, call.output.width());
        call.output.line(&table)?;
        if let Some(next) = value.next {
            call.output.note(&format!(
                "There is more: countersign audit list --workspace {workspace} --after {next}"
            ))?;
        }
    }
    Ok(Exit::Success)
}

async fn verify(call: &mut Call<'_>, connection: &Connection) -> anyhow::Result<Exit> {
    let Reply { value, text }: Reply<Vec<AuditVerdict>> =
        connection.get("/api/v1/audit/verify").await?;
    if call.json() {
        call.output.json(&text)?;
    } else {
        for verdict in &value {
            let line = if verdict.whole {
                format!("{}  {} entries", "whole ".green(), verdict.entries)
            } else {
                let broken = verdict.broken.as_deref().unwrap_or("nobody knows where");
                format!("{}  {}", "broken".red(), visible(broken))
            };
            call.output
                .line(&format!("{}  {line}", verdict.workspace))?;
        }
    }
    if value.iter().all(|verdict| verdict.whole) {
        Ok(Exit::Success)
    } else {
        Ok(Exit::Failed)
    }
}

async fn export(
    call: &mut Call<'_>,
    connection: &Connection,
    workspace: Option<&str>,
) -> anyhow::Result<Exit> {
    let workspaces = match workspace {
        Some(text) => vec![reference::workspace(connection, text).await?],
        None => all(connection).await?,
    };
    for workspace in workspaces {
        let mut after = 0;
        loop {
            let path = format!("/api/v1/audit?workspace={workspace}&after={after}&limit=500");
            let page: RawPage = connection.get(&path).await?.value;
            for entry in &page.entries {
                call.output.json_line(entry.get())?;
            }
            match page.next {
                Some(next) if next > after => after = next,
                Some(_) | None => break,
            }
        }
    }
    Ok(Exit::Success)
}

/// The workspace that is named, else the one around the current directory, else the first.
async fn choose(
    call: &Call<'_>,
    connection: &Connection,
    named: Option<&str>,
) -> anyhow::Result<Vec<WorkspaceId>> {
    if let Some(text) = named {
        return Ok(vec![reference::workspace(connection, text).await?]);
    }
    let list: WorkspaceList = connection.get("/api/v1/workspaces").await?.value;
    let around = call
        .surroundings
        .directory
        .as_deref()
        .filter(|_| connection.is_local())
        .and_then(|directory| reference::workspace_around(directory, &list.workspaces));
    let first = || list.workspaces.first().map(|view| view.workspace.id);
    Ok(around.or_else(first).into_iter().collect())
}

async fn all(connection: &Connection) -> anyhow::Result<Vec<WorkspaceId>> {
    let list: WorkspaceList = connection.get("/api/v1/workspaces").await?.value;
    Ok(list
        .workspaces
        .into_iter()
        .map(|view| view.workspace.id)
        .collect())
}

fn table(entries: &[AuditEntry], width: usize) -> String {
    let mut table = Table::new(["ENTRY", "AT", "ACTION", "ACTOR", "SUBJECT"]);
    for entry in entries {
        table.row([
            Cell::styled(entry.seq.to_string(), Style::new().bold()),
            entry.at.to_string().into(),
            visible(&entry.action).into(),
            visible(&entry.actor).into(),
            visible(&entry.subject).into(),
        ]);
    }
    table.render(width)
}
