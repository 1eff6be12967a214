//! Says what a file holds, whatever that is: `hostile-agent --replay`.
//!
//! A prompt names the file. Its bytes are written as they are, but for the templates in them; what was written is kept
//! next to it (`.said`), and so is every response that comes back (`.heard`). Then a plain ask follows, and the turn ends
//! when that is answered: whatever was said before, somebody can still say no.

use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

use super::normal;
use super::play::append;

/// The words on the command line.
pub const REPLAY: &str = "--replay";

/// The command of the plain ask that ends a turn.
pub const LAST_COMMAND: &str = "echo last";

#[derive(Default)]
struct Replay {
    session: String,
    directory: String,
    /// The id of the last prompt, which is JSON, and the file that it named.
    prompt: String,
    file: PathBuf,
    /// How many prompts there were.
    prompts: usize,
}

pub(super) fn run() -> ExitCode {
    let mut replay = Replay {
        // Each process has a session of its own.
        session: format!("replayed-{}", std::process::id()),
        ..Replay::default()
    };
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str(&line) else {
            continue;
        };
        if replay.take(&line, &message).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

impl Replay {
    fn take(&mut self, line: &str, message: &Value) -> io::Result<()> {
        let id = message.get("id").map(Value::to_string).unwrap_or_default();
        match message.get("method").and_then(Value::as_str) {
            Some("initialize") => self.say(&normal::initialized(&1.into()), &id),
            Some("session/new") => {
                let directory = message.pointer("/params/cwd").and_then(Value::as_str);
                directory
                    .unwrap_or_default()
                    .clone_into(&mut self.directory);
                self.say(&normal::opened("$SESSION"), &id)
            }
            Some("session/prompt") => {
                let file = message
                    .pointer("/params/prompt/0/text")
                    .and_then(Value::as_str);
                self.file = PathBuf::from(file.unwrap_or_default());
                self.prompt = id;
                self.prompts += 1;
                self.replay()
            }
            Some("session/cancel") => self.say(&normal::ended("cancelled"), ""),
            Some(_) => Ok(()),
            None => {
                append(&self.beside("heard"), line)?;
                if id == self.last_ask() {
                    self.say(&normal::ended("end_turn"), "")?;
                }
                Ok(())
            }
        }
    }

    fn replay(&self) -> io::Result<()> {
        let bytes = self.fill_in(fs::read(&self.file)?, "");
        fs::write(self.beside("said"), &bytes)?;
        let mut out = io::stdout().lock();
        out.write_all(&bytes)?;
        // Where the file breaks off in a line, that line ends here.
        out.write_all(b"\n")?;
        out.flush()?;
        drop(out);
        let ask = normal::ask_with(&self.last_ask(), LAST_COMMAND, &normal::options());
        append(&self.beside("said"), "")?;
        append(&self.beside("said"), &ask)?;
        self.say(
            &ask.replace("call-1", &format!("last-{}", self.prompts)),
            "",
        )
    }

    /// The id of the ask that ends the turn, as JSON.
    fn last_ask(&self) -> String {
        format!("\"last-{}\"", self.prompts)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        Path::new(&self.file).with_extension(ending)
    }

    fn say(&self, template: &str, id: &str) -> io::Result<()> {
        let mut line = self.fill_in(template.as_bytes().to_vec(), id);
        line.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&line)?;
        out.flush()
    }

    /// In a file the id of the prompt stands within quotes, in the templates of a plain agent it brings them along.
    fn fill_in(&self, bytes: Vec<u8>, id: &str) -> Vec<u8> {
        let unquoted = self.prompt.trim_matches('"');
        [
            ("\"id\":$PROMPT", format!("\"id\":{}", self.prompt).as_str()),
            ("$PROMPT", unquoted),
            ("$ID", id),
            ("$SESSION", &self.session),
            ("$CWD", &self.directory),
        ]
        .into_iter()
        .fold(bytes, |bytes, (template, text)| {
            replaced(&bytes, template.as_bytes(), text.as_bytes())
        })
    }
}

/// The bytes, with every `old` made `new`.
fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(place) = rest.windows(old.len()).position(|window| window == old) {
        made.extend_from_slice(&rest[..place]);
        made.extend_from_slice(new);
        rest = &rest[place + old.len()..];
    }
    made.extend_from_slice(rest);
    made
}
