//! Plays a script: reads the client's messages and does what the script says at each stage.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use rustix::process::Signal;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use super::mode::Mode;
use super::normal::SESSION;
use super::script::{Act, Script, Stage, Survivor};
use super::{APPROVED, LIFETIME, OUTLIVING, REPLAY, TOO_MUCH, puppet, replay};

/// The words on the command line that start a process that outlives the agent.
const LINGER: &str = "--linger";
const LINGER_STUBBORNLY: &str = "--linger-stubbornly";

/// How much is written at once where much is written.
const PIECE: usize = 64 * 1024;

/// What a play ends with, if not with the next message.
enum Exit {
    /// With an exit code.
    With(ExitCode),
    /// Nobody listens any more.
    Broken,
}

impl From<io::Error> for Exit {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// Runs the agent with the words of its command line.
pub fn run(arguments: &[String]) -> ExitCode {
    std::thread::spawn(die_of_age);
    let word = arguments.first().map_or("", String::as_str);
    if let [puppet::WORD, socket] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return puppet::run(Path::new(socket));
    }
    match (word, Mode::named(word)) {
        (LINGER, _) => leave(linger),
        (REPLAY, _) => replay::run(),
        (LINGER_STUBBORNLY, _) => deaf_to_term(|| leave(linger)),
        (_, Some(mode)) => Player::new(mode).play(),
        (_, None) => {
            tell(&format!("usage: hostile-agent <mode>; `{word}` is none"));
            ExitCode::FAILURE
        }
    }
}

struct Player {
    mode: Mode,
    script: Script,
    directory: PathBuf,
    /// The id of the request at hand, and of the last prompt; both are JSON.
    id: String,
    prompt: String,
    out: io::Stdout,
}

impl Player {
    fn new(mode: Mode) -> Self {
        Self {
            mode,
            script: mode.script(),
            directory: std::env::current_dir().unwrap_or_default(),
            id: "null".to_owned(),
            prompt: "null".to_owned(),
            out: io::stdout(),
        }
    }

    fn play(mut self) -> ExitCode {
        match self.converse() {
            Ok(code) | Err(Exit::With(code)) => code,
            Err(Exit::Broken) => ExitCode::FAILURE,
        }
    }

    fn converse(&mut self) -> Result<ExitCode, Exit> {
        self.enter(Stage::Start)?;
        let mut line = Vec::new();
        let mut input = io::stdin().lock();
        while input.read_until(b'\n', &mut line)? > 0 {
            if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                self.take(&message)?;
            }
            line.clear();
        }
        self.enter(Stage::End)?;
        Ok(ExitCode::SUCCESS)
    }

    fn take(&mut self, message: &Value) -> Result<(), Exit> {
        let id = message
            .get("id")
            .map_or("null".to_owned(), Value::to_string);
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            self.note_leave(message)?;
            return self.enter(Stage::Answer);
        };
        if message.get("id").is_some() {
            self.id = id;
        }
        match method {
            "initialize" => self.enter(Stage::Initialize),
            "session/new" | "session/load" | "session/resume" => {
                if let Some(directory) = message.pointer("/params/cwd").and_then(Value::as_str) {
                    self.directory = PathBuf::from(directory);
                }
                self.enter(Stage::New)
            }
            "session/prompt" => {
                self.prompt.clone_from(&self.id);
                self.enter(Stage::Prompt)
            }
            "session/cancel" => self.enter(Stage::Cancel),
            _ if message.get("id").is_some() => self.act(&Act::Say(super::normal::response(
                &Value::Object(serde_json::Map::new()),
            ))),
            _ => Ok(()),
        }
    }

    /// Writes down that an ask was allowed: whatever was selected and is no way to say no.
    fn note_leave(&self, response: &Value) -> io::Result<()> {
        let chosen = response.pointer("/result/outcome/optionId");
        let Some(chosen) = chosen.and_then(Value::as_str) else {
            return Ok(());
        };
        // The only option of these scripts that refuses; `no` is a yes where names lie.
        let refusal = if self.mode == Mode::LyingOptionNames {
            "allow_once"
        } else {
            "no"
        };
        if chosen == refusal {
            return Ok(());
        }
        append(&self.directory.join(APPROVED), &response.to_string())
    }

    fn enter(&mut self, stage: Stage) -> Result<(), Exit> {
        if self.script.departs_at(stage) {
            tell(&format!("hostile-agent: {} at {stage}", self.mode.name()));
        }
        for act in self.script.acts(stage).to_vec() {
            self.act(&act)?;
        }
        Ok(())
    }

    fn act(&mut self, act: &Act) -> Result<(), Exit> {
        match act {
            Act::Say(line) => self.write(format!("{}\n", self.fill_in(line)).as_bytes())?,
            Act::Write(text) => self.write(self.fill_in(text).as_bytes())?,
            Act::Bytes(bytes) => self.write(bytes)?,
            Act::Dribble(text) => {
                for piece in self.fill_in(text).as_bytes().chunks(7) {
                    self.write(piece)?;
                }
            }
            Act::Flood { line, count } => self.flood(line, *count)?,
            Act::Fill(size) => fill(&mut self.out, *size)?,
            Act::Complain(size) => fill(&mut io::stderr(), *size)?,
            Act::WriteForEver => {
                let line = self.fill_in(&super::normal::chunk("More. "));
                self.flood(&line, usize::MAX)?;
            }
            Act::Exit(code) => return Err(Exit::With(ExitCode::from(*code))),
            Act::Kill => {
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, Signal::KILL).map_err(io::Error::from)?;
            }
            Act::Hang => return Err(Exit::With(linger())),
            Act::HangThroughTerm => return Err(Exit::With(deaf_to_term(linger))),
            Act::CloseStdout => {
                let nowhere = File::options().write(true).open("/dev/null")?;
                rustix::stdio::dup2_stdout(&nowhere).map_err(io::Error::from)?;
            }
            Act::CloseStdin => {
                let nothing = File::open("/dev/null")?;
                rustix::stdio::dup2_stdin(&nothing).map_err(io::Error::from)?;
            }
            Act::Outlive { count, with } => {
                for _ in 0..*count {
                    self.outlive(*with)?;
                }
            }
            Act::Link => {
                let outside = self.directory.join("..");
                std::os::unix::fs::symlink(outside, self.directory.join("out"))?;
            }
            Act::OddFiles => self.make_odd_files()?,
        }
        Ok(())
    }

    /// Makes what other agents in the same directory may have made already.
    fn make_odd_files(&self) -> io::Result<()> {
        let path = |name: &str| self.directory.join(name);
        let made = Command::new("mkfifo")
            .arg(path("odd-pipe"))
            .stderr(Stdio::null())
            .status()?;
        let new = made.success();
        if new {
            std::fs::create_dir(path("odd-directory"))?;
            std::os::unix::fs::symlink("/dev/zero", path("odd-device"))?;
        }
        File::create(path("odd-huge"))?.set_len(TOO_MUCH as u64 * 100)?;
        std::fs::write(path("odd-large"), "A line of it.\n".repeat(70_000))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    fn flood(&mut self, line: &str, count: usize) -> io::Result<()> {
        let line = self.fill_in(line);
        let mut piece = Vec::with_capacity(2 * PIECE);
        for number in 0..count {
            piece.extend_from_slice(line.replace("$N", &number.to_string()).as_bytes());
            piece.push(b'\n');
            if piece.len() >= PIECE {
                self.write(&piece)?;
                piece.clear();
            }
        }
        self.write(&piece)
    }

    fn fill_in(&self, template: &str) -> String {
        let twisted = match self.prompt.parse::<f64>() {
            Ok(_) => format!("\"{}\"", self.prompt),
            Err(_) => "0".to_owned(),
        };
        // The directory is inside of JSON texts; a quote in its name would be its test's fault.
        template
            .replace("$ID", &self.id)
            .replace("$PROMPT", &self.prompt)
            .replace("$TWISTED", &twisted)
            .replace("$SESSION", SESSION)
            .replace("$CWD", &self.directory.to_string_lossy())
    }

    /// Starts a process that leaves this one's session and group, and writes its id down.
    fn outlive(&self, with: Survivor) -> io::Result<()> {
        let word = match with {
            Survivor::Plain | Survivor::HoldingOutput => LINGER,
            Survivor::Stubborn => LINGER_STUBBORNLY,
        };
        let stdout = match with {
            Survivor::Plain | Survivor::Stubborn => Stdio::null(),
            Survivor::HoldingOutput => Stdio::inherit(),
        };
        let child = Command::new(std::env::current_exe()?)
            .arg(word)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn()?;
        append(&self.directory.join(OUTLIVING), &child.id().to_string())
    }
}

/// Does nothing any more.
fn linger() -> ExitCode {
    loop {
        std::thread::park();
    }
}

/// Kills this process when its time is over, also where it waits for somebody who reads or writes.
fn die_of_age() {
    let end = Instant::now() + LIFETIME;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, Signal::KILL).expect("a process can kill itself");
}

/// Does `deed` in a session and a group of its own.
fn leave(deed: impl FnOnce() -> ExitCode) -> ExitCode {
    rustix::process::setsid().expect("who leads no group can leave its session");
    deed()
}

/// Does `deed` with SIGTERM caught, which is as good as ignored.
fn deaf_to_term(deed: impl FnOnce() -> ExitCode) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime can be built");
    let _inside = runtime.enter();
    let _caught = signal(SignalKind::terminate()).expect("SIGTERM can be caught");
    tell("hostile-agent: deaf to SIGTERM");
    deed()
}

fn fill(out: &mut impl Write, size: usize) -> io::Result<()> {
    let piece = vec![b'a'; PIECE];
    let mut left = size;
    while left > 0 {
        let now = left.min(PIECE);
        out.write_all(&piece[..now])?;
        left -= now;
    }
    out.flush()
}

pub(super) fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

fn tell(line: &str) {
    // Nobody may read it, which changes nothing.
    let _unheard = writeln!(io::stderr(), "{line}");
}
