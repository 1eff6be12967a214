//! A real Claude Code with the plugin, a server with a real opencode behind it, and a model for each of the two.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use countersign_testkit::test_server::{Engine, Setup};
use countersign_testkit::{StubModel, TestServer, eventually, peers};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::terminal::Terminal;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// How long anything may take: two agents are heavy, and the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// Everything that a rescue needs.
pub(crate) struct Stage {
    /// What Claude Code talks to.
    pub(crate) outer: StubModel,
    /// What opencode talks to.
    pub(crate) inner: StubModel,
    /// The server that owns the jobs.
    pub(crate) server: TestServer,
    home: TempDir,
}

/// The repository.
pub(crate) fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = own.ancestors().nth(2);
    top.expect("this crate is two levels below it").to_owned()
}

/// A Claude Code that reaches nothing but this machine.
pub(crate) fn claude_code(home: &Path) -> Command {
    let mut claude = Command::new(peers::claude_code());
    claude
        .env_clear()
        .envs(secluded(home))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    claude
}

/// What keeps Claude Code to this home and this machine.
fn secluded(home: &Path) -> Vec<(String, String)> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let one = || "1".to_owned();
    vec![
        ("HOME".to_owned(), path(home)),
        ("CLAUDE_CONFIG_DIR".to_owned(), path(&home.join(".claude"))),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".to_owned(), one()),
        ("DISABLE_TELEMETRY".to_owned(), one()),
        ("IS_SANDBOX".to_owned(), one()),
    ]
}

impl Stage {
    /// Sets it, with `files` in the workspace.
    pub(crate) async fn set(files: &[(&str, &str)]) -> Self {
        let outer = StubModel::start().await;
        let inner = StubModel::start().await;
        let home = tempfile::tempdir().expect("a directory can be made");
        let programs = home.path().join("programs");
        std::fs::create_dir(&programs).expect("the directory can be written");
        symlink(BINARY, programs.join("countersign")).expect("the directory can be written");
        let engine = Engine::Real {
            model: inner.base_url(),
        };
        let path = ("PATH".to_owned(), with_programs(home.path()));
        let files = files.iter();
        let setup = Setup {
            files: files
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
            // What the agent's own commands find.
            variables: vec![path],
            ..Setup::new(BINARY, engine)
        };
        let server = setup.start().await;
        server.api().wait_for_engine().await;
        Self {
            outer,
            inner,
            server,
            home,
        }
    }

    /// What Claude Code finds in its environment, besides what keeps it from the world.
    fn variables(&self) -> Vec<(String, String)> {
        let data = self.server.data().to_string_lossy().into_owned();
        let mut variables = vec![
            ("PATH".to_owned(), with_programs(self.home.path())),
            ("COUNTERSIGN_DATA".to_owned(), data),
            ("ANTHROPIC_BASE_URL".to_owned(), self.outer.root_url()),
            ("ANTHROPIC_API_KEY".to_owned(), "unused".to_owned()),
        ];
        for model in ["MODEL", "DEFAULT_HAIKU_MODEL", "DEFAULT_SONNET_MODEL"] {
            variables.push((format!("ANTHROPIC_{model}"), "stub".to_owned()));
        }
        variables
    }

    /// Opens Claude Code in a terminal, as a session of this id.
    pub(crate) fn terminal(&self, session: &str) -> Terminal {
        let home = self.home.path();
        let workspace = self.server.workspace().to_string_lossy();
        // It would ask all of this of a person who starts it for the first time.
        let known = json!({
            "hasCompletedOnboarding": true,
            "projects": {(workspace): {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
            "customApiKeyResponses": {"approved": ["unused"], "rejected": []},
        });
        let configuration = home.join(".claude");
        std::fs::create_dir_all(&configuration).expect("the home directory can be written");
        std::fs::write(configuration.join(".claude.json"), known.to_string())
            .expect("the home directory can be written");
        let script = home.join("claude");
        let line = format!(
            "#!/bin/sh\nexec '{}' --session-id {session} --plugin-dir '{}'\n",
            peers::claude_code().display(),
            repository().join("plugins/claude-code").display()
        );
        std::fs::write(&script, line).expect("the home directory can be written");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))
            .expect("the home directory can be written");
        let mut variables = self.variables();
        variables.extend(secluded(home));
        Terminal::open(&script, self.server.workspace(), &variables)
    }

    /// Has Claude Code do what `prompt` says, and returns what it told, line by line.
    pub(crate) async fn claude(&self, prompt: &str) -> Vec<Value> {
        let plugin = repository().join("plugins/claude-code");
        let mut claude = claude_code(self.home.path());
        claude
            .current_dir(self.server.workspace())
            .envs(self.variables())
            .args([
                "-p",
                prompt,
                "--output-format",
                "stream-json",
                "--verbose",
                "--include-hook-events",
            ])
            .arg("--plugin-dir")
            .arg(plugin);
        let output = tokio::time::timeout(PATIENCE, claude.output()).await;
        let output = output.expect("it ends").expect("it can be started");
        let told = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}\n{errors}");
        told.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
            .collect()
    }

    /// All jobs, the newest first.
    pub(crate) async fn jobs(&self) -> Vec<Value> {
        let listed = self.server.api().get("/api/v1/jobs?limit=100").await;
        listed["jobs"].as_array().expect("it is a list").clone()
    }

    /// The one job that there is, once it is as it should be.
    pub(crate) async fn only_job(
        &self,
        description: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        eventually(PATIENCE, description, async || {
            let mut jobs = self.jobs().await;
            assert!(jobs.len() <= 1, "{jobs:#?}");
            // Lists leave the report out.
            let id = jobs.pop()?["id"].as_str()?.to_owned();
            let job = self.server.api().get(&format!("/api/v1/jobs/{id}")).await;
            wanted(&job).then_some(job)
        })
        .await
    }

    /// Whether something in what Claude Code told its model has all of `parts`.
    pub(crate) fn outer_heard(&self, parts: &[&str]) -> bool {
        let requests = self.outer.requests();
        let mut messages = requests
            .iter()
            .flat_map(|request| request["messages"].as_array().cloned().unwrap_or_default());
        messages.any(|message| {
            let mut words = String::new();
            texts(&message["content"], &mut words);
            parts.iter().all(|part| words.contains(part))
        })
    }
}

/// All words of a message, whatever they are in.
fn texts(content: &Value, words: &mut String) {
    match content {
        Value::String(text) => {
            words.push_str(text);
            words.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| texts(value, words)),
        Value::Object(fields) => {
            for name in ["text", "content"] {
                texts(fields.get(name).unwrap_or(&Value::Null), words);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn with_programs(home: &Path) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", home.join("programs").display())
}

/// The line of a prompt with which the model starts the rescue, which is told `steps`.
pub(crate) fn rescue(steps: &[String]) -> String {
    let call = json!({
        "description": "rescue", "subagent_type": "countersign:rescue", "prompt": steps.join("\n"),
    });
    format!("TOOLJSON Agent {call}")
}

/// The line of a prompt with which a model hands `task` in, as the rescue is told to.
pub(crate) fn hand_in(flags: &str, task: &str) -> String {
    let command = format!(
        "countersign task --background {flags} --prompt-file - <<'END_OF_TASK'\n{task}\nEND_OF_TASK"
    );
    format!("TOOLJSON Bash {}", json!({ "command": command }))
}

/// The line of a prompt with which a model waits for the report of the only job that there is.
pub(crate) fn wait() -> String {
    let command =
        json!({"command": "countersign wait-and-result task- --max-wait 480", "timeout": 600_000});
    format!("TOOLJSON Bash {command}")
}
