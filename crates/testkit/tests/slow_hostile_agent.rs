//! Every mode of the hostile agent starts, comes to what it does wrong in its first conversation, and can be ended.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use countersign_testkit::hostile_agent::{
    APPROVED, FLOOD, Mode, OUTLIVING, SESSION, Stage, TOO_MUCH,
};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

/// How long anything may take: some modes write 100 MB, and the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// What is heard of an agent.
#[derive(Debug)]
enum Heard {
    /// It wants leave for something; the id as JSON.
    Ask(Value),
    /// A line on standard error.
    Complaint(String),
    /// Its output has ended; so many bytes and lines were in it.
    Ended { bytes: usize, lines: usize },
}

struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    heard: Receiver<Heard>,
    /// Its two outputs are heard in no order: it may have asked before it said anything else.
    has_asked: bool,
}

impl Agent {
    fn start(mode: Mode, directory: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hostile-agent"))
            .arg(mode.name())
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (send, heard) = mpsc::channel();
        let from_output = send.clone();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output.expect("it has an output"));
            let (mut bytes, mut lines, mut line) = (0, 0, Vec::new());
            // Of a line that is too long only the beginning is looked at.
            while let Ok(size @ 1..) = output.by_ref().take(1 << 16).read_until(b'\n', &mut line) {
                bytes += size;
                lines += usize::from(line.ends_with(b"\n"));
                let message: Value = serde_json::from_slice(&line).unwrap_or_default();
                if message["method"] == "session/request_permission" {
                    drop(from_output.send(Heard::Ask(message["id"].clone())));
                }
                line.clear();
            }
            drop(from_output.send(Heard::Ended { bytes, lines }));
        });
        std::thread::spawn(move || {
            let mut errors = BufReader::new(errors.expect("it has an output for errors"));
            let mut line = Vec::new();
            while let Ok(1..) = errors.by_ref().take(1 << 16).read_until(b'\n', &mut line) {
                if line.ends_with(b"\n") {
                    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                    drop(send.send(Heard::Complaint(line)));
                }
                line.clear();
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            heard,
            has_asked: false,
        }
    }

    /// Writes a message; an agent that is gone or deaf does not take it.
    fn send(&mut self, message: &Value) {
        if let Some(input) = &mut self.input {
            drop(input.write_all(format!("{message}\n").as_bytes()));
        }
    }

    fn open_a_session(&mut self, directory: &Path) {
        let request = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let client = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        self.send(&request(json!(0), "initialize", client));
        let place = json!({ "cwd": directory, "mcpServers": [] });
        self.send(&request(json!(1), "session/new", place));
        let text = json!([{ "type": "text", "text": "hello" }]);
        let prompt = json!({ "sessionId": SESSION, "prompt": text });
        self.send(&request(json!("turn_1"), "session/prompt", prompt));
    }

    /// Answers asks with no until `wanted` is heard.
    fn until<T>(&mut self, mode: Mode, mut wanted: impl FnMut(&Heard) -> Option<T>) -> T {
        loop {
            let heard = self.heard.recv_timeout(PATIENCE);
            let heard = heard.unwrap_or_else(|error| panic!("{mode:?}: {error}"));
            self.has_asked |= matches!(heard, Heard::Ask(_));
            if let Some(found) = wanted(&heard) {
                return found;
            }
            if let Heard::Ask(id) = heard {
                let no = json!({ "outcome": { "outcome": "selected", "optionId": "no" } });
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": no }));
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Kills what was meant to outlive the agent, and returns how many there were.
fn kill_outliving(directory: &Path) -> usize {
    let listed = std::fs::read_to_string(directory.join(OUTLIVING)).unwrap_or_default();
    let ids: Vec<i32> = listed
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    for id in &ids {
        let id = Pid::from_raw(*id).expect("a process has an id");
        rustix::process::kill_process(id, Signal::KILL).expect("it outlives the agent");
    }
    ids.len()
}

#[test]
fn every_mode_comes_to_what_it_does_wrong() {
    for mode in Mode::ALL.iter().copied() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("workspace");
        std::fs::create_dir(&directory).unwrap();
        let mut agent = Agent::start(mode, &directory);
        agent.open_a_session(&directory);
        if let Some(stage) = mode.departs_at() {
            match stage {
                Stage::Cancel => {
                    let session = json!({ "sessionId": SESSION });
                    let cancel =
                        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": session });
                    agent.send(&cancel);
                }
                Stage::End => drop(agent.input.take()),
                Stage::Start | Stage::Initialize | Stage::New | Stage::Prompt | Stage::Answer => {}
            }
            let said = format!("hostile-agent: {} at {stage}", mode.name());
            agent.until(mode, |heard| {
                matches!(heard, Heard::Complaint(line) if *line == said).then_some(())
            });
        }
        let outliving = if mode == Mode::Grandchildren {
            3
        } else {
            usize::from(matches!(mode, Mode::StubbornGrandchild | Mode::HeldOutput))
        };
        if outliving > 0 && !agent.has_asked {
            // It asks when all of them have started.
            agent.until(mode, |heard| matches!(heard, Heard::Ask(_)).then_some(()));
        }
        drop(agent);
        assert_eq!(kill_outliving(&directory), outliving, "{mode:?}");
        assert!(!directory.join(APPROVED).exists(), "{mode:?}");
    }
}

#[test]
fn a_plain_conversation_has_one_ask_and_ends_with_the_input() {
    let home = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(Mode::Plain, home.path());
    agent.open_a_session(home.path());
    agent.until(Mode::Plain, |heard| {
        matches!(heard, Heard::Ask(_)).then_some(())
    });
    let yes = json!({ "outcome": { "outcome": "selected", "optionId": "yes" } });
    agent.send(&json!({ "jsonrpc": "2.0", "id": 7, "result": yes }));
    drop(agent.input.take());
    // Initialized, opened, three in the prompt, two after the answer.
    let lines = agent.until(Mode::Plain, |heard| match heard {
        Heard::Ended { lines, .. } => Some(*lines),
        Heard::Ask(_) | Heard::Complaint(_) => None,
    });
    assert_eq!(lines, 7);
    assert!(agent.child.wait().unwrap().success());
    let approved = std::fs::read_to_string(home.path().join(APPROVED)).unwrap();
    assert_eq!(approved.lines().count(), 1, "leave is written down");
}

#[test]
fn what_is_too_much_is_as_much_as_is_said() {
    for (mode, least_bytes, least_lines) in [
        (Mode::HugeLine, TOO_MUCH, 5),
        (Mode::NoLineBreak, TOO_MUCH, 5),
        (Mode::UpdateFlood, 10 * FLOOD, FLOOD),
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut agent = Agent::start(mode, home.path());
        agent.open_a_session(home.path());
        drop(agent.input.take());
        let (bytes, lines) = agent.until(mode, |heard| match heard {
            Heard::Ended { bytes, lines } => Some((*bytes, *lines)),
            Heard::Ask(_) | Heard::Complaint(_) => None,
        });
        assert!(
            bytes >= least_bytes && lines >= least_lines,
            "{mode:?}: {bytes}, {lines}"
        );
    }
}
