//! A workspace as OpenWork's server left it, taken over by this one.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::clock;
use crate::http::{self, Connection};
use crate::served::Served;

/// Skills in the workspace.
pub(super) const SKILLS: usize = 200;
/// Lines of the audit that the other server left.
pub(super) const AUDIT_LINES: usize = 10_000;
/// What lets a client in. The server ends with the run.
const CLIENT: &str = "bench-client-token";
/// What lets the host in.
const HOST: &str = "bench-host-token";
/// How far apart the lines of the audit are, in milliseconds.
const APART: i64 = 60_000;

const OPENCODE: &str = r#"// What everybody in this workspace has.
{
  "$schema": "https://opencode.ai/config.json",
  "plugin": ["opencode-scheduler", "@acme/tools@1.2.0"], // pinned
  "mcp": {
    "notes": { "type": "local", "command": ["npx", "-y", "notes-mcp"] },
    "linear": { "type": "remote", "url": "https://mcp.linear.app/sse", "enabled": true },
  },
}
"#;

/// Whether writes wait for the host.
#[derive(Debug, Clone, Copy)]
pub(super) enum Approval {
    Manual,
    Auto,
}

/// A workspace, a home and a data directory, which end with this value.
pub(super) struct Fixture {
    root: TempDir,
}

/// A server of the workspace, and how to speak to it.
pub(super) struct Host {
    pub(super) server: Served,
    /// What the workspace is called on the wire.
    workspace: String,
}

impl Fixture {
    /// Lays it out below `directory`.
    pub(super) fn lay_out(directory: &Path) -> anyhow::Result<Self> {
        let root = tempfile::tempdir_in(directory).context("failed to make a directory")?;
        let fixture = Self { root };
        for folder in ["home", "data", "work/.git", "work/.opencode/openwork"] {
            std::fs::create_dir_all(fixture.root.path().join(folder))?;
        }
        let work = fixture.work();
        std::fs::write(work.join("opencode.jsonc"), OPENCODE)?;
        std::fs::write(
            work.join(".opencode/openwork.json"),
            format!(
                "{:#}\n",
                json!({ "version": 1, "workspace": { "name": "Finance" } })
            ),
        )?;
        for index in 0..SKILLS {
            let name = format!("skill-{index:03}");
            let folder = work.join(".opencode/skills").join(&name);
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join("SKILL.md"), skill(&name))?;
        }
        std::fs::write(work.join(".opencode/openwork/audit.jsonl"), audit_lines())?;
        Ok(fixture)
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Has a server that asks nobody make `deeds` writes, so that the ledger has entries of its own.
    pub(super) async fn take_over(&self, deeds: usize) -> anyhow::Result<()> {
        let host = self.serve(Approval::Auto).await?;
        let mut connection = Connection::open(host.server.address).await?;
        for index in 0..deeds {
            let patch = json!({ "openwork": { "deeds": index } });
            let request = host.as_client("PATCH", "/config", Some(&patch));
            connection.exchange(&request).await?.json()?;
        }
        host.server.stop().await
    }

    /// Starts the server, and learns what the workspace is called.
    pub(super) async fn serve(&self, approval: Approval) -> anyhow::Result<Host> {
        let server = self.start(approval).await?;
        let mut connection = Connection::open(server.address).await?;
        let workspaces = connection.get("/workspaces", CLIENT).await?;
        let workspace = workspaces["activeId"].as_str();
        let workspace = workspace.context("no workspace is active")?.to_owned();
        Ok(Host { server, workspace })
    }

    /// Starts the server.
    pub(super) async fn start(&self, approval: Approval) -> anyhow::Result<Served> {
        let (work, home, data) = (
            self.work(),
            self.root.path().join("home"),
            self.root.path().join("data"),
        );
        let approval = match approval {
            Approval::Manual => "manual",
            Approval::Auto => "auto",
        };
        let arguments = ["--workspace".as_ref(), work.as_os_str()];
        let arguments = arguments
            .into_iter()
            .chain(["--approval", approval].map(OsStr::new));
        Served::openwork(
            &arguments.collect::<Vec<_>>(),
            &[
                ("HOME", home.as_os_str()),
                ("COUNTERSIGN_DATA", data.as_os_str()),
                ("OPENWORK_TOKEN", CLIENT.as_ref()),
                ("OPENWORK_HOST_TOKEN", HOST.as_ref()),
            ],
        )
        .await
    }
}

impl Host {
    /// The path of what is `below` the workspace.
    pub(super) fn path(&self, below: &str) -> String {
        format!("/workspace/{}{below}", self.workspace)
    }

    /// A client's GET of any path.
    pub(super) fn get(&self, path: &str) -> Vec<u8> {
        http::request(self.server.address, "GET", path, Some(CLIENT), None)
    }

    /// A client's request about the workspace.
    pub(super) fn as_client(&self, method: &str, below: &str, body: Option<&Value>) -> Vec<u8> {
        let path = self.path(below);
        http::request(self.server.address, method, &path, Some(CLIENT), body)
    }

    /// The host's request.
    pub(super) fn as_host(&self, method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
        let token = ("x-openwork-host-token", HOST);
        http::request_with(self.server.address, method, path, Some(token), body)
    }
}

fn skill(name: &str) -> String {
    let mut text = format!(
        "---\nname: {name}\ndescription: Does what {name} is for, in the way that this team does it\n---\n\
         # {name}\n\n## When to use\n- When somebody asks for {name}\n\n## Steps\n"
    );
    for step in 1..=20 {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{step}. Look at the step before, and go on from there."
        );
    }
    text
}

/// The audit, oldest first; the newest line is of a minute ago.
fn audit_lines() -> String {
    let mut text = String::new();
    let now = clock::now().as_micros() / 1_000;
    let mut at = now - APART * i64::try_from(AUDIT_LINES).unwrap_or(0);
    for index in 0..AUDIT_LINES {
        let entry = json!({
            "id": format!("00000000-0000-4000-8000-{index:012}"),
            "workspaceId": "ws_000000000000",
            "actor": { "type": "remote", "clientId": "owpenbot", "tokenHash": format!("{index:064x}") },
            "action": "plugins.add",
            "target": "opencode.json",
            "summary": format!("Added opencode-plugin-{index}"),
            "timestamp": at,
        });
        let _ = writeln!(text, "{entry}");
        at += APART;
    }
    text
}
