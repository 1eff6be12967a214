//! The whole program under test: `countersign serve` with a data directory, workspaces and an engine of its own.
//!
//! It can be killed as a crash would kill it, started again on the same data, and stopped in order. Whatever happens,
//! nothing of it is left when it is dropped: no server, no keeper, no engine, no tool of an engine's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use tokio::process::Command;

use crate::process::tree::Mark;
use crate::process::{Launch, Program};
use crate::{RealOpencode, StubModel, eventually, peers, ports};

mod api;
mod bridged;
mod jobs;
mod kept;
mod standstill;

pub use api::{Api, Reply};
pub use bridged::{Bridging, mortal_agent};
pub use kept::{KeptAgent, KeptEngine};

/// How long anything may take that is waited for: the machine may be busy with other tests.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The file that says where the server is to stand still.
const STANDSTILL: &str = "standstill";

/// What the server prints once it serves.
const SERVES: &str = "countersign serves on ";

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The program, as `env!("CARGO_BIN_EXE_countersign")` names it.
    pub binary: PathBuf,
    /// How it is started.
    pub command: ServeCommand,
    /// Which engine its workspaces have.
    pub engine: Engine,
    /// How many workspaces it has.
    pub workspaces: usize,
    /// The files that each workspace holds at first, by name and content.
    pub files: Vec<(String, String)>,
    /// More lines for the `[engine]` part of its configuration.
    pub engine_settings: String,
    /// More arguments.
    pub arguments: Vec<String>,
    /// More variables.
    pub variables: Vec<(String, String)>,
}

/// The command that starts a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeCommand {
    /// `countersign serve`.
    Serve,
    /// `countersign up`, for one workspace.
    Up,
}

/// Which engine the workspaces of a server have.
#[derive(Debug, Clone)]
pub enum Engine {
    /// None.
    None,
    /// An opencode that is looked for and not there.
    Missing,
    /// The pinned opencode, whose model is at this address.
    Real {
        /// The base URL of the model.
        model: String,
    },
    /// The scripted stand-in for opencode.
    Scripted,
    /// An opencode that runs already.
    Attached {
        /// Its base URL.
        url: String,
        /// The password of its user `opencode`, if it wants one.
        password: Option<String>,
    },
}

/// A running `countersign serve`. Dropping it kills it with its keepers, its engines and all that those started.
#[derive(Debug)]
pub struct TestServer {
    setup: Setup,
    root: TempDir,
    mark: Mark,
    workspaces: Vec<PathBuf>,
    port: u16,
    environment: Vec<(String, String)>,
    program: Program,
    api: Api,
}

/// How many lines of a log are printed when a test fails.
const TOLD_LINES: usize = 40;

/// Prints the end of `log` and keeps all of it in a file.
#[expect(clippy::print_stderr, reason = "the test's own output")]
fn tell(name: &str, log: &str) {
    let lines: Vec<&str> = log.lines().collect();
    let end = lines[lines.len().saturating_sub(TOLD_LINES)..].join("\n");
    let kept = tempfile::Builder::new()
        .prefix("countersign-")
        .suffix(".log")
        .tempfile()
        .and_then(|file| {
            std::fs::write(file.path(), log)?;
            Ok(file.keep()?.1)
        });
    let whole = match kept {
        Ok(path) => format!("all of it is in {}", path.display()),
        Err(error) => format!("all of it was not kept: {error}"),
    };
    eprintln!("--- the end of {name}; {whole} ---\n{end}");
}

/// What a command printed, and how it ended.
#[derive(Debug, Clone)]
pub struct Printed {
    /// Its exit code.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Setup {
    /// A server for one workspace.
    pub fn new(binary: impl Into<PathBuf>, engine: Engine) -> Self {
        Self {
            binary: binary.into(),
            command: ServeCommand::Serve,
            engine,
            workspaces: 1,
            files: Vec::new(),
            engine_settings: String::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Starts the server and waits until it serves. Its engine may not be ready yet.
    pub async fn start(self) -> TestServer {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let path = root
            .path()
            .canonicalize()
            .expect("the directory was just made");
        let workspaces: Vec<PathBuf> = (1..=self.workspaces)
            .map(|number| path.join(format!("workspace-{number}")))
            .collect();
        for directory in workspaces.iter().chain([&path.join("home")]) {
            std::fs::create_dir(directory).expect("the directory can be written");
        }
        for workspace in &workspaces {
            for (name, content) in &self.files {
                std::fs::write(workspace.join(name), content).expect("the folder can be written");
            }
        }
        let environment = self.environment(&path);
        std::fs::write(path.join("config.toml"), self.configuration())
            .expect("the directory can be written");
        let port = ports::free();
        let mut program = self.launch(&path, &workspaces, port, &environment);
        wait_until_serving(&mut program).await;
        let mut server = TestServer {
            mark: Mark::containing(path.to_string_lossy()),
            workspaces,
            port,
            environment,
            program,
            api: Api::new(format!("http://127.0.0.1:{port}"), None),
            setup: self,
            root,
        };
        server.api = server.api_as("owner").await;
        server
    }

    fn environment(&self, root: &Path) -> Vec<(String, String)> {
        let home = root.join("home");
        let mut environment = match &self.engine {
            Engine::Real { model } => RealOpencode::environment(&home, model),
            Engine::None | Engine::Missing | Engine::Scripted | Engine::Attached { .. } => {
                vec![("HOME".to_owned(), home.to_string_lossy().into_owned())]
            }
        };
        if let Engine::Attached {
            password: Some(password),
            ..
        } = &self.engine
        {
            environment.push(("OPENCODE_SERVER_PASSWORD".to_owned(), password.clone()));
        }
        if let Engine::Missing = &self.engine {
            environment.push(("PATH".to_owned(), "/nonexistent".to_owned()));
        }
        let data = root.join("data").to_string_lossy().into_owned();
        let standstill = root.join(STANDSTILL).to_string_lossy().into_owned();
        environment.extend([
            ("COUNTERSIGN_DATA".to_owned(), data),
            ("COUNTERSIGN_STANDSTILL".to_owned(), standstill),
            ("COUNTERSIGN_LOG".to_owned(), "info".to_owned()),
            ("USER".to_owned(), "ada".to_owned()),
        ]);
        environment.extend(self.variables.iter().cloned());
        environment
    }

    fn configuration(&self) -> String {
        let program = match &self.engine {
            Engine::Real { .. } => Some(peers::opencode()),
            Engine::Scripted => Some(peers::scripted_opencode()),
            Engine::None | Engine::Missing | Engine::Attached { .. } => None,
        };
        let program = program.map(|path| format!("program = '{}'\n", path.display()));
        format!(
            "[engine]\n{}{}",
            program.unwrap_or_default(),
            self.engine_settings
        )
    }

    fn launch(
        &self,
        root: &Path,
        workspaces: &[PathBuf],
        port: u16,
        environment: &[(String, String)],
    ) -> Program {
        let mut launch = Launch::new(&self.binary, root.join("server.log"))
            .inherit(&["PATH"])
            .variables(environment.iter().map(|(name, value)| (name, value)))
            .directory(root);
        match self.command {
            ServeCommand::Serve => {
                launch = launch.arguments(["serve"]);
                for workspace in workspaces {
                    launch = launch
                        .arguments(["--workspace"])
                        .arguments([workspace.as_os_str()]);
                }
            }
            ServeCommand::Up => {
                launch = launch.arguments(["up", "--no-open"]).arguments(workspaces);
            }
        }
        launch = launch
            .arguments(["--port", &port.to_string(), "--config"])
            .arguments([root.join("config.toml")])
            .arguments(&self.arguments);
        match &self.engine {
            Engine::None => launch = launch.arguments(["--no-engine"]),
            Engine::Attached { url, .. } => launch = launch.arguments(["--attach", url]),
            Engine::Missing | Engine::Real { .. } | Engine::Scripted => {}
        }
        launch.start().expect("the program can be started")
    }
}

async fn wait_until_serving(program: &mut Program) {
    let serves = |line: &str| line.starts_with(SERVES).then_some(());
    program.wait_for_line(PATIENCE, SERVES, serves).await;
}

impl TestServer {
    /// Starts a server whose one workspace has the pinned opencode with this model, and waits until that is ready.
    pub async fn with_real_opencode(binary: impl Into<PathBuf>, model: &StubModel) -> Self {
        let model = model.base_url();
        let server = Setup::new(binary, Engine::Real { model }).start().await;
        server.api().wait_for_engine().await;
        server
    }

    /// Returns its address, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns its data directory.
    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// Returns its first workspace.
    pub fn workspace(&self) -> &Path {
        self.workspaces
            .first()
            .expect("this server has a workspace")
    }

    /// Returns its workspaces.
    pub fn workspaces(&self) -> &[PathBuf] {
        &self.workspaces
    }

    /// Returns the program, to be signalled.
    pub fn program(&mut self) -> &mut Program {
        &mut self.program
    }

    /// Returns its API as its owner calls it.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Returns its API as somebody with a new token of `role` calls it.
    pub async fn api_as(&self, role: &str) -> Api {
        Api::new(self.url(), Some(self.token(role).await))
    }

    /// Returns its API as somebody without a token calls it.
    pub fn api_without_token(&self) -> Api {
        Api::new(self.url(), None)
    }

    /// Makes a token of `role` and returns its secret.
    pub async fn token(&self, role: &str) -> String {
        let made = self
            .cli(&["token", "create", "--name", role, "--role", role, "--json"])
            .await;
        let made = made.expect_success().json();
        let secret = made["secret"].as_str();
        secret.expect("a new token has a secret").to_owned()
    }

    /// Runs a client command against this server's data directory, as the person at this machine.
    pub async fn cli(&self, arguments: &[&str]) -> Printed {
        self.cli_with(&[], arguments).await
    }

    /// Runs a client command with more variables.
    pub async fn cli_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Printed {
        let output = Command::new(&self.setup.binary)
            .args(arguments)
            .current_dir(
                self.workspaces
                    .first()
                    .map_or(self.root.path(), PathBuf::as_path),
            )
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(variables.iter().copied())
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PATIENCE, output)
            .await
            .unwrap_or_else(|_| panic!("`countersign {}` does not end", arguments.join(" ")))
            .expect("the program can be started");
        Printed {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns the engines that keepers of this server keep.
    pub fn engines(&self) -> Vec<KeptEngine> {
        KeptEngine::all_below(&self.data())
    }

    /// Returns the ACP agents that keepers of this server keep.
    pub fn agents(&self) -> Vec<KeptAgent> {
        KeptAgent::all_below(&self.data())
    }

    /// Returns the one engine that a keeper of this server keeps.
    pub fn engine(&self) -> KeptEngine {
        let mut engines = self.engines();
        assert_eq!(engines.len(), 1, "one engine is kept");
        engines.remove(0)
    }

    /// Kills the server alone with SIGKILL; keepers and engines live on.
    pub fn kill(&mut self) {
        self.program.kill();
    }

    /// Starts the server again at the same address and on the same data, and waits until it serves.
    pub async fn restart(&mut self) {
        let path = self.root.path().canonicalize().expect("it is still there");
        self.program = self
            .setup
            .launch(&path, &self.workspaces, self.port, &self.environment);
        wait_until_serving(&mut self.program).await;
    }

    /// Stops the server in order (SIGTERM) and panics unless it ends well and leaves no process behind.
    pub async fn stop(&mut self) {
        self.program.signal(Signal::TERM);
        let status = self.program.wait_for_exit(PATIENCE).await;
        assert!(status.success(), "the server ends with {status}");
        let left = self.processes();
        assert!(left.is_empty(), "processes are left: {}", describe(&left));
    }

    /// Returns every live process of this server: itself, its keepers, their engines, and what those started.
    pub fn processes(&self) -> Vec<u32> {
        self.mark.processes(None).into_iter().collect()
    }

    /// Waits until no process is left that the server or an engine of it started.
    pub async fn wait_until_nothing_runs(&self) {
        eventually(PATIENCE, "every process of the server ends", async || {
            self.processes().is_empty().then_some(())
        })
        .await;
    }

    /// Returns what the server has logged and printed in this life.
    pub fn log(&self) -> String {
        self.program.output()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.tell();
        }
        self.program.kill_tree();
        self.mark.kill_all(None);
    }
}

impl TestServer {
    /// Tells what helps to find out why a test failed: the end of what was logged, and where all of it is. What the test
    /// itself said must not drown in it.
    fn tell(&self) {
        tell("the server's log", &self.log());
        for engine in self.engines() {
            tell(&format!("engine {}", engine.run), &engine.log());
        }
    }
}

impl Printed {
    /// Returns itself, and panics unless the command succeeded.
    #[track_caller]
    pub fn expect_success(&self) -> &Self {
        self.expect_code(0)
    }

    /// Returns itself, and panics unless the command ended with `code`.
    #[track_caller]
    pub fn expect_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns its standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {}", self.stdout))
    }
}

fn describe(processes: &[u32]) -> String {
    let lines = processes.iter().map(|id| {
        let command = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        format!("{id} {command}")
    });
    lines.collect::<Vec<_>>().join("; ")
}
