//! The chats that the configuration names: started with a server, and tried without one by `countersign bridges check`.

use std::process::ExitCode;

use countersign_bridges::{BridgeSettings, Bridges, ScheduleSettings, adapter_of};
use countersign_broker::{Broker, Store};
use countersign_core::time::Clock;
use serde_json::json;

use crate::arguments::{self, BridgesAct, CheckBridges};
use crate::config::Config;
use crate::config::bridges::BridgesConfig;
use crate::config::schedules::{self, ScheduleConfig};
use crate::message::{self, print, say};
use crate::serve::workspace;

/// The chats that a server is in, and what is done at set times.
pub(crate) struct Chats {
    bridges: Vec<BridgeSettings>,
    schedules: Vec<ScheduleSettings>,
}

impl Chats {
    /// What the configuration says, for a server of `workspaces`.
    pub(crate) fn of(
        bridges: BridgesConfig,
        configured: Vec<ScheduleConfig>,
        workspaces: &[(String, String)],
    ) -> anyhow::Result<Self> {
        let bridges = bridges.settings(workspaces)?;
        let schedules = schedules::settings(configured, &bridges, Clock::System.now())?;
        Ok(Self { bridges, schedules })
    }

    /// Starts the bridges, and says where nobody may answer.
    pub(crate) fn start(self, broker: &Broker, store: &Store) -> anyhow::Result<Bridges> {
        for line in self.bridges.iter().flat_map(unanswerable) {
            say(&line);
        }
        let Self { bridges, schedules } = self;
        Ok(Bridges::start(broker, store, bridges, schedules)?)
    }
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
