//! `countersign up`: everything for one folder, and the page.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use countersign_broker::{Broker, EngineListing, EngineStatus, PairingWish, UsualEngine};
use countersign_core::event::EnginePhase;
use countersign_core::grant::Role;

use crate::arguments::Up;
use crate::message::{print, say};
use crate::serve::{Manner, log_to_stderr, start};

/// How often the engine's state is looked at while it starts.
const LOOK: Duration = Duration::from_millis(200);

/// Runs `countersign up`.
pub(crate) async fn run(up: Up) -> anyhow::Result<()> {
    log_to_stderr(up.options.log_json);
    let running = start(&[up.folder], &up.options, Manner::Attended).await?;
    let owner = running.broker.local_owner();
    let pairing = PairingWish {
        name: owner.actor().name.clone(),
        role: Role::Owner,
        workspace: None,
    };
    let (code, _) = running
        .broker
        .make_pairing(&owner, pairing)
        .await
        .context("failed to make a pairing link")?;
    let link = format!("{}/app/#pair={code}", running.url);
    print(&format!("countersign serves on {}", running.url));
    print(&format!(
        "Open this link within five minutes to pair your browser; it works once:\n  {link}"
    ));
    if !up.no_open {
        open_browser(&link);
    }
    say(
        "More links: `countersign pair`. In another terminal: `countersign inbox`. Stop with Ctrl-C.",
    );
    say(&where_prompts_go(
        &running.broker.usual_engine(),
        &running.broker.engines(&owner)?,
    ));
    let broker = running.broker.clone();
    tokio::select! {
        stopped = running.until_stopped() => stopped,
        () = tell_about_engines(&broker) => unreachable!("it watches for ever"),
    }
}

/// Where prompts go, and who else can be prompted by name.
fn where_prompts_go(usual: &UsualEngine, engines: &[EngineListing]) -> String {
    let others: Vec<&str> = engines
        .iter()
        .filter(|engine| engine.program.is_some())
        .map(|engine| engine.name.as_str())
        .filter(|name| usual.name() != Some(name))
        .collect();
    let usually = match usual {
        UsualEngine::Opencode { program } => {
            format!("Prompts go to opencode ({}).", program.display())
        }
        UsualEngine::Attached { address } => format!("Prompts go to the opencode at {address}."),
        UsualEngine::Agent { name, title } => format!("Prompts go to {title} (`{name}`)."),
        UsualEngine::Demo if others.is_empty() => {
            "No agent is installed: prompts go to the demo agent, which needs no model. \
             `countersign engines` says what to install."
                .to_owned()
        }
        UsualEngine::Demo => "Prompts go to the demo agent, which needs no model.".to_owned(),
        UsualEngine::None => "Prompts go nowhere unless they name an agent.".to_owned(),
    };
    match others.as_slice() {
        [] => usually,
        others => format!(
            "{usually} By name (`countersign prompt --engine NAME`): {}.",
            others.join(", ")
        ),
    }
}

/// Says what becomes of the engines, each time it changes.
async fn tell_about_engines(broker: &Broker) {
    let mut told: Vec<EngineStatus> = Vec::new();
    loop {
        let now: Vec<EngineStatus> = broker
            .workspaces()
            .into_iter()
            .map(|(_, status)| status)
            .collect();
        for (index, status) in now.iter().enumerate() {
            if told
                .get(index)
                .is_none_or(|before| before.message != status.message)
            {
                let mark = match status.phase {
                    EnginePhase::Ready => "✓",
                    EnginePhase::Starting => "…",
                    EnginePhase::Absent | EnginePhase::Unreachable | EnginePhase::Gone => "!",
                };
                let version = status
                    .version
                    .as_deref()
                    .map(|version| format!(" ({version})"));
                say(&format!(
                    "{mark} {}{}",
                    status.message,
                    version.unwrap_or_default()
                ));
            }
        }
        told = now;
        tokio::time::sleep(LOOK).await;
    }
}

/// Opens `link` where a person at a screen would see it. The link is handed over on a command line that
/// other processes of this user can read; it works once, and whoever is faster is in the audit.
fn open_browser(link: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let has_screen = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some());
    if !has_screen || !std::io::stdout().is_terminal() {
        return;
    }
    let opened = Command::new(program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if opened.is_err() {
        say("No browser could be opened; open the link yourself.");
    }
}
