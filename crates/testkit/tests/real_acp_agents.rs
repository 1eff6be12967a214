//! Each pinned ACP agent asks, and does what it was answered: nothing else in the tests is proof that a reply works.
//!
//! Spoken to in bare JSON over its pipes, so that these tests know nothing of how the product speaks.

#![expect(clippy::unwrap_used, reason = "a failure anywhere here fails the test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use countersign_testkit::process::{Launch, Program};
use countersign_testkit::{RealAgent, StubModel};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// How long an answer may take: a first start unpacks and migrates, and the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many lines are read ahead.
const READ_AHEAD: usize = 64;

/// A running agent, and what it says.
struct Spoken {
    agent: RealAgent,
    program: Program,
    stdin: ChildStdin,
    lines: mpsc::Receiver<String>,
    sent: u64,
}

/// How a turn went.
struct Turn {
    /// The `params` of each request for permission, oldest first.
    asked: Vec<Value>,
    stop_reason: String,
}

impl Spoken {
    fn start(agent: RealAgent, home: &Path, workspace: &Path, model: &StubModel) -> Self {
        let command = agent.prepare(home, model);
        let (program, stdin, stdout) = Launch::new(command.program, home.join("agent.log"))
            .inherit(&["PATH"])
            .arguments(command.arguments)
            .variables(command.variables)
            .directory(workspace)
            .start_piped()
            .unwrap();
        Self {
            agent,
            program,
            stdin,
            lines: lines(stdout),
            sent: 0,
        }
    }

    /// Sends a request and returns its result. Asks for permission on the way are refused or allowed as `kind` says.
    async fn call(&mut self, method: &str, params: Value, kind: &str) -> (Value, Vec<Value>) {
        let id = format!("test-{}", self.sent);
        self.sent += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut asked = Vec::new();
        loop {
            let message = self.receive(method).await;
            if message["id"] == json!(id) && message.get("method").is_none() {
                let result = message.get("result").cloned();
                let refused = || panic!("{:?} refuses {method}: {message}", self.agent);
                return (result.unwrap_or_else(refused), asked);
            }
            let (Some(asking), Some(its_id)) = (message["method"].as_str(), message.get("id"))
            else {
                continue;
            };
            let mut reply = json!({"jsonrpc": "2.0", "id": its_id});
            if asking == "session/request_permission" {
                let option = option(&message["params"], kind);
                reply["result"] = json!({"outcome": {"outcome": "selected", "optionId": option}});
                asked.push(message["params"].clone());
            } else {
                reply["error"] = json!({"code": -32601, "message": "no such method"});
            }
            self.send(&reply);
        }
    }

    /// Starts a session that asks, and returns its id.
    async fn open(&mut self, workspace: &Path) -> String {
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        });
        let (initialized, _) = self.call("initialize", params, "").await;
        assert_eq!(initialized["protocolVersion"], 1);
        let info = &initialized["agentInfo"];
        let identity = (
            info["name"].as_str().unwrap(),
            info["version"].as_str().unwrap(),
        );
        assert_eq!(identity, self.agent.identity());
        let params = json!({"cwd": workspace, "mcpServers": []});
        let (session, _) = self.call("session/new", params, "").await;
        let session = session["sessionId"].as_str().unwrap().to_owned();
        if let Some(mode) = self.agent.asking_mode() {
            let params = json!({"sessionId": session, "modeId": mode});
            self.call("session/set_mode", params, "").await;
        }
        session
    }

    /// Prompts for a shell command, and answers with the option of this kind.
    async fn run(&mut self, session: &str, command: &str, kind: &str) -> Turn {
        let text = self.agent.shell_directive(command);
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        let (result, asked) = self.call("session/prompt", params, kind).await;
        Turn {
            asked,
            stop_reason: result["stopReason"].as_str().unwrap().to_owned(),
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    async fn receive(&mut self, waiting_for: &str) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.recv()).await;
        let Ok(Some(line)) = line else {
            let errors = self.program.output();
            panic!("{:?} says nothing to {waiting_for}:\n{errors}", self.agent);
        };
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{:?} says {line:?}", self.agent))
    }
}

/// Reads in a thread of its own, which ends with the pipe.
fn lines(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Returns the id of the option of this kind.
fn option(params: &Value, kind: &str) -> String {
    let options = params["options"].as_array().unwrap();
    let option = options.iter().find(|option| option["kind"] == kind);
    option.unwrap()["optionId"].as_str().unwrap().to_owned()
}

/// Goes through a refusal and then, in the same session, a permission.
async fn does_what_it_is_answered(agent: RealAgent) {
    let home = tempfile::tempdir().unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path().canonicalize().unwrap();
    let model = StubModel::start().await;
    let mut spoken = Spoken::start(agent, home.path(), &workspace, &model);
    let session = spoken.open(&workspace).await;

    let refused = spoken
        .run(&session, "echo ran > refused.txt", "reject_once")
        .await;
    assert_eq!(refused.asked.len(), 1, "{:?}", refused.asked);
    assert_eq!(refused.stop_reason, agent.stop_reason_after_refusal());
    assert!(!workspace.join("refused.txt").exists());

    let allowed = spoken
        .run(&session, "echo ran > allowed.txt", "allow_once")
        .await;
    assert_eq!(allowed.asked.len(), 1, "{:?}", allowed.asked);
    assert_eq!(allowed.stop_reason, "end_turn");
    let written = std::fs::read_to_string(workspace.join("allowed.txt")).unwrap();
    assert_eq!(written, "ran\n");
    assert!(!workspace.join("refused.txt").exists());

    for asked in refused.asked.iter().chain(&allowed.asked) {
        let offered: Vec<_> = asked["options"].as_array().unwrap().iter().collect();
        let offered = offered
            .iter()
            .map(|option| (option["optionId"].as_str(), option["kind"].as_str()));
        let expected = agent.shell_options();
        let expected = expected
            .iter()
            .map(|option| (Some(option.id), Some(option.kind)));
        assert!(offered.eq(expected), "{asked}");
    }

    spoken.program.kill_tree();
    assert_eq!(spoken.program.descendants(), Vec::<u32>::new());
}

#[tokio::test]
async fn opencode_does_what_it_is_answered() {
    does_what_it_is_answered(RealAgent::Opencode).await;
}

#[tokio::test]
async fn claude_does_what_it_is_answered() {
    does_what_it_is_answered(RealAgent::Claude).await;
}

#[tokio::test]
async fn codex_does_what_it_is_answered() {
    does_what_it_is_answered(RealAgent::Codex).await;
}

#[tokio::test]
async fn gemini_does_what_it_is_answered() {
    does_what_it_is_answered(RealAgent::Gemini).await;
}
