//! `sessions --earlier`: the sessions that an engine had before, to be taken up.

use std::time::Duration;

use countersign_api::{EarlierSession, EarlierSessions};
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::Call;
use crate::columns::{Cell, Table};
use crate::connection::{Connection, Reply, in_path};
use crate::exit::Exit;
use crate::reference::short;

/// How much longer than usual the server may take: the agent is started for the question.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn list(
    call: &mut Call<'_>,
    connection: &Connection,
    engine: &str,
    query: &str,
) -> anyhow::Result<Exit> {
    let path = format!("/api/v1/engines/{}/sessions{query}", in_path(engine));
    let Reply { value, text }: Reply<EarlierSessions> =
        connection.get_waiting(&path, PATIENCE).await?;
    if call.json() {
        call.output.json(&text)?;
        return Ok(Exit::Success);
    }
    if value.sessions.is_empty() {
        call.output
            .note("The engine lists no earlier session in this workspace")?;
        return Ok(Exit::Success);
    }
    let width = call.output.width();
    call.output.line(&table(&value.sessions, width))?;
    if value.has_more {
        call.output.note("There are more; these are the first")?;
    }
    call.output.note(&format!(
        "Take one up: countersign prompt --engine {} --earlier ID …",
        visible(engine)
    ))?;
    Ok(Exit::Success)
}

fn table(sessions: &[EarlierSession], width: usize) -> String {
    let mut table = Table::new(["ID", "CHANGED", "HERE", "TITLE"]);
    for session in sessions {
        let here = match session.known {
            Some(known) => Cell::from(short(known)),
            None => Cell::styled("-", Style::new().dimmed()),
        };
        table.row([
            Cell::styled(
                visible(&session.native_id).into_owned(),
                Style::new().bold(),
            ),
            Cell::from(visible(&session.updated_at).into_owned()),
            here,
            Cell::from(visible(&session.title).into_owned()),
        ]);
    }
    table.render(width)
}
