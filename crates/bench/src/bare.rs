//! The baseline of a host: the same agent on the same kind of socket, read by a loop that parses each line and writes
//! it down, and does nothing else.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

/// How long an agent may be silent.
const PATIENCE: Duration = Duration::from_mins(1);

/// An agent without a host. Dropping it kills it.
pub(crate) struct BareAgent {
    child: Child,
    input: UnixStream,
    output: BufReader<UnixStream>,
    session: Value,
}

impl BareAgent {
    /// Starts an agent and opens a session in `directory`.
    pub(crate) fn start(
        program: &Path,
        arguments: &[&str],
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let (input, its_input) = UnixStream::pair().context("failed to make a pair of sockets")?;
        let (output, its_output) =
            UnixStream::pair().context("failed to make a pair of sockets")?;
        output.set_read_timeout(Some(PATIENCE))?;
        let child = Command::new(program)
            .args(arguments.iter().map(OsStr::new))
            .current_dir(directory)
            .stdin(OwnedFd::from(its_input))
            .stdout(OwnedFd::from(its_output))
            .stderr(Stdio::null())
            .spawn()
            .context("failed to start an agent")?;
        let mut agent = Self {
            child,
            input,
            output: BufReader::new(output),
            session: Value::Null,
        };
        let abilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false } });
        agent.request(
            "initialize",
            &json!({ "protocolVersion": 1, "clientCapabilities": abilities }),
        )?;
        let opened = agent.request(
            "session/new",
            &json!({ "cwd": directory, "mcpServers": [] }),
        )?;
        agent.session = opened["result"]["sessionId"].clone();
        Ok(agent)
    }

    /// Says `text`, and reads, parses and writes each line until the turn ends; returns how long that took.
    pub(crate) fn prompt(&mut self, text: &str, file: &Path) -> anyhow::Result<Duration> {
        let mut file = BufWriter::new(File::create(file).context("failed to make a file")?);
        let params =
            json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        let began = Instant::now();
        self.send("session/prompt", &params)?;
        let mut line = Vec::new();
        loop {
            let message = self.read(&mut line)?;
            serde_json::to_writer(&mut file, &message).context("failed to write a line")?;
            file.write_all(b"\n").context("failed to write a line")?;
            if message.get("id").is_some() {
                break;
            }
        }
        let file = file
            .into_inner()
            .context("failed to write the last lines")?;
        file.sync_data().context("failed to make a file durable")?;
        Ok(began.elapsed())
    }

    fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.send(method, params)?;
        let mut line = Vec::new();
        loop {
            let message = self.read(&mut line)?;
            if message["id"] == method {
                return Ok(message);
            }
        }
    }

    fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        let request = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
        self.input
            .write_all(format!("{request}\n").as_bytes())
            .context("the agent takes nothing")
    }

    fn read(&mut self, line: &mut Vec<u8>) -> anyhow::Result<Value> {
        line.clear();
        let read = self
            .output
            .read_until(b'\n', line)
            .context("the agent says nothing")?;
        ensure!(read > 0, "the agent ended");
        serde_json::from_slice(line).context("the agent says what is no JSON")
    }
}

impl Drop for BareAgent {
    fn drop(&mut self) {
        // One that has ended by itself is as good as killed.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
