//! An editor as the proxy meets one: it starts the proxy as its agent, speaks the protocol, and keeps what it was told.
//! What passes between the proxy and the agent is recorded on the way.

use std::path::{Path, PathBuf};

use countersign_testkit::process::Launch;
use countersign_testkit::test_server::PATIENCE;
use countersign_testkit::{AcpSchema, Program, TestServer};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// What the proxy is started with.
pub(crate) struct Setting {
    /// More options of the proxy's.
    pub(crate) options: Vec<String>,
    /// More variables.
    pub(crate) variables: Vec<(String, String)>,
    /// The directory of the session.
    pub(crate) directory: PathBuf,
}

impl Setting {
    /// In the workspace of `server`, which is found by its data directory.
    pub(crate) fn of(server: &TestServer) -> Self {
        let data = server.data().to_string_lossy().into_owned();
        Self {
            options: Vec::new(),
            variables: vec![("COUNTERSIGN_DATA".to_owned(), data)],
            directory: server.workspace().to_owned(),
        }
    }

    pub(crate) async fn open(self) -> Editor {
        let (tapes, mut editor) = self.start(&recorded_demo_agent());
        editor.tapes = Some(tapes);
        editor.greet().await;
        editor
    }

    /// Starts the proxy before the shell command `agent`, in which `$TAPES` is a directory to record into.
    pub(crate) fn start(self, agent: &str) -> (TempDir, Editor) {
        let tapes = tempfile::tempdir().expect("a temporary directory can be made");
        let (program, input, output) = Launch::new(BINARY, tapes.path().join("proxy.log"))
            .inherit(&["PATH"])
            .variable("HOME", tapes.path())
            .variable("TAPES", tapes.path())
            .variables(self.variables)
            .directory(&self.directory)
            .arguments(["acp-proxy"])
            .arguments(self.options)
            .arguments(["--", "sh", "-c", agent])
            .start_piped()
            .expect("the proxy can be started");
        let editor = Editor {
            program,
            input: Some(ChildStdin::from_std(input).expect("it is a pipe")),
            output: BufReader::new(ChildStdout::from_std(output).expect("it is a pipe")),
            directory: self.directory,
            session: String::new(),
            last_id: 0,
            heard: Vec::new(),
            sent: Vec::new(),
            tapes: None,
        };
        (tapes, editor)
    }
}

/// The demo agent between two recorders.
fn recorded_demo_agent() -> String {
    format!("tee \"$TAPES/to_agent\" | '{BINARY}' demo-agent | tee \"$TAPES/from_agent\"")
}

/// An editor with one session.
pub(crate) struct Editor {
    pub(crate) program: Program,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: BufReader<ChildStdout>,
    directory: PathBuf,
    pub(crate) session: String,
    last_id: u64,
    /// Every line that it was told, and that it said.
    pub(crate) heard: Vec<String>,
    pub(crate) sent: Vec<String>,
    tapes: Option<TempDir>,
}

impl Editor {
    async fn greet(&mut self) {
        let abilities = json!({ "elicitation": { "form": {} } });
        let greeting = json!({ "protocolVersion": 1, "clientCapabilities": abilities });
        self.request("initialize", greeting).await;
        self.begin_session().await;
    }

    /// Begins another session.
    pub(crate) async fn begin_session(&mut self) {
        let wish = json!({ "cwd": self.directory, "mcpServers": [] });
        let begun = self.request("session/new", wish).await;
        let session = begun["result"]["sessionId"].as_str();
        self.session = session.map(str::to_owned).expect("a session has an id");
    }

    /// Sends a request and waits for its response.
    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.response_to(id).await
    }

    async fn send_request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request).await;
        id
    }

    pub(crate) async fn response_to(&mut self, id: u64) -> Value {
        self.next_that(|message| message.get("method").is_none() && message["id"] == id)
            .await
    }

    /// Prompts the agent, and returns the request's id.
    pub(crate) async fn prompt(&mut self, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": self.session, "prompt": prompt });
        self.send_request("session/prompt", params).await
    }

    pub(crate) async fn cancel(&mut self) {
        let params = json!({ "sessionId": self.session });
        let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params });
        self.send(&cancel).await;
    }

    /// Waits until the agent asks, and returns the request.
    pub(crate) async fn asked(&mut self) -> Value {
        self.next_that(|message| {
            let method = message["method"].as_str().unwrap_or_default();
            method == "session/request_permission" || method == "elicitation/create"
        })
        .await
    }

    /// Answers the agent's request with one of its options.
    pub(crate) async fn pick(&mut self, request: &Value, option: &str) {
        let outcome = json!({ "outcome": "selected", "optionId": option });
        self.reply(request, json!({ "outcome": outcome })).await;
    }

    pub(crate) async fn reply(&mut self, request: &Value, result: Value) {
        let reply = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.send(&reply).await;
    }

    /// Waits until it is told that the dialog of `request` is over.
    pub(crate) async fn dialog_is_closed(&mut self, request: &Value) {
        let id = request["id"].clone();
        self.next_that(|message| {
            message["method"] == "$/cancel_request" && message["params"]["requestId"] == id
        })
        .await;
    }

    pub(crate) async fn next_that(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.next_line().await;
            let message: Value = serde_json::from_str(&line).expect("the agent writes JSON");
            if wanted(&message) {
                return message;
            }
        }
    }

    async fn next_line(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.output.read_line(&mut line));
        let read = read.await.unwrap_or_else(|_| panic!("{}", self.story()));
        assert!(
            read.expect("it can be read") > 0,
            "the agent ended: {}",
            self.story()
        );
        self.heard.push(line.clone());
        line
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let input = self.input.as_mut().expect("its input is open");
        input
            .write_all(line.as_bytes())
            .await
            .expect("the proxy reads");
        input.flush().await.expect("the proxy reads");
        self.sent.push(line);
    }

    /// Closes the agent's input and waits until everything has ended; returns the exit code.
    pub(crate) async fn close(&mut self) -> Option<i32> {
        self.input = None;
        while self
            .output
            .read_line(&mut String::new())
            .await
            .expect("it can be read")
            > 0
        {}
        self.program.wait_for_exit(PATIENCE).await.code()
    }

    pub(crate) fn tape(&self, name: &str) -> String {
        let tapes = self.tapes.as_ref().expect("it is recorded");
        std::fs::read_to_string(tapes.path().join(name)).unwrap_or_default()
    }

    /// What reached the agent in response to its request `id`.
    pub(crate) fn replies_to(&self, id: &Value) -> Vec<Value> {
        let tape = self.tape("to_agent");
        let lines = tape
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        lines
            .map(|line| serde_json::from_str::<Value>(line).expect("a line is a message"))
            .filter(|message| message.get("method").is_none() && message["id"] == *id)
            .collect()
    }

    /// What the proxy itself said, on either side: all that neither the editor nor the agent did.
    pub(crate) fn proxys_own(&self) -> Vec<Value> {
        let agents = self.tape("from_agent");
        let to_editor = self
            .heard
            .iter()
            .filter(|line| !agents.contains(line.as_str()));
        let to_agent = self.tape("to_agent");
        let to_agent: Vec<String> = to_agent
            .split_inclusive('\n')
            .filter(|line| !self.sent.iter().any(|sent| sent == line))
            .map(str::to_owned)
            .collect();
        let own = to_editor.cloned().chain(to_agent);
        own.map(|line| serde_json::from_str(&line).expect("it is a message"))
            .collect()
    }

    /// Checks that all that the proxy itself said is in the protocol, and how many messages that were.
    #[track_caller]
    pub(crate) fn check_proxys_own(&self, count: usize) {
        let schema = AcpSchema::official();
        let own = self.proxys_own();
        for message in &own {
            let answers = self.method_of(&message["id"]);
            schema.check(message, answers.as_deref());
        }
        assert_eq!(own.len(), count, "{own:#?}");
    }

    fn method_of(&self, id: &Value) -> Option<String> {
        let agents = self.tape("from_agent");
        agents
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|message| message["id"] == *id && message["method"].is_string())
            .and_then(|message| message["method"].as_str().map(str::to_owned))
    }

    /// What the proxy logged.
    pub(crate) fn log(&self) -> String {
        self.program.output()
    }

    fn story(&self) -> String {
        let heard = self.heard.iter().rev().take(5).cloned().collect::<String>();
        format!("the log:\n{}\nheard last:\n{heard}", self.log())
    }
}

/// Whether the file is there.
pub(crate) fn is_made(directory: &Path, name: &str) -> bool {
    directory.join(name).exists()
}
