//! A program that a test starts: its output in a file, and nothing of it left when it is dropped.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::eventually;

pub(crate) mod tree;

/// Returns every live process that has `text`, such as a directory of its own, in its environment or on its command
/// line, and what those started.
pub fn marked(text: &str) -> Vec<u32> {
    let mark = tree::Mark::containing(text);
    mark.processes(None).into_iter().collect()
}

/// What a process has in memory and in no file, in KiB; nothing once it is gone.
pub fn anonymous_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let count = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    count.unwrap_or_default()
}

/// What to start, and in which surroundings. The environment is empty but for what is given.
#[derive(Debug)]
pub struct Launch {
    command: Command,
    log: PathBuf,
}

impl Launch {
    /// Prepares `program`, which will write its output to the file `log` (appended to, so a restart keeps it).
    pub fn new(program: impl AsRef<OsStr>, log: impl Into<PathBuf>) -> Self {
        let mut command = Command::new(program);
        command.env_clear();
        Self {
            command,
            log: log.into(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Adds one variable.
    #[must_use]
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Adds variables.
    #[must_use]
    pub fn variables<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.command.envs(variables);
        self
    }

    /// Passes these variables on from the test's own environment, where they are set.
    #[must_use]
    pub fn inherit(mut self, names: &[&str]) -> Self {
        for name in names {
            if let Some(value) = std::env::var_os(name) {
                self.command.env(name, value);
            }
        }
        self
    }

    /// Starts it in `directory`.
    #[must_use]
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Starts the program.
    pub fn start(self) -> io::Result<Program> {
        let log = self.open_log()?;
        self.start_with(Stdio::null(), log.into())
    }

    /// Starts a program that is talked to over its standard input and output; only its errors go to the log.
    pub fn start_piped(self) -> io::Result<(Program, ChildStdin, ChildStdout)> {
        let mut program = self.start_with(Stdio::piped(), Stdio::piped())?;
        let stdin = program.child.stdin.take().expect("just piped");
        let stdout = program.child.stdout.take().expect("just piped");
        Ok((program, stdin, stdout))
    }

    fn start_with(mut self, stdin: Stdio, stdout: Stdio) -> io::Result<Program> {
        let log = self.open_log()?;
        let read_from = log.metadata()?.len();
        let mark = tree::Mark::new();
        let child = self
            .command
            .env(tree::Mark::VARIABLE, mark.value())
            .stdin(stdin)
            .stdout(stdout)
            .stderr(log)
            .spawn()?;
        Ok(Program {
            name: self.command.get_program().to_owned(),
            child,
            mark,
            log: self.log,
            read_from,
        })
    }

    fn open_log(&self) -> io::Result<File> {
        File::options().create(true).append(true).open(&self.log)
    }
}

/// A running program. Dropping it kills it and everything that it started.
#[derive(Debug)]
pub struct Program {
    name: OsString,
    child: Child,
    mark: tree::Mark,
    log: PathBuf,
    /// Where this life's output begins in the log.
    read_from: u64,
}

impl Program {
    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns what it has printed so far in this life, standard output (unless that is piped) and error together.
    pub fn output(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let start = usize::try_from(self.read_from).map_or(bytes.len(), |at| at.min(bytes.len()));
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }

    /// Waits for a whole line for which `wanted` returns a value.
    ///
    /// Panics with all output at the deadline, and as soon as the program has ended without such a line.
    pub async fn wait_for_line<T>(
        &mut self,
        deadline: Duration,
        description: &str,
        wanted: impl Fn(&str) -> Option<T>,
    ) -> T {
        let found = eventually(deadline, description, async || {
            // Asked first: what an ended program printed is complete.
            let ended = self.exit_status();
            let output = self.output();
            let mut whole_lines = output.split_inclusive('\n').filter(|l| l.ends_with('\n'));
            match (whole_lines.find_map(|line| wanted(line.trim_end())), ended) {
                (Some(found), _) => Some(Ok(found)),
                (None, Some(status)) => Some(Err((status, output))),
                (None, None) => None,
            }
        });
        match found.await {
            Ok(found) => found,
            Err((status, output)) => panic!(
                "{} ended ({status}) without {description}:\n{output}",
                self.name.display()
            ),
        }
    }

    /// Returns how it ended, if it has.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child
            .try_wait()
            .expect("a child of this process can be waited for")
    }

    /// Waits until it has ended by itself.
    pub async fn wait_for_exit(&mut self, deadline: Duration) -> ExitStatus {
        let description = format!("{} ends", self.name.display());
        eventually(deadline, &description, async || self.exit_status()).await
    }

    /// Sends a signal to the program alone.
    pub fn signal(&self, signal: Signal) {
        let id = Pid::from_child(&self.child);
        // It may have ended a moment ago, which the caller will see.
        let _ended = rustix::process::kill_process(id, signal);
    }

    /// Kills the program alone with SIGKILL, as a crash would, and waits until it is gone. What it started lives on.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child ends");
    }

    /// Kills the program and everything that it started.
    pub fn kill_tree(&mut self) {
        let own = self.live_id();
        self.mark.kill_all(own);
        // An error here means that it was waited for before.
        let _reaped = self.child.wait();
    }

    /// Returns the ids of all processes that it started, directly or not, as far as they are still there.
    pub fn descendants(&mut self) -> Vec<u32> {
        let own = self.live_id();
        let all = self.mark.processes(own).into_iter();
        all.filter(|id| Some(*id) != own).collect()
    }

    /// Returns its id unless it has ended: then the id may be another process's.
    fn live_id(&mut self) -> Option<u32> {
        match self.child.try_wait() {
            Ok(None) => Some(self.child.id()),
            Ok(Some(_)) | Err(_) => None,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill_tree();
    }
}

#[cfg(test)]
mod tests;
