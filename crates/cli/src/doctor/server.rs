//! What has to be right about the server: it answers, knows the caller, and has its engines.

use countersign_api::{AlarmView, Me, WorkspaceList, WorkspaceView};
use countersign_core::event::EnginePhase;
use countersign_core::visible::visible;
use serde_json::Value;

use super::Check;
use crate::Call;
use crate::connection::Connection;
use crate::discovery::ServerFile;
use crate::duration::spoken;
use crate::exit::Exit;

const START: &str = "start one with `countersign up` or `countersign serve --workspace DIRECTORY`";

/// How the server was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It works, and an engine of it is ready.
    Ready,
    /// No engine of it is ready, or there is none.
    Unready,
    /// It is there and does not answer: nothing else can be asked of it.
    Silent,
}

/// Looks at the server.
pub(super) async fn check(call: &mut Call<'_>, checks: &mut Vec<Check>) -> anyhow::Result<Found> {
    let connection = match call.connect() {
        Ok(connection) => connection,
        Err(error) => {
            checks.push(absent(call, &error));
            return Ok(Found::Unready);
        }
    };
    if let Err(error) = connection.get::<Value>("/healthz").await {
        if Exit::of(&error) == Exit::ServerSilent {
            checks.push(silent(&error));
            return Ok(Found::Silent);
        }
        checks.push(absent(call, &error));
        return Ok(Found::Unready);
    }
    checks.push(running(call));
    if let Err(error) = connection.get::<Value>("/readyz").await {
        checks.push(Check::fail(
            "ready",
            first_line(&error),
            "look at what the server prints",
        ));
    }
    match connection.get::<Me>("/api/v1/me").await {
        Ok(me) => checks.push(Check::ok(
            "you",
            format!(
                "{}, who may {}",
                visible(&me.value.actor.name),
                me.value.grants.to_string().replace(',', ", ")
            ),
        )),
        Err(error) => {
            let fix = "call from a terminal of yours, or with another token";
            checks.push(Check::fail("you", first_line(&error), fix));
            return Ok(Found::Unready);
        }
    }
    let is_ready = engines(&connection, checks).await;
    alarms(call, &connection, checks).await;
    Ok(if is_ready {
        Found::Ready
    } else {
        Found::Unready
    })
}

/// The server is there and does not answer: what is said of it has what to do on its second line.
fn silent(error: &anyhow::Error) -> Check {
    let said = error.to_string();
    let fix = said.lines().nth(1).unwrap_or(START);
    Check::fail("server", first_line(error), fix)
}

/// No server answers. That is no failure where none is running: whoever hands a job in starts one.
fn absent(call: &Call<'_>, error: &anyhow::Error) -> Check {
    let data = call.surroundings.data.as_deref();
    let known = data.and_then(|data| ServerFile::read(data).ok().flatten());
    let should_answer = known.is_some_and(|server| server.process_is_alive());
    if should_answer || !call.may_start() {
        return Check::fail("server", first_line(error), START);
    }
    let fix = format!("nothing to do for jobs: the first one starts a server. Else {START}");
    Check::warn("server", first_line(error), fix)
}

fn first_line(error: &anyhow::Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The server answers; is it the program's own version?
fn running(call: &Call<'_>) -> Check {
    let file = call
        .surroundings
        .data
        .as_deref()
        .filter(|_| call.options.url.is_none())
        .and_then(|data| ServerFile::read(data).ok().flatten());
    let Some(file) = file else {
        return Check::ok("server", "answers");
    };
    let own = env!("CARGO_PKG_VERSION");
    let up = spoken(call.clock.now().since(file.started_at));
    let line = format!(
        "{} at {}, up for {up}",
        visible(&file.version),
        visible(&file.url)
    );
    if file.version == own {
        Check::ok("server", line)
    } else {
        let fix = format!("this program is {own}; start the server again to have both alike");
        Check::warn("server", line, fix)
    }
}

async fn engines(connection: &Connection, checks: &mut Vec<Check>) -> bool {
    match connection.get::<WorkspaceList>("/api/v1/workspaces").await {
        Ok(list) => {
            let workspaces = list.value.workspaces;
            if workspaces.is_empty() {
                let fix = "start the server with `--workspace DIRECTORY`";
                checks.push(Check::warn("workspace", "there is none", fix));
            }
            checks.extend(workspaces.iter().map(engine));
            workspaces
                .iter()
                .any(|view| view.engine.state == EnginePhase::Ready)
        }
        Err(error) => {
            let fix = "use a token with the grant `read`";
            checks.push(Check::fail("workspace", first_line(&error), fix));
            false
        }
    }
}

fn engine(view: &WorkspaceView) -> Check {
    let engine = &view.engine;
    let what = format!(
        "{}: {} {} is {}",
        visible(&view.workspace.path),
        visible(&engine.program),
        visible(engine.version.as_deref().unwrap_or_default()),
        engine.state.name()
    )
    .replace("  ", " ");
    let advice = |otherwise: &str| match engine.message.trim() {
        "" => otherwise.to_owned(),
        message => visible(message).into_owned(),
    };
    match engine.state {
        EnginePhase::Ready => Check::ok("workspace", what),
        EnginePhase::Starting => Check::warn("workspace", what, advice("look again in a moment")),
        EnginePhase::Absent => Check::warn(
            "workspace",
            what,
            advice("install opencode, then start the server again"),
        ),
        EnginePhase::Unreachable => {
            Check::fail("workspace", what, advice("look at what the server prints"))
        }
        EnginePhase::Gone => Check::fail(
            "workspace",
            what,
            advice("the next prompt starts it; else start the server again"),
        ),
    }
}

async fn alarms(call: &Call<'_>, connection: &Connection, checks: &mut Vec<Check>) {
    // Whoever may not read them has been told so about the workspaces already.
    let Ok(alarms) = connection.get::<Vec<AlarmView>>("/api/v1/alarms").await else {
        return;
    };
    if let Some(newest) = alarms.value.iter().max_by_key(|alarm| alarm.at) {
        checks.push(Check::warn(
            "alarms",
            format!(
                "{}, the newest {} ago: {}",
                alarms.value.len(),
                spoken(call.clock.now().since(newest.at)),
                visible(&newest.message)
            ),
            "read what happened: `countersign audit list`",
        ));
    }
}
