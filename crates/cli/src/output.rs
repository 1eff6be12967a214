//! The terminal: the only place that writes to it.
//!
//! Data goes to standard output, everything else to standard error. Colour is written where a person
//! looks and left out elsewhere. Callers pass text of agents through `visible` first; JSON is made
//! harmless here, without changing what it means.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use countersign_core::visible::is_deceptive;
use serde_json::Value;

/// Where a command writes.
pub struct Output {
    stdout: Sink,
    stderr: Sink,
    /// Whether the last thing on standard output was no whole line.
    mid_line: bool,
    width: usize,
}

struct Sink {
    to: Box<dyn Write + Send>,
    colour: bool,
    terminal: bool,
}

impl Sink {
    fn write(&mut self, text: &str) -> io::Result<()> {
        if self.colour {
            self.to.write_all(text.as_bytes())?;
        } else {
            write!(self.to, "{}", strip_str(text))?;
        }
        self.to.flush()
    }
}

impl Output {
    /// This process's own.
    pub fn of_this_process() -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        Self {
            stdout: Sink {
                colour: AutoStream::choice(&stdout) != ColorChoice::Never,
                terminal: stdout.is_terminal(),
                to: Box::new(stdout),
            },
            stderr: Sink {
                colour: AutoStream::choice(&stderr) != ColorChoice::Never,
                terminal: stderr.is_terminal(),
                to: Box::new(stderr),
            },
            mid_line: false,
            width: rustix::termios::tcgetwinsize(rustix::stdio::stdout())
                .ok()
                .filter(|size| size.ws_col > 0)
                .map_or(usize::MAX, |size| usize::from(size.ws_col)),
        }
    }

    /// Plain text into two writers that are no terminals.
    pub fn plain(stdout: Box<dyn Write + Send>, stderr: Box<dyn Write + Send>) -> Self {
        let sink = |to| Sink {
            to,
            colour: false,
            terminal: false,
        };
        Self {
            stdout: sink(stdout),
            stderr: sink(stderr),
            mid_line: false,
            width: usize::MAX,
        }
    }

    /// How many columns there are; without end where nobody looks.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether a person reads all of what is written; their keyboard may be there all the same when
    /// standard input comes from elsewhere.
    pub(crate) fn is_read_by_a_person(&self) -> bool {
        self.stdout.terminal && self.stderr.terminal
    }

    /// Whether a person reads what is said and can be asked back.
    pub(crate) fn talks_to_a_person(&self) -> bool {
        self.stderr.terminal && io::stdin().is_terminal()
    }

    /// Writes data as it comes, without an end of line.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        if let Some(last) = text.chars().last() {
            self.mid_line = last != '\n';
        }
        self.stdout.write(text)
    }

    /// Ends a line of data that was begun.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        if self.mid_line {
            self.say("\n")?;
        }
        Ok(())
    }

    /// Writes a line of data, or several.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.stdout.write(&format!("{text}\n"))
    }

    /// Tells the person something that is no data.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.ask(&format!("{text}\n"))
    }

    /// Tells the person something and stays on the line, for what they will type.
    pub(crate) fn ask(&mut self, text: &str) -> io::Result<()> {
        if self.stdout.terminal {
            self.end_line()?;
        }
        self.stderr.write(text)
    }

    /// Writes JSON that came from the API: as it is, or easy to read on a terminal.
    pub(crate) fn json(&mut self, raw: &str) -> io::Result<()> {
        let pretty = self
            .stdout
            .terminal
            .then(|| serde_json::from_str::<Value>(raw).ok())
            .flatten()
            .map(|value| harmless(&format!("{value:#}")));
        self.json_line(pretty.as_deref().unwrap_or(raw))
    }

    /// Writes JSON that came from the API, as it is.
    pub(crate) fn json_line(&mut self, raw: &str) -> io::Result<()> {
        // Not through `Sink::write`: what looks like an escape sequence in a program's input stays.
        let end = if raw.ends_with('\n') { "" } else { "\n" };
        if self.stdout.terminal {
            write!(self.stdout.to, "{}{end}", harmless(raw))?;
        } else {
            write!(self.stdout.to, "{raw}{end}")?;
        }
        self.stdout.to.flush()
    }
}

/// The same JSON with every character that could fool a reader written as an escape.
///
/// Such characters only occur within JSON's strings, where `\u202e` means the character itself.
fn harmless(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if is_deceptive(character) && character != '\r' {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").expect("a String takes every write");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_on_a_terminal_means_the_same_and_cannot_fool_a_reader() {
        let value = json!({"command": "rm \u{202e}x\u{9b}31m \u{e0041}\u{1b}[2K grüße"});
        let shown = harmless(&value.to_string());
        assert!(!shown.contains(is_deceptive), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
