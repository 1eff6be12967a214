//! The chats that the configuration names: started with a server, and tried without one by `countersign bridges check`.

use std::process::ExitCode;

use countersign_bridges::{BridgeSettings, Bridges, ScheduleSettings, adapter_of};
use countersign_broker::{Broker, Store};
use serde_json::json;

use crate::arguments::{self, BridgesAct, CheckBridges};
use crate::config::Config;
use crate::message::{self, print, say};
use crate::serve::workspace;

/// Starts the bridges, and says where nobody may answer.
pub(crate) fn start(
    broker: &Broker,
    store: &Store,
    settings: Vec<BridgeSettings>,
    schedules: Vec<ScheduleSettings>,
) -> anyhow::Result<Bridges> {
    for line in settings.iter().flat_map(unanswerable) {
        say(&line);
    }
    Ok(Bridges::start(broker, store, settings, schedules)?)
}

/// The channels in which nobody may answer, each in a sentence.
fn unanswerable(settings: &BridgeSettings) -> Vec<String> {
    let platform = settings.platform;
    let silent = settings.channels.iter().filter(|channel| {
        let approvers = channel.approvers.as_ref().unwrap_or(&settings.approvers);
        approvers.is_empty()
    });
    silent
        .map(|channel| {
            format!(
                "Nobody may answer asks in the channel {} on {platform}: it has no `approvers`.",
                channel.id
            )
        })
        .collect()
}

/// Runs `countersign bridges`.
pub(crate) async fn run(command: arguments::Bridges) -> ExitCode {
    let BridgesAct::Check(wish) = command.act;
    match check(wish).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => message::failed(&error),
    }
}

/// Tries every bridge; true if all is well.
async fn check(wish: CheckBridges) -> anyhow::Result<bool> {
    let config = Config::load(wish.config.as_deref())?;
    let folders = wish.workspace.iter();
    let workspaces: Vec<_> = folders
        .map(|folder| workspace(folder))
        .collect::<anyhow::Result<_>>()?;
    let bridges = if workspaces.is_empty() {
        config.bridges.anywhere()
    } else {
        config.bridges
    };
    let settings = bridges.settings(&workspaces)?;
    let mut is_well = true;
    let mut found = Vec::new();
    for bridge in &settings {
        let channels: Vec<String> = bridge.channels.iter().map(|it| it.id.clone()).collect();
        let mut findings = adapter_of(bridge)?.check(&channels).await;
        let silent = unanswerable(bridge).into_iter();
        findings.extend(
            silent.map(|problem| {
                countersign_bridges::adapter::Finding::wrong("the approvers", problem)
            }),
        );
        is_well &= findings.iter().all(|finding| finding.problem.is_none());
        found.push(json!({"bridge": bridge.platform.name(), "findings": findings}));
        if !wish.json {
            print(&format!("{}:", bridge.platform));
            for finding in &findings {
                match &finding.problem {
                    None => print(&format!("  ok: {}", finding.tried)),
                    Some(problem) => print(&format!("  wrong: {}: {problem}", finding.tried)),
                }
            }
        }
    }
    if wish.json {
        let whole = json!({"ok": is_well, "bridges": found});
        print(&serde_json::to_string_pretty(&whole)?);
    } else if settings.is_empty() {
        print("The configuration names no bridge.");
    }
    Ok(is_well)
}
