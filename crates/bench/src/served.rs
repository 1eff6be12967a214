//! A server that is measured: started, found to serve, and ended with all that it started.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::http::{self, Connection};
use crate::ledger::Ledger;
use crate::measured_agent;

/// How long a start or an end may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A run that is broken off leaves no engine behind for long. Its followers are many and have one token.
const SETTINGS: &str = "[server]\nstreams_per_token = 12000\n[engine]\nlonely_limit_s = 20\n";

/// A server in a process of its own. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Served {
    child: Child,
    /// Kept open, so that the process can go on printing.
    _stdout: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
}

/// Which engine the server has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine<'a> {
    /// None.
    None,
    /// This program, with these variables.
    Program(&'a Path, &'a [(String, String)]),
    /// The ACP agent that is nothing but quick.
    Measured,
}

/// The file `name` in the directory of this program, where cargo puts what it builds.
pub(crate) fn beside_this_program(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("failed to find this program")?;
    let path = own.with_file_name(name);
    if !path.exists() {
        bail!(
            "`{}` is missing: use `cargo xtask bench`, which builds it",
            path.display()
        );
    }
    Ok(path)
}

impl Served {
    /// Starts `countersign serve` on `ledger`, and returns once it says that it serves.
    pub(crate) async fn countersign(ledger: &Ledger, engine: Engine<'_>) -> anyhow::Result<Self> {
        let port = countersign_testkit::ports::free();
        let mut command = Command::new(beside_this_program("countersign")?);
        command
            .args(["serve", "--port", &port.to_string(), "--workspace"])
            .arg(ledger.workspace())
            .arg("--config")
            .arg(ledger.root().join("config.toml"))
            .current_dir(ledger.root())
            .env_clear()
            .env("HOME", ledger.root())
            .env("USER", "ada")
            .env("COUNTERSIGN_DATA", ledger.data());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let configuration = match engine {
            Engine::None => {
                command.arg("--no-engine");
                SETTINGS.to_owned()
            }
            Engine::Measured => {
                command.arg("--no-engine");
                let own = std::env::current_exe().context("failed to find this program")?;
                let (name, program) = (measured_agent::NAME, own.display());
                format!(
                    "{SETTINGS}[[agents]]\nname = '{name}'\ncommand = '{program}'\nargs = ['agent']\n"
                )
            }
            Engine::Program(program, variables) => {
                command.envs(variables.iter().map(|(name, value)| (name, value)));
                let program = program.display();
                format!("{SETTINGS}program = '{program}'\n")
            }
        };
        std::fs::write(ledger.root().join("config.toml"), configuration)
            .context("failed to write a configuration")?;
        Self::start(command, port).await
    }

    /// Starts `countersign openwork-server` with these arguments and variables, and returns once it says that it
    /// listens. Nothing else is in its environment.
    pub(crate) async fn openwork(
        arguments: &[&OsStr],
        variables: &[(&str, &OsStr)],
    ) -> anyhow::Result<Self> {
        let port = countersign_testkit::ports::free();
        let mut command = Command::new(beside_this_program("countersign")?);
        command
            .args(["openwork-server", "--port", &port.to_string()])
            .args(arguments)
            .env_clear()
            .envs(variables.iter().copied());
        Self::start(command, port).await
    }

    /// Starts the bare axum application.
    pub(crate) async fn hello() -> anyhow::Result<Self> {
        let port = countersign_testkit::ports::free();
        let mut command = Command::new(std::env::current_exe()?);
        command.args([OsStr::new("hello"), OsStr::new("--port")]);
        command.arg(port.to_string());
        Self::start(command, port).await
    }

    /// Each prints one line once it serves.
    async fn start(mut command: Command, port: u16) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start a server")?;
        let pid = child.id().context("it ended at once")?;
        let stdout = child.stdout.take().context("its output is lost")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, stdout.read_line(&mut line))
            .await
            .context("it does not begin to serve")?
            .context("failed to read what it prints")?;
        if !line.contains("serves on") && !line.contains("listening on") {
            bail!("it prints `{}` and does not serve", line.trim());
        }
        Ok(Self {
            child,
            _stdout: stdout,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            pid,
        })
    }

    /// Waits for the first 200 of `path`.
    pub(crate) async fn ready(&self, path: &str) -> anyhow::Result<()> {
        let request = http::request(self.address, "GET", path, None, None);
        let answered = async {
            loop {
                if Connection::open(self.address)
                    .await?
                    .exchange(&request)
                    .await?
                    .status
                    == 200
                {
                    return anyhow::Ok(());
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, answered)
            .await
            .context("the server does not become ready")?
    }

    /// Ends the server in order, with its keepers and engines.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        kill_process(pid.context("the process has no id")?, Signal::TERM)
            .context("the server ended by itself")?;
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(_) => Ok(()),
            Err(_) => bail!("the server does not end"),
        }
    }
}
