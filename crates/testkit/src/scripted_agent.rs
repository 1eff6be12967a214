//! An ACP agent that does what each prompt says, line by line, and keeps a tape of all that it is told.
//!
//! So a test has the agent say any message, at the moment that it chooses: the agent reads its input only where its
//! script waits for something that it is told, and a script that waits for a file reads nothing meanwhile. Lines of a
//! prompt that are no [`Step`] mean nothing; when all are done the turn ends. It never lives longer than [`LIFETIME`].

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

mod manner;
mod step;

pub use manner::{Deed, Manner};
pub use step::Step;

/// How long it lives at most, whatever happens: a test that fails leaves nothing behind for ever.
pub const LIFETIME: Duration = Duration::from_mins(5);
/// How often it looks whether a file is there.
const LOOK: Duration = Duration::from_millis(5);

/// Runs the agent with the words of its command line.
pub fn run(arguments: &[String]) -> ExitCode {
    std::thread::spawn(|| {
        let end = Instant::now() + LIFETIME;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            std::thread::park_timeout(left);
        }
        std::process::abort();
    });
    match Manner::from_arguments(arguments) {
        Ok(manner) => ScriptedAgent::new(manner).converse(),
        Err(usage) => {
            // Nobody may read it, which changes nothing.
            let _unheard = writeln!(io::stderr(), "{usage}");
            ExitCode::FAILURE
        }
    }
}

/// Why it comes to an end.
enum Over {
    /// Its script says so, or its input has ended.
    With(ExitCode),
    /// Nobody listens any more.
    Broken,
}

impl From<io::Error> for Over {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

struct ScriptedAgent {
    manner: Manner,
    session: String,
    /// Prompts that wait, by the ids of their requests as JSON.
    prompts: Vec<(String, String)>,
    /// The turn that is under way, by the id of its prompt.
    turn: Option<String>,
    is_cancelled: bool,
    /// The ids of its own requests that were answered, as JSON.
    answered: BTreeSet<String>,
}

impl ScriptedAgent {
    fn new(manner: Manner) -> Self {
        Self {
            manner,
            session: format!("scripted-{}", std::process::id()),
            prompts: Vec::new(),
            turn: None,
            is_cancelled: false,
            answered: BTreeSet::new(),
        }
    }

    fn converse(mut self) -> ExitCode {
        loop {
            let next = if self.prompts.is_empty() {
                self.hear()
            } else {
                let (id, script) = self.prompts.remove(0);
                self.play(id, &script)
            };
            match next {
                Ok(()) => {}
                Err(Over::With(code)) => return code,
                Err(Over::Broken) => return ExitCode::FAILURE,
            }
        }
    }

    /// Does what a prompt says.
    fn play(&mut self, id: String, script: &str) -> Result<(), Over> {
        if self.manner.is_two {
            let taken = json!({ "messageId": id.trim_matches('"') });
            self.respond(&id, &taken)?;
        }
        self.turn = Some(id);
        self.is_cancelled = false;
        for line in script.lines() {
            if let Some(step) = Step::read(line) {
                self.take(step)?;
            }
        }
        let reason = if self.is_cancelled {
            "cancelled"
        } else {
            "end_turn"
        };
        self.end(reason)?;
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<(), Over> {
        match step {
            Step::Say(line) => self.say(&line)?,
            Step::Fill(bytes) => {
                let id = "x".repeat(bytes);
                self.say(&format!(
                    r#"{{"jsonrpc":"2.0","id":"{id}","method":"_fill"}}"#
                ))?;
            }
            Step::AwaitReply(id) => {
                while !self.answered.contains(&id) {
                    self.hear()?;
                }
            }
            Step::AwaitCancel => {
                while !self.is_cancelled {
                    self.hear()?;
                }
            }
            Step::AwaitFile(name) => await_file(Path::new(&name)),
            Step::End(reason) => self.end(&reason)?,
            Step::Exit(code) => return Err(Over::With(ExitCode::from(code))),
        }
        Ok(())
    }

    /// Ends the turn, if it has not ended.
    fn end(&mut self, reason: &str) -> io::Result<()> {
        let Some(prompt) = self.turn.take() else {
            return Ok(());
        };
        if self.manner.is_two {
            return self.say(&update_of_two(reason));
        }
        self.respond(&prompt, &json!({ "stopReason": reason }))
    }

    /// Reads one message, and does what every agent does with it.
    fn hear(&mut self) -> Result<(), Over> {
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Err(Over::With(ExitCode::SUCCESS));
        }
        self.manner.record(&self.session, &line)?;
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            return Ok(());
        };
        let id = message.get("id").map(Value::to_string);
        match (message["method"].as_str(), id) {
            (Some(method), Some(id)) => self.answer(method, id, &message["params"]),
            (Some("session/cancel"), None) => {
                self.is_cancelled = true;
                Ok(())
            }
            (Some(_), None) => Ok(()),
            (None, id) => {
                self.answered.extend(id);
                Ok(())
            }
        }
    }

    fn answer(&mut self, method: &str, id: String, params: &Value) -> Result<(), Over> {
        match self.manner.deed_at(method) {
            Some(Deed::Silence) => return Ok(()),
            Some(Deed::Exit) => return Err(Over::With(ExitCode::FAILURE)),
            Some(Deed::Refuse) => {
                let error = json!({ "code": -32_002, "message": "there is no such session" });
                let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
                return Ok(self.say(&line)?);
            }
            Some(Deed::Await(file)) => await_file(&file),
            None => {}
        }
        match method {
            "initialize" => self.respond(&id, &self.manner.description())?,
            "session/new" => {
                let opened = json!({ "sessionId": self.session });
                self.respond(&id, &opened)?;
            }
            "session/resume" | "session/load" => {
                if let Some(session) = params["sessionId"].as_str() {
                    session.clone_into(&mut self.session);
                }
                self.respond(&id, &json!({}))?;
            }
            "session/prompt" => {
                let script = params["prompt"][0]["text"].as_str().unwrap_or_default();
                self.prompts.push((id, script.to_owned()));
            }
            _ => self.respond(&id, &json!({}))?,
        }
        Ok(())
    }

    /// Answers the request with the id `id`, which is JSON.
    fn respond(&self, id: &str, result: &Value) -> io::Result<()> {
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
    }

    fn say(&self, line: &str) -> io::Result<()> {
        let directory = std::env::current_dir().unwrap_or_default();
        let line = line
            .replace("$SESSION", &self.session)
            .replace("$CWD", &directory.to_string_lossy());
        let mut out = io::stdout().lock();
        out.write_all(format!("{line}\n").as_bytes())?;
        out.flush()
    }
}

/// The words with which a turn ends in version 2 of the protocol.
fn update_of_two(reason: &str) -> String {
    json!({
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {
            "sessionId": "$SESSION",
            "update": { "sessionUpdate": "state_update", "state": "idle", "stopReason": reason },
        },
    })
    .to_string()
}

/// Waits until a file is there.
fn await_file(file: &Path) {
    let end = Instant::now() + LIFETIME;
    while !file.exists() && Instant::now() < end {
        std::thread::park_timeout(LOOK);
    }
}

/// Adds a line to a file.
fn append(file: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(line.as_bytes())
}
