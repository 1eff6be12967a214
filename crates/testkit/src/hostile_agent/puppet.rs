//! An agent that says what a test says, word for word, and tells the test everything that it hears.
//!
//! Everything that it hears is checked against the protocol's own schema. It opens a session by itself; from then on its two streams are those of a Unix socket that the test listens on. Like
//! any agent it outlives the server, so a test can kill that in the middle of anything.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, Lines};
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::test_server::PATIENCE;
use crate::{AcpSchema, peers};

/// The word on the command line that makes an agent a puppet; the socket follows.
pub(super) const WORD: &str = "--puppet";

/// Runs the agent.
pub(super) fn run(socket: &Path) -> ExitCode {
    match play(socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn play(socket: &Path) -> io::Result<()> {
    let strings = UnixStream::connect(socket)?;
    let mut heard = strings.try_clone()?;
    let session = format!("puppet-{}", std::process::id());
    let directory = std::env::current_dir()?.to_string_lossy().into_owned();
    let said = session.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(strings).lines().map_while(Result::ok) {
            let line = line.replace("$SESSION", &said).replace("$CWD", &directory);
            if say(&line).is_err() {
                return;
            }
        }
    });
    for line in io::stdin().lock().lines() {
        let line = line?;
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": 1,
                "agentCapabilities": { "loadSession": true, "sessionCapabilities": { "resume": {} } },
            }),
            Some("session/new" | "session/load" | "session/resume") => {
                json!({ "sessionId": session })
            }
            Some(_) | None => {
                heard.write_all(format!("{line}\n").as_bytes())?;
                continue;
            }
        };
        let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        say(&reply.to_string())?;
    }
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}

/// Where a puppet is waited for.
#[derive(Debug)]
pub struct Strings {
    directory: TempDir,
    listener: UnixListener,
}

/// The test's end of a puppet.
#[derive(Debug)]
pub struct Puppet {
    heard: Lines<tokio::io::BufReader<OwnedReadHalf>>,
    said: OwnedWriteHalf,
    /// What was heard and not asked for yet.
    waiting: Vec<Value>,
    /// The methods of its requests, by their ids.
    asked: HashMap<String, String>,
    schema: AcpSchema,
}

impl Strings {
    /// Waits for puppets.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let listener = UnixListener::bind(directory.path().join("strings"))
            .expect("a socket can be made in a new directory");
        Self {
            directory,
            listener,
        }
    }

    /// The program of the agent, and its arguments.
    pub fn command(&self) -> (PathBuf, Vec<String>) {
        let socket = self.directory.path().join("strings");
        let arguments = vec![WORD.to_owned(), socket.display().to_string()];
        (peers::hostile_agent(), arguments)
    }

    /// Takes the strings of the next agent that is started.
    pub async fn take(&self) -> Puppet {
        let taken = tokio::time::timeout(PATIENCE, self.listener.accept()).await;
        let (stream, _) = taken
            .expect("the agent is started")
            .expect("it can be heard");
        let (heard, said) = stream.into_split();
        Puppet {
            heard: tokio::io::BufReader::new(heard).lines(),
            said,
            waiting: Vec::new(),
            asked: HashMap::new(),
            schema: AcpSchema::official(),
        }
    }
}

impl Default for Strings {
    fn default() -> Self {
        Self::new()
    }
}

impl Puppet {
    /// Has the agent say a line; `$SESSION` and `$CWD` are filled in.
    pub async fn say(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            self.asked.insert(id.to_string(), method.to_owned());
        }
        self.say_line(&message.to_string()).await;
    }

    /// Has the agent say a line, whatever it is.
    pub async fn say_line(&mut self, line: &str) {
        let said = self.said.write_all(format!("{line}\n").as_bytes()).await;
        said.expect("the agent listens");
    }

    /// Has the agent make a request.
    pub async fn request(&mut self, id: i64, method: &str, params: &Value) {
        let mut params = params.clone();
        params["sessionId"] = json!("$SESSION");
        let request = json!({ "id": id, "method": method, "params": params });
        self.say(&request).await;
    }

    /// Has the agent tell something.
    pub async fn update(&mut self, update: &Value) {
        let params = json!({ "sessionId": "$SESSION", "update": update });
        let said = json!({ "method": "session/update", "params": params });
        self.say(&said).await;
    }

    /// Waits for a message that is the one wanted, and returns it.
    pub async fn hear(&mut self, description: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(position) = self.waiting.iter().position(&wanted) {
            return self.waiting.remove(position);
        }
        let heard = async {
            loop {
                let line = self.heard.next_line().await.expect("the agent is heard");
                let line = line.unwrap_or_else(|| panic!("the agent ended before {description}"));
                let message: Value = serde_json::from_str(&line).expect("it is told JSON");
                let answers = self.asked.get(&message["id"].to_string());
                self.schema.check(&message, answers.map(String::as_str));
                if wanted(&message) {
                    return message;
                }
                self.waiting.push(message);
            }
        };
        let heard = tokio::time::timeout(PATIENCE, heard).await;
        heard.unwrap_or_else(|_| panic!("not in time: {description}"))
    }

    /// Waits for the response to the request `id`.
    pub async fn response(&mut self, id: i64) -> Value {
        let description = format!("the response to {id}");
        self.hear(&description, |message| {
            message["id"] == id && message.get("method").is_none()
        })
        .await
    }

    /// Waits for the prompt that begins a turn, and returns its id.
    pub async fn prompted(&mut self) -> Value {
        let prompt = self
            .hear("a prompt", |message| message["method"] == "session/prompt")
            .await;
        prompt["id"].clone()
    }

    /// Ends the turn that began with the prompt `id`.
    pub async fn end_turn(&mut self, id: &Value, reason: &str) {
        let ended = json!({ "id": id, "result": { "stopReason": reason } });
        self.say(&ended).await;
    }

    /// Whether a response to `id` has come that nobody waited for.
    pub fn has_heard(&self, id: i64) -> bool {
        self.waiting.iter().any(|message| message["id"] == id)
    }
}
