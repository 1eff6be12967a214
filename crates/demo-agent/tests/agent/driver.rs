//! A tiny client: writes requests, reads what comes back, and checks each of the agent's messages.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use countersign_testkit::AcpSchema;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// A user's home with a workspace in it.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    workspace: PathBuf,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a folder can be made");
        Self { folder, workspace }
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }
}

/// An agent that runs, initialized.
pub(crate) struct Driver {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    schema: AcpSchema,
    last_id: u64,
    /// The methods of the requests that have not been answered.
    open: HashMap<String, String>,
    workspace: PathBuf,
}

impl Driver {
    pub(crate) fn start(home: &Home, capabilities: &Value) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_demo-agent-for-tests"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("XDG_STATE_HOME", home.folder.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let output = BufReader::new(child.stdout.take().expect("it has an output"));
        let (send, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.expect("it writes UTF-8");
                let message = serde_json::from_str(&line).expect("it writes one message a line");
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut driver = Self {
            input: child.stdin.take(),
            child,
            messages,
            schema: AcpSchema::official(),
            last_id: 0,
            open: HashMap::new(),
            workspace: home.workspace.clone(),
        };
        let client = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        let agent = driver.call("initialize", &client);
        assert_eq!(agent["protocolVersion"], 1);
        driver
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the agent reads");
    }

    fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(crate) fn answer(&mut self, id: &Value, result: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Makes a request, and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        // Both kinds of id are allowed.
        let id = match self.last_id % 2 {
            0 => json!(self.last_id),
            _ => json!(format!("request-{}", self.last_id)),
        };
        self.open.insert(id.to_string(), method.to_owned());
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message, checked.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        let message = self
            .messages
            .recv_timeout(PATIENCE)
            .expect("the agent says something");
        let method = match message.get("method") {
            None => self.open.remove(&message["id"].to_string()),
            Some(_) => None,
        };
        self.schema.check(&message, method.as_deref());
        message
    }

    /// Waits for the response to a request, and returns it with what came before.
    #[track_caller]
    pub(crate) fn until_response(&mut self, id: &Value) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.next();
            if message.get("method").is_none() && message["id"] == *id {
                return (message, before);
            }
            before.push(message);
        }
    }

    /// Waits for a request of the agent's.
    #[track_caller]
    pub(crate) fn until_request(&mut self, method: &str) -> Value {
        loop {
            let message = self.next();
            if message["method"] == method && message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Makes a request that succeeds.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let (response, _) = self.until_response(&id);
        assert_eq!(response.get("error"), None, "{method} {params}");
        response["result"].clone()
    }

    /// Makes a request that is refused.
    #[track_caller]
    pub(crate) fn refused(&mut self, method: &str, params: &Value, code: i64) {
        let id = self.request(method, params);
        let (response, _) = self.until_response(&id);
        assert_eq!(
            response["error"]["code"], code,
            "{method} {params}: {response}"
        );
    }

    #[track_caller]
    pub(crate) fn new_session(&mut self) -> String {
        let place = json!({ "cwd": self.workspace, "mcpServers": [] });
        let opened = self.call("session/new", &place);
        let session = opened["sessionId"]
            .as_str()
            .expect("it has an id")
            .to_owned();
        // A person watches at that pace; tests do not.
        let pace = json!({ "sessionId": session, "configId": "pace", "value": "swift" });
        self.call("session/set_config_option", &pace);
        session
    }

    pub(crate) fn begin(&mut self, session: &str, text: &str) -> Value {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request(
            "session/prompt",
            &json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    /// Runs a turn. `answer` gets each of the agent's requests; those without an answer stay open.
    #[track_caller]
    pub(crate) fn prompt(
        &mut self,
        session: &str,
        text: &str,
        answer: impl FnMut(&str, &Value) -> Option<Value>,
    ) -> Turn {
        let id = self.begin(session, text);
        self.finish(&id, answer)
    }

    /// Follows a turn to its end.
    #[track_caller]
    pub(crate) fn finish(
        &mut self,
        prompt: &Value,
        mut answer: impl FnMut(&str, &Value) -> Option<Value>,
    ) -> Turn {
        let mut turn = Turn::default();
        loop {
            let message = self.next();
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            match message.get("id") {
                Some(id) if method.is_empty() && id == prompt => {
                    let reason = message["result"]["stopReason"].as_str();
                    reason
                        .expect("the turn ends for a reason")
                        .clone_into(&mut turn.stop_reason);
                    return turn;
                }
                Some(id) if !method.is_empty() => {
                    if let Some(result) = answer(&method, &message["params"]) {
                        self.answer(id, &result);
                    }
                    turn.asked.push(method);
                }
                Some(_) => {}
                None => turn.updates.push(message["params"]["update"].clone()),
            }
        }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child ends");
    }

    /// Ends its input, and waits until it has ended.
    pub(crate) fn hang_up(&mut self) -> ExitStatus {
        drop(self.input.take());
        self.child.wait().expect("a child can be waited for")
    }

    /// Tells it to end, and waits until it has.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        let id = Pid::from_child(&self.child);
        rustix::process::kill_process(id, Signal::TERM).expect("a child can be told to end");
        self.child.wait().expect("a child can be waited for")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Both fail where it has ended already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// What came of a turn.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) stop_reason: String,
    /// The methods of the agent's requests.
    pub(crate) asked: Vec<String>,
    updates: Vec<Value>,
}

impl Turn {
    /// Takes notifications as a turn, as they are when a session is loaded.
    pub(crate) fn of(messages: Vec<Value>) -> Self {
        let updates = messages
            .into_iter()
            .map(|message| message["params"]["update"].clone());
        Self {
            updates: updates.collect(),
            ..Self::default()
        }
    }

    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        let of_kind = self
            .updates
            .iter()
            .filter(|update| update["sessionUpdate"] == kind);
        of_kind.collect()
    }

    pub(crate) fn words(&self) -> String {
        self.text("agent_message_chunk")
    }

    pub(crate) fn thoughts(&self) -> String {
        self.text("agent_thought_chunk")
    }

    fn text(&self, kind: &str) -> String {
        let pieces = self.of_kind(kind).into_iter();
        pieces
            .filter_map(|piece| piece["content"]["text"].as_str())
            .collect()
    }

    /// The tool calls as they are in the end.
    pub(crate) fn tool_calls(&self) -> Vec<Value> {
        let mut calls: Vec<Value> = Vec::new();
        for update in &self.updates {
            match update["sessionUpdate"].as_str() {
                Some("tool_call") => calls.push(update.clone()),
                Some("tool_call_update") => {
                    let call = calls
                        .iter_mut()
                        .find(|call| call["toolCallId"] == update["toolCallId"]);
                    let call = call.expect("only what has begun is updated");
                    for (field, value) in update.as_object().expect("an update is an object") {
                        call[field] = value.clone();
                    }
                }
                _ => {}
            }
        }
        calls
    }
}
