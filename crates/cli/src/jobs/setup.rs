//! `setup`: whether everything is there that jobs need, and whether the review gate is on.

use std::collections::BTreeSet;

use countersign_api::EngineOffer;
use serde_json::{Value, json};

use super::{gate, lookup};
use crate::Call;
use crate::doctor::machine;
use crate::exit::{Exit, Failure};
use crate::launch;

/// What to change.
#[derive(Debug, clap::Args)]
pub struct Setup {
    /// Have Claude Code's answers in this folder reviewed before it stops
    #[arg(long, conflicts_with = "disable_review_gate")]
    enable_review_gate: bool,
    /// No longer have them reviewed
    #[arg(long)]
    disable_review_gate: bool,
    /// The folder that is meant
    #[arg(long, short = 'C', value_name = "DIR")]
    cwd: Option<std::path::PathBuf>,
}

/// What was found.
struct Found {
    version: Option<String>,
    node: Option<String>,
    server_running: bool,
    providers: BTreeSet<String>,
    engines: Vec<EngineOffer>,
    review_gate: bool,
    actions: Vec<String>,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Setup) -> anyhow::Result<Exit> {
    let directory = lookup::directory(call, arguments.cwd.as_deref())?;
    let root = lookup::root(&directory).to_string_lossy().into_owned();
    let actions = switch(call, &arguments, &root)?;
    let path = call.surroundings.path.as_deref();
    let version = machine::version_on("opencode", path).await;
    let node = machine::version_on("node", path).await;
    let providers = if version.is_some() {
        call.output.note("Asking opencode for its providers …")?;
        machine::providers(path).await
    } else {
        BTreeSet::new()
    };
    let engines = match call.surroundings.engines {
        Some(look) => look()?.engines,
        None => Vec::new(),
    };
    let data = call.surroundings.data.as_deref();
    let found = Found {
        version,
        node,
        server_running: data.is_some_and(launch::is_served),
        providers,
        engines,
        review_gate: gate::is_on(data, &root),
        actions,
    };
    if call.json() {
        call.output.json(&found.json().to_string())?;
    } else {
        call.output.line(&found.text())?;
    }
    Ok(Exit::Success)
}

/// Turns the review gate on or off, as it is wished; tells what was done.
fn switch(call: &Call<'_>, arguments: &Setup, root: &str) -> anyhow::Result<Vec<String>> {
    let wished = match (arguments.enable_review_gate, arguments.disable_review_gate) {
        (false, false) => return Ok(Vec::new()),
        (on, _) => on,
    };
    let data = call.surroundings.data.as_deref().ok_or_else(|| {
        Failure::Usage("neither COUNTERSIGN_DATA nor HOME says where to keep it".to_owned())
    })?;
    gate::set(data, root, wished)?;
    let what = if wished { "Enabled" } else { "Disabled" };
    Ok(vec![format!("{what} the review gate for {root}.")])
}

impl Found {
    fn ready_engines(&self) -> impl Iterator<Item = &EngineOffer> {
        self.engines
            .iter()
            .filter(|engine| engine.program.is_some() && engine.advice.is_empty())
    }

    /// The demo agent needs nothing; somebody who wants work done needs another one.
    fn is_ready(&self) -> bool {
        self.ready_engines().any(|engine| engine.name != "demo")
    }

    fn next_steps(&self) -> Vec<String> {
        let mut steps = Vec::new();
        if !self.is_ready() {
            let step = "Install an agent, for example with `npm install -g opencode-ai`, and sign in to its provider";
            steps.push(step.to_owned());
        } else if self.version.is_some() && self.providers.is_empty() {
            steps.push("Sign in to a provider: `opencode auth login`".to_owned());
        }
        if !self.review_gate {
            let step = "Optional: `countersign setup --enable-review-gate` has answers reviewed before Claude Code stops";
            steps.push(step.to_owned());
        }
        steps
    }

    fn json(&self) -> Value {
        let tool = |version: &Option<String>| {
            json!({
                "available": version.is_some(),
                "detail": version.as_deref().unwrap_or("not found"),
            })
        };
        json!({
            "ready": self.is_ready(),
            "installed": self.version.is_some(), "version": self.version,
            "serverRunning": self.server_running, "providers": self.providers,
            "reviewGate": self.review_gate, "reviewGateEnabled": self.review_gate,
            "node": tool(&self.node), "opencode": tool(&self.version),
            "engines": self.engines,
            "actionsTaken": self.actions, "nextSteps": self.next_steps(),
        })
    }

    fn text(&self) -> String {
        let yes = |it: bool| if it { "Yes" } else { "No" };
        let mut lines = vec![
            "## Countersign Setup Status\n".to_owned(),
            format!("- **Installed**: {}", yes(self.version.is_some())),
        ];
        if let Some(version) = &self.version {
            lines.push(format!("- **Version**: {version}"));
        }
        let server = if self.server_running {
            "Yes"
        } else {
            "No (the first job starts one)"
        };
        lines.push(format!("- **Server Running**: {server}"));
        let providers: Vec<_> = self.providers.iter().map(String::as_str).collect();
        if !providers.is_empty() {
            let listed = providers.join(", ");
            lines.push(format!("- **Configured Providers**: {listed}"));
        }
        let engines: Vec<_> = self.ready_engines().map(|it| it.name.as_str()).collect();
        lines.push(format!("- **Engines**: {}", engines.join(", ")));
        let gate = if self.review_gate {
            "Enabled"
        } else {
            "Disabled"
        };
        lines.push(format!("- **Review Gate**: {gate}"));
        for action in &self.actions {
            lines.push(format!("\n{action}"));
        }
        for (place, step) in self.next_steps().iter().enumerate() {
            if place == 0 {
                lines.push("\n### Next Steps\n".to_owned());
            }
            lines.push(format!("- {step}"));
        }
        lines.join("\n")
    }
}
