//! A real opencode, cut off from the world: its model is a stub, its home a temporary directory.
//!
//! It makes no look-up outside loopback: models, updates, plugins and language servers are switched off, and its
//! configuration directory is prepared so that it does not install anything there.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::peers::Opencode;
use crate::process::{Launch, Program};
use crate::{StubModel, eventually, ports};

/// How long a start may take: the first one migrates a database, and the machine may be busy.
const START: Duration = Duration::from_mins(1);

/// What is switched off so that nothing is looked up.
const SWITCHES: [&str; 7] = [
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EMBEDDED_WEB_UI",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
];

/// A running `opencode serve` with a password. Dropping it kills it and all that it started.
#[derive(Debug)]
pub struct RealOpencode {
    program: Program,
    release: Opencode,
    home: TempDir,
    directory: PathBuf,
    model_base_url: String,
    port: u16,
    password: String,
    http: reqwest::Client,
}

impl RealOpencode {
    /// Prepares `home` for opencode and returns the variables to start it with. `PATH` is left to the caller.
    ///
    /// It asks before `bash`, `edit`, `external_directory` and `webfetch`. The configuration of a project is read
    /// as usual.
    pub fn environment(home: &Path, model_base_url: &str) -> Vec<(String, String)> {
        Self::environment_of(Opencode::V1_18_33, home, model_base_url)
    }

    /// Prepares `home` as [`Self::environment`] does, for a given release.
    pub fn environment_of(
        release: Opencode,
        home: &Path,
        model_base_url: &str,
    ) -> Vec<(String, String)> {
        prepare(release, home, model_base_url).expect("the home directory can be written");
        let directories = [
            ("HOME", ""),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
        ];
        let directories = directories.map(|(name, below)| {
            let path = if below.is_empty() {
                home.to_owned()
            } else {
                home.join(below)
            };
            (name, path.to_string_lossy().into_owned())
        });
        let switches = SWITCHES.map(|name| (name, "1".to_owned()));
        directories
            .into_iter()
            .chain(switches)
            .chain([("OPENCODE_ENABLE_QUESTION_TOOL", "1".to_owned())])
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// Starts the release that Countersign is made for in `directory`, and waits until it answers.
    pub async fn start(directory: &Path, model: &StubModel) -> Self {
        Self::start_release(Opencode::V1_18_33, directory, model).await
    }

    /// Starts `release` in `directory`, and waits until it answers.
    pub async fn start_release(release: Opencode, directory: &Path, model: &StubModel) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        let port = ports::free();
        let password = format!("{:032x}", rand::random::<u128>());
        let model_base_url = model.base_url();
        let program = launch(
            release,
            home.path(),
            directory,
            &model_base_url,
            port,
            &password,
        );
        let mut opencode = Self {
            program,
            release,
            home,
            directory: directory.to_owned(),
            model_base_url,
            port,
            password,
            http: crate::http::client(),
        };
        opencode.wait_until_ready().await;
        opencode
    }

    /// Kills it with all that it started, and starts it again at the same address with the same home.
    pub async fn restart(&mut self) {
        self.program.kill_tree();
        self.program = launch(
            self.release,
            self.home.path(),
            &self.directory,
            &self.model_base_url,
            self.port,
            &self.password,
        );
        self.wait_until_ready().await;
    }

    /// Waits for the line that it prints once it answers. The port is open a second before, and a request sent
    /// in that second is never answered.
    async fn wait_until_ready(&mut self) {
        let line = format!("opencode server listening on {}", self.url());
        let is_ready = |printed: &str| (printed == line).then_some(());
        self.program.wait_for_line(START, &line, is_ready).await;
    }

    /// Returns its address, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the password of its user `opencode`.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Returns the program, to be signalled or killed.
    pub fn program(&mut self) -> &mut Program {
        &mut self.program
    }

    /// Prepares a request with the password, for its directory.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let directory = self.directory.to_string_lossy();
        self.http
            .request(method, format!("{}{path}", self.url()))
            .basic_auth("opencode", Some(&self.password))
            .header("x-opencode-directory", directory.as_ref())
    }

    /// Returns what it answers to a GET, and panics when it refuses.
    pub async fn get(&self, path: &str) -> Value {
        body(self.request(Method::GET, path).send().await).await
    }

    /// Returns what it answers to a POST, and panics when it refuses. An empty answer is `null`.
    pub async fn post(&self, path: &str, body_sent: &Value) -> Value {
        let request = self.request(Method::POST, path).json(body_sent);
        body(request.send().await).await
    }

    /// Creates a session and returns its id.
    pub async fn create_session(&self) -> String {
        let session = self.post("/session", &json!({"title": "test"})).await;
        let id = session["id"].as_str().expect("a session has an id");
        id.to_owned()
    }

    /// Sends a prompt and does not wait for what follows.
    pub async fn prompt(&self, session: &str, text: &str) {
        let parts = json!({"parts": [{"type": "text", "text": text}]});
        let path = format!("/session/{session}/prompt_async");
        self.post(&path, &parts).await;
    }

    /// Waits until a permission is asked for which `wanted` holds, and returns it.
    pub async fn wait_for_permission(
        &self,
        deadline: Duration,
        description: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        eventually(deadline, description, async || {
            let pending = self.get("/permission").await;
            let mut pending = pending.as_array()?.iter();
            pending.find(|ask| wanted(ask)).cloned()
        })
        .await
    }

    /// Waits until a session is neither busy nor waiting, and returns the text of its last message.
    pub async fn wait_for_final_text(&self, deadline: Duration, session: &str) -> String {
        let path = format!("/session/{session}/message?limit=1");
        eventually(deadline, "the turn ends", async || {
            let messages = self.get(&path).await;
            let last = &messages[0];
            let finish = last["info"]["finish"].as_str()?;
            let parts = last["parts"].as_array()?;
            let texts = parts.iter().filter(|part| part["type"] == "text");
            let texts: String = texts.filter_map(|part| part["text"].as_str()).collect();
            (finish != "tool-calls").then_some(texts)
        })
        .await
    }
}

async fn body(response: reqwest::Result<Response>) -> Value {
    let response = response.expect("opencode answers");
    let status = response.status();
    let text = response.text().await.expect("the answer is whole");
    assert!(status.is_success(), "opencode answers {status}: {text}");
    serde_json::from_str(&text).unwrap_or_default()
}

fn launch(
    release: Opencode,
    home: &Path,
    directory: &Path,
    model_base_url: &str,
    port: u16,
    password: &str,
) -> Program {
    Launch::new(release.executable(), home.join("opencode.log"))
        .inherit(&["PATH"])
        .variables(RealOpencode::environment_of(release, home, model_base_url))
        .variable("OPENCODE_SERVER_PASSWORD", password)
        .arguments(["serve", "--hostname", "127.0.0.1", "--port"])
        .arguments([port.to_string()])
        .directory(directory)
        .start()
        .expect("the pinned opencode can be started")
}

/// Writes the configuration, and the traces of a finished installation that keep opencode from making one.
fn prepare(release: Opencode, home: &Path, model_base_url: &str) -> io::Result<()> {
    let directory = home.join(".config/opencode");
    std::fs::create_dir_all(directory.join("node_modules"))?;
    let plugin = json!({"@opencode-ai/plugin": release.version()});
    let lock = json!({"packages": {"": {"dependencies": plugin}}});
    std::fs::write(directory.join("package-lock.json"), lock.to_string())?;
    let configuration = configuration(model_base_url).to_string();
    std::fs::write(directory.join("opencode.json"), configuration)
}

fn configuration(model_base_url: &str) -> Value {
    let model = json!({
        "name": "Stub",
        "tool_call": true,
        "attachment": true,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": {"context": 100_000, "output": 8_000},
    });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": model_base_url, "apiKey": "unused"},
        "models": {"stub": model},
    });
    json!({
        "model": "stub/stub",
        "small_model": "stub/stub",
        "enabled_providers": ["stub"],
        "provider": {"stub": provider},
        "autoupdate": false,
        "share": "disabled",
        "permission": {
            "bash": "ask",
            "edit": "ask",
            "external_directory": "ask",
            "webfetch": "ask",
        },
    })
}

#[cfg(test)]
mod tests;
