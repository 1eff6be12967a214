//! `sessions`: the conversations with agents.

use countersign_api::{SessionList, SessionView};
use countersign_core::id::WorkspaceId;
use countersign_core::session::Activity;
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::Call;
use crate::columns::{Cell, Table};
use crate::connection::Reply;
use crate::duration::spoken;
use crate::exit::Exit;
use crate::reference::{self, tails};

mod earlier;

/// Which sessions to list.
#[derive(Debug, clap::Args)]
pub struct Sessions {
    /// List those of one workspace: its id, name or path
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,
    /// Whose earlier sessions to list: opencode, or an agent of `countersign engines`
    #[arg(long, value_name = "NAME", requires = "earlier")]
    engine: Option<String>,
    /// List the sessions that the engine had before in the workspace, known here or not
    #[arg(long, requires = "engine")]
    earlier: bool,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Sessions) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let named = arguments.workspace.as_deref();
    if let Some(engine) = arguments.engine {
        let workspace = reference::chosen_workspace(call, &connection, named).await?;
        return earlier::list(call, &connection, &engine, &query(workspace)).await;
    }
    let workspace = match named {
        Some(text) => Some(reference::workspace(&connection, text).await?),
        None => None,
    };
    let path = format!("/api/v1/sessions{}", query(workspace));
    let Reply { value, text }: Reply<SessionList> = connection.get(&path).await?;
    if call.json() {
        call.output.json(&text)?;
    } else if value.sessions.is_empty() {
        call.output
            .note("There is no session yet; `countersign prompt` begins one")?;
    } else {
        let table = table(&value.sessions, call.clock.now(), call.output.width());
        call.output.line(&table)?;
    }
    Ok(Exit::Success)
}

fn query(workspace: Option<WorkspaceId>) -> String {
    workspace.map_or_else(String::new, |id| format!("?workspace={id}"))
}

fn table(sessions: &[SessionView], now: Timestamp, width: usize) -> String {
    let shorts = tails(sessions.iter().map(|view| view.session.id));
    let mut table = Table::new(["ID", "CHANGED", "STATE", "ASKS", "AGENT", "TITLE"]);
    for (view, short) in sessions.iter().zip(shorts) {
        let session = &view.session;
        let state = match session.activity {
            Activity::Idle => Style::new(),
            Activity::Busy => Style::new().green(),
            Activity::Gone => Style::new().dimmed(),
        };
        let asks = match view.open_asks {
            0 => Cell::styled("-", Style::new().dimmed()),
            open => Cell::styled(open.to_string(), Style::new().yellow()),
        };
        let title = match session.parent {
            Some(parent) => format!(
                "{} (for {})",
                visible(&session.title),
                reference::short(parent)
            ),
            None => visible(&session.title).into_owned(),
        };
        table.row([
            Cell::styled(short, Style::new().bold()),
            format!("{} ago", spoken(now.since(session.changed_at))).into(),
            Cell::styled(session.activity.name(), state),
            asks,
            visible(&session.agent).into(),
            title.into(),
        ]);
    }
    table.render(width)
}
