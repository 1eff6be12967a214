//! A server in the folders of the recordings, and requests to it.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use countersign_core::digest::Digest;
use countersign_testkit::process::Launch;
use countersign_testkit::{Program, ports};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::wire::{self, Response};
use crate::{fixture, json};

pub(crate) const CLIENT: &str = "client-token-123";
pub(crate) const HOST: &str = "host-token-456";
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until a server answers on `port`.
pub(crate) fn wait_until_up(port: u16, program: &Program) {
    let begun = Instant::now();
    while wire::send(port, "GET", "/health", &[], None).is_err() {
        assert!(
            begun.elapsed() < PATIENCE,
            "no server: {}",
            program.output()
        );
        std::thread::yield_now();
    }
}

/// Waits until `condition` holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        std::thread::yield_now();
    }
}

/// A server with the workspaces `ws1` and `ws2`. Dropping it kills it.
pub(crate) struct Server {
    folder: TempDir,
    arguments: Vec<String>,
    port: u16,
    program: Program,
}

/// Who calls.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    Client,
    Host,
    Bearer(&'a str),
    Nobody,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = root_of(&folder);
        fixture::build(&root);
        Self::start_in(folder, arguments)
    }

    /// Starts it in a folder that is laid out already.
    pub(crate) fn start_in(folder: TempDir, arguments: &[&str]) -> Self {
        let root = root_of(&folder);
        let mut all = Vec::new();
        for workspace in ["ws1", "ws2"] {
            all.extend([
                "--workspace".to_owned(),
                root.join(workspace).to_str().unwrap().to_owned(),
            ]);
        }
        all.extend(arguments.iter().map(|word| (*word).to_owned()));
        Self::start_with(folder, all)
    }

    /// Starts it with these arguments and no others.
    pub(crate) fn start_with(folder: TempDir, all: Vec<String>) -> Self {
        let port = ports::free();
        let program = launch(&folder, &all, port);
        wait_until_up(port, &program);
        Self {
            folder,
            arguments: all,
            port,
            program,
        }
    }

    /// Kills it as a crash would, and starts it again.
    pub(crate) fn restart(self) -> Self {
        let Self {
            folder,
            arguments,
            port,
            program,
        } = self;
        drop(program);
        let program = launch(&folder, &arguments, port);
        wait_until_up(port, &program);
        Self {
            folder,
            arguments,
            port,
            program,
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        root_of(&self.folder)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What it has printed.
    pub(crate) fn output(&self) -> String {
        self.program.output()
    }

    /// The id of the workspace in the folder `name`.
    pub(crate) fn id(&self, name: &str) -> String {
        let path = self.root().join(name);
        let digest = Digest::of_bytes(path.to_str().unwrap().as_bytes()).to_string();
        format!("ws_{}", &digest[..12])
    }

    /// A path below the workspace `ws1`.
    pub(crate) fn path(&self, below: &str) -> String {
        format!("/workspace/{}{below}", self.id("ws1"))
    }

    pub(crate) fn send(
        &self,
        by: By<'_>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Response {
        let body = body.map(ToString::to_string);
        let mut headers = by.headers();
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        wire::send(self.port, method, path, &headers, body.as_deref()).unwrap()
    }

    /// Sends a request as the client, and does not wait for its answer.
    pub(crate) fn hang_on(&self, method: &str, path: &str, body: &Value) -> TcpStream {
        self.begin(By::Client, method, path, body)
    }

    /// The same as somebody else.
    pub(crate) fn begin(&self, by: By<'_>, method: &str, path: &str, body: &Value) -> TcpStream {
        let body = body.to_string();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n");
        for (name, value) in by.headers() {
            head.extend([name.as_str(), ": ", &value, "\r\n"]);
        }
        let length = body.len().to_string();
        head.extend(["Content-Length: ", &length, "\r\n\r\n"]);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.program.signal(signal);
    }

    /// Kills it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.program.kill();
    }

    /// Sends a request that has to succeed, and returns the JSON of its answer.
    #[track_caller]
    pub(crate) fn good(&self, by: By<'_>, method: &str, path: &str, body: Option<&Value>) -> Value {
        let response = self.send(by, method, path, body);
        assert!(
            response.status < 300,
            "{method} {path}: {} {}",
            response.status,
            response.body
        );
        serde_json::from_str(&response.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.good(By::Client, "GET", path, None)
    }

    /// Sends a request that has to be refused, and returns its status and the code of the error.
    #[track_caller]
    pub(crate) fn refused(
        &self,
        by: By<'_>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, String) {
        let response = self.send(by, method, path, body);
        let said = json::Json::read(&response.body).unwrap_or(json::Json::Null);
        let code = said
            .get("code")
            .and_then(json::Json::as_str)
            .unwrap_or_default();
        (response.status, code.to_owned())
    }

    /// The ids of what waits for approval.
    pub(crate) fn waiting(&self) -> Vec<String> {
        let listed = self.good(By::Host, "GET", "/approvals", None);
        let items = listed["items"].as_array().unwrap().iter();
        items
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl By<'_> {
    pub(crate) fn headers(self) -> Vec<(String, String)> {
        let (name, value) = match self {
            By::Client => ("Authorization", format!("Bearer {CLIENT}")),
            By::Host => ("X-OpenWork-Host-Token", HOST.to_owned()),
            By::Bearer(token) => ("Authorization", format!("Bearer {token}")),
            By::Nobody => return Vec::new(),
        };
        vec![(name.to_owned(), value)]
    }
}

fn root_of(folder: &TempDir) -> PathBuf {
    folder.path().canonicalize().unwrap().join("fixture")
}

fn launch(folder: &TempDir, arguments: &[String], port: u16) -> Program {
    let root = root_of(folder);
    launching(
        Path::new(env!("CARGO_BIN_EXE_countersign")),
        folder.path(),
        &root,
    )
    .arguments(["openwork-server"])
    .arguments(arguments)
    .arguments(["--port", &port.to_string()])
    .variable("OPENWORK_TOKEN", CLIENT)
    .variable("OPENWORK_HOST_TOKEN", HOST)
    .start()
    .unwrap()
}

/// Prepares `program` with its state in `folder`, and its home in `root`.
pub(crate) fn launching(program: &Path, folder: &Path, root: &Path) -> Launch {
    Launch::new(program, folder.join("server.log"))
        .inherit(&["PATH"])
        .variable("HOME", root.join("home"))
        .variable("OPENWORK_DATA_DIR", root.join("data"))
        .variable("COUNTERSIGN_DATA", folder.join("state"))
}
