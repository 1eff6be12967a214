//! What keepers keep for a server, as its run directories say.

use std::path::{Path, PathBuf};

use reqwest::{Method, RequestBuilder};
use rustix::process::{Pid, Signal};
use serde_json::Value;

/// An engine behind a keeper.
#[derive(Debug, Clone)]
pub struct KeptEngine {
    /// The life that it is.
    pub run: String,
    /// The keeper's process.
    pub keeper: u32,
    /// The engine's first process.
    pub process: u32,
    /// Its own address, without a trailing slash.
    pub url: String,
    /// The password of its user `opencode`.
    pub password: String,
    directory: PathBuf,
    workspace: PathBuf,
}

/// An ACP agent behind a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAgent {
    /// The life that it is.
    pub run: String,
    /// The keeper's process.
    pub keeper: u32,
    /// The agent's first process.
    pub process: u32,
}

impl KeptAgent {
    /// Reads the run directories below the data directory `data`; runs that are over are left out.
    pub fn all_below(data: &Path) -> Vec<Self> {
        let Ok(runs) = std::fs::read_dir(data.join("runs")) else {
            return Vec::new();
        };
        let runs = runs.filter_map(Result::ok);
        runs.filter_map(|run| Self::read(&run.path())).collect()
    }

    fn read(directory: &Path) -> Option<Self> {
        let state = read_json(&directory.join("state.json"))?;
        let spec = read_json(&directory.join("spec.json"))?;
        spec["streams"].get("held")?;
        Some(Self {
            run: directory.file_name()?.to_str()?.to_owned(),
            keeper: u32::try_from(state["keeper"]["pid"].as_u64()?).ok()?,
            process: u32::try_from(state["engine"]["pid"].as_u64()?).ok()?,
        })
    }

    /// Kills the agent's first process with SIGKILL, as a crash would.
    pub fn kill(&self) {
        kill(self.process);
    }

    /// Kills the keeper with SIGKILL, which ends the agent's first process as well.
    pub fn kill_keeper(&self) {
        kill(self.keeper);
    }
}

fn kill(process: u32) {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    let id = id.expect("a process has an id");
    rustix::process::kill_process(id, Signal::KILL).expect("the process is there");
}

impl KeptEngine {
    /// Reads the run directories below the data directory `data`; runs that are over are left out.
    pub fn all_below(data: &Path) -> Vec<Self> {
        let Ok(runs) = std::fs::read_dir(data.join("runs")) else {
            return Vec::new();
        };
        let runs = runs.filter_map(Result::ok);
        runs.filter_map(|run| Self::read(run.path())).collect()
    }

    fn read(directory: PathBuf) -> Option<Self> {
        let state = read_json(&directory.join("state.json"))?;
        let spec = read_json(&directory.join("spec.json"))?;
        let process = |who: &str| u32::try_from(state[who]["pid"].as_u64()?).ok();
        let mut arguments = spec["args"].as_array()?.iter().filter_map(Value::as_str);
        arguments.find(|argument| *argument == "--port")?;
        let port = arguments.next()?;
        let password = &spec["environment"]["OPENCODE_SERVER_PASSWORD"];
        Some(Self {
            run: directory.file_name()?.to_str()?.to_owned(),
            keeper: process("keeper")?,
            process: process("engine")?,
            url: format!("http://127.0.0.1:{port}"),
            password: password.as_str()?.to_owned(),
            workspace: spec["working_directory"].as_str()?.into(),
            directory,
        })
    }

    /// Returns what it answers to a GET for its workspace.
    pub async fn get(&self, path: &str) -> Value {
        Self::answer(self.request(Method::GET, path)).await
    }

    /// Returns what it answers to a PATCH for its workspace.
    pub async fn patch(&self, path: &str, body: &Value) -> Value {
        Self::answer(self.request(Method::PATCH, path).json(body)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let directory = self.workspace.to_string_lossy();
        crate::http::client()
            .request(method, format!("{}{path}", self.url))
            .basic_auth("opencode", Some(&self.password))
            .header("x-opencode-directory", directory.as_ref())
    }

    async fn answer(request: RequestBuilder) -> Value {
        let response = request.send().await.expect("the engine answers");
        let response = response.error_for_status().expect("it knows the path");
        response.json().await.expect("it answers with JSON")
    }

    /// Kills the engine's first process with SIGKILL, as a crash would.
    pub fn kill(&self) {
        kill(self.process);
    }

    /// Returns what the engine has printed.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.directory.join("engine.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
