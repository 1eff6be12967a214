//! A shell command in a process group of its own, which ends with it.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use super::act::beginning;

/// The most that is kept of what a command prints.
const KEPT: usize = 1 << 20;

/// How long the last of the output may take once the command has ended: something that it started may hold the pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a command ended.
pub(super) struct Ended {
    status: ExitStatus,
    output: Vec<u8>,
}

impl Ended {
    /// What is shown of it; an error if the command says that it failed.
    pub(super) fn outcome(self) -> Result<(String, Value), String> {
        let output = beginning(&self.output);
        if self.status.success() {
            let raw = json!({ "exitCode": self.status.code(), "output": output });
            return Ok((output, raw));
        }
        Err(format!("{output}\n({})", self.status)
            .trim_start()
            .to_owned())
    }
}

/// Runs `command`. If the future is dropped, the whole process group is killed.
pub(super) async fn run(command: &str, directory: &Path) -> io::Result<Ended> {
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(command)
        .current_dir(directory)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let group = Group(child.id());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut printed, mut complained) = (Vec::new(), Vec::new());
    let status = {
        let mut reading = std::pin::pin!(async {
            tokio::join!(
                gather(stdout, &mut printed),
                gather(stderr, &mut complained)
            )
        });
        let mut waiting = std::pin::pin!(async move {
            let status = child.wait().await;
            // What it left running in its group ends with it, and so do the pipes.
            drop(group);
            status
        });
        tokio::select! {
            status = &mut waiting => {
                let _in_time = tokio::time::timeout(LAST_WORDS, reading).await;
                status?
            }
            _ = &mut reading => waiting.await?,
        }
    };
    printed.append(&mut complained);
    Ok(Ended {
        status,
        output: printed,
    })
}

/// Reads to the end; what is too much is read and dropped, so that the command does not wait.
async fn gather(source: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut source) = source else { return };
    let mut piece = vec![0; 8 * 1024];
    while let Ok(size @ 1..) = source.read(&mut piece).await {
        let room = KEPT.saturating_sub(into.len());
        into.extend_from_slice(&piece[..size.min(room)]);
    }
}

/// The process group of a command, killed when this is dropped.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let leader = self.0.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(leader) = leader {
            // A group that is empty already is not there any more.
            let _gone = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }
}
