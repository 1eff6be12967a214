//! A machine of its own: a home, a repository, and a data directory in which no server runs until a command starts one.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use countersign_testkit::eventually;
use countersign_testkit::git::git;
use countersign_testkit::test_server::{PATIENCE, Printed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// The machine. Dropping it ends the server that was started on it.
pub(crate) struct Place {
    root: TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let place = Self {
            root,
            variables: Vec::new(),
        };
        for folder in ["home", "repo/src", "elsewhere"] {
            std::fs::create_dir_all(place.path(folder)).unwrap();
        }
        std::fs::write(place.path("repo/a.txt"), "one\n").unwrap();
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.email", "ada@example.com"],
            &["config", "user.name", "ada"],
            &["add", "-A"],
            &["commit", "-q", "-m", "first"],
        ] {
            place.git(arguments);
        }
        place
    }

    /// The same, where `name` is set to `value` for every command.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.path("repo"), arguments)
    }

    /// A command in the repository, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(BINARY, arguments)
    }

    /// The same, of another program.
    pub(crate) fn command_of(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path("repo"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("USER", "ada")
            .env("COUNTERSIGN_DATA", self.data())
            .env("COUNTERSIGN_IDLE_EXIT_S", "600")
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs a command in the repository.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Printed {
        end_of(self.command(arguments).spawn().unwrap(), arguments).await
    }

    /// Runs a command in another folder.
    pub(crate) async fn run_in(&self, folder: &str, arguments: &[&str]) -> Printed {
        let mut command = self.command(arguments);
        command.current_dir(self.path(folder));
        end_of(command.spawn().unwrap(), arguments).await
    }

    /// Runs a command that reads `input`.
    pub(crate) async fn run_reading(&self, input: &str, arguments: &[&str]) -> Printed {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        end_of(child, arguments).await
    }

    /// Hands a task to the demo agent in the background, and returns its id.
    pub(crate) async fn begin(&self, flags: &[&str], task: &str) -> String {
        let begin = ["task", "--engine", "demo", "--background", "--json"];
        let arguments = [&begin, flags, &["--", task]].concat();
        let begun = self.run(&arguments).await;
        let job = begun.expect_success().json()["jobId"].clone();
        job.as_str().expect("a job has an id").to_owned()
    }

    /// The job `id`, as `status` tells it.
    pub(crate) async fn job(&self, id: &str) -> Value {
        let told = self.run(&["status", id, "--json"]).await;
        told.expect_success().json()["job"].clone()
    }

    /// Waits until the job `id` has this status.
    pub(crate) async fn until(&self, id: &str, status: &str) -> Value {
        eventually(PATIENCE, &format!("{id} is {status}"), async || {
            Some(self.job(id).await).filter(|job| job["status"] == status)
        })
        .await
    }

    /// The server's process, if one serves.
    pub(crate) fn server(&self) -> Option<u32> {
        server_of(&self.data())
    }

    /// Waits until `count` connections to the server stay open, as those of commands that wait do.
    pub(crate) async fn until_waited_for(&self, count: usize) {
        const LOOKS: usize = 10;
        let mut seen = 0;
        let what = format!("{count} connections stay open");
        eventually(PATIENCE, &what, async || {
            seen = if self.connections() >= count {
                seen + 1
            } else {
                0
            };
            (seen >= LOOKS).then_some(())
        })
        .await;
    }

    /// How many connections to the server are open.
    fn connections(&self) -> usize {
        const CONNECTED: &str = "03";
        let text = std::fs::read(self.data().join("server.json")).unwrap_or_default();
        let server: Value = serde_json::from_slice(&text).unwrap_or_default();
        let socket = server["socket"].as_str().unwrap_or("(none)").to_owned();
        let table = std::fs::read_to_string("/proc/net/unix").unwrap();
        let is_ours = |line: &&str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(5) == Some(&CONNECTED) && fields.last() == Some(&socket.as_str())
        };
        table.lines().filter(is_ours).count()
    }

    /// Kills the server as a crash would, and waits until it is gone.
    pub(crate) async fn kill_server(&self) {
        let pid = self.server().expect("a server runs");
        signal(pid, Signal::KILL);
        eventually(PATIENCE, "the server is gone", async || {
            (!is_there(pid)).then_some(())
        })
        .await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let folders = [self.data(), self.path("companion")];
        for pid in folders.iter().filter_map(|data| server_of(data)) {
            let end = as_pid(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            signal(pid, Signal::TERM);
            if let Some(end) = end {
                let limit = Timespec::try_from(Duration::from_secs(20)).ok();
                let ended = poll(&mut [PollFd::new(&end, PollFlags::IN)], limit.as_ref());
                assert!(ended.is_ok(), "{ended:?}");
            }
            if is_there(pid) {
                signal(pid, Signal::KILL);
            }
        }
    }
}

/// The process of the server that serves from `data`.
pub(crate) fn server_of(data: &Path) -> Option<u32> {
    let text = std::fs::read(data.join("server.json")).ok()?;
    let server: Value = serde_json::from_slice(&text).ok()?;
    let pid = u32::try_from(server["pid"].as_u64()?).ok()?;
    is_there(pid).then_some(pid)
}

/// Waits for the end of a command.
pub(crate) async fn end_of(child: Child, arguments: &[&str]) -> Printed {
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output())
        .await
        .unwrap_or_else(|_| panic!("`countersign {}` does not end", arguments.join(" ")))
        .unwrap();
    Printed {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = as_pid(pid) {
        // It may have ended by itself.
        let _ = kill_process(pid, signal);
    }
}

/// Whether the process is there and has not ended.
pub(crate) fn is_there(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_over = status
        .rsplit_once(')')
        .is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']));
    !is_over && as_pid(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

fn as_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}
