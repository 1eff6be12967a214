//! Starts a server in the background where a command needs one and none runs.
//!
//! However many commands need one at the same time, one is started: whoever holds the lock starts it, the others wait
//! for the lock and find it. The server is a session of its own, logs into the data directory, and ends by itself.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use rustix::fs::{FlockOperation, flock};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::discovery::{ServerFile, Surroundings, is_listened_at};
use crate::exit::Failure;

/// What a server that is started in the background writes.
pub const LOG: &str = "server.log";
/// The log of the servers before, once the newer one has grown long.
const OLDER_LOG: &str = "server.log.1";
const LONGEST_LOG: u64 = 4 << 20;
/// Held by whoever starts a server.
const LOCK: &str = "start.lock";
/// How long a server may take to serve: an old ledger is brought up to date first.
const PATIENCE: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(10);
/// How much of the log is read for the reason why a server did not start.
const TAIL: u64 = 4_096;

/// Whether a server answers for `data`.
pub fn is_served(data: &Path) -> bool {
    ServerFile::read(data)
        .ok()
        .flatten()
        .is_some_and(|server| is_listened_at(&server.socket))
}

/// Whether a server has said that it answers, and its process is there: it may be another's by now.
pub(crate) fn should_be_served(surroundings: &Surroundings) -> bool {
    let data = surroundings.data.as_deref();
    let server = data.and_then(|data| ServerFile::read(data).ok().flatten());
    server.is_some_and(|server| server.process_is_alive())
}

/// Makes sure that a server answers, and starts one if none does; tells whether it did.
pub(crate) async fn ensure(surroundings: &Surroundings) -> anyhow::Result<bool> {
    let no_server = |sentence: &str| anyhow::Error::new(Failure::NoServer(sentence.to_owned()));
    let data = surroundings.data.as_deref().ok_or_else(|| {
        no_server("no server can be started: neither COUNTERSIGN_DATA nor HOME is set")
    })?;
    if is_served(data) {
        return Ok(false);
    }
    if crate::hook::is_an_agents() {
        // The server that runs it would refuse it; so it is not to make one that does not know it.
        return Err(no_server(
            "an agent that Countersign runs starts no server: do the work yourself, and hand nothing on",
        ));
    }
    let Some(program) = surroundings.program.as_deref() else {
        return Err(no_server(&format!(
            "no server is running for {}",
            data.display()
        )));
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .with_context(|| format!("failed to make the data directory {}", data.display()))?;
    let deadline = Instant::now() + PATIENCE;
    let lock = lock(data, deadline).await?;
    let started = if is_served(data) {
        false
    } else {
        start(program, data, deadline).await?;
        true
    };
    drop(lock);
    Ok(started)
}

/// Takes the lock, or returns without it as soon as somebody else has started a server.
async fn lock(data: &Path, deadline: Instant) -> anyhow::Result<Option<File>> {
    let file = private(&data.join(LOCK))
        .open(data.join(LOCK))
        .context("failed to open the lock for starting a server")?;
    loop {
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(Some(file));
        }
        if is_served(data) {
            return Ok(None);
        }
        if Instant::now() >= deadline {
            let sentence = "somebody else has been starting a server for too long";
            return Err(Failure::NoServer(sentence.to_owned()).into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn start(program: &Path, data: &Path, deadline: Instant) -> anyhow::Result<()> {
    let (mut log, path) = open_log(data).context("failed to open the server's log")?;
    let begun_at = log.seek(SeekFrom::End(0)).unwrap_or_default();
    let mut server = spawn(program, data, log)?;
    loop {
        if is_served(data) {
            // Whoever reaps it when it ends: this process while it lives, the system after that.
            drop(server);
            return Ok(());
        }
        if let Some(status) = server
            .try_wait()
            .context("failed to watch the server start")?
        {
            // Another one may have been faster, started by a person.
            if is_served(data) {
                return Ok(());
            }
            let said = last_words(&path, begun_at);
            let said = if said.is_empty() {
                status.to_string()
            } else {
                said
            };
            let sentence = format!("a server was started in the background and ended: {said}");
            return Err(anyhow::anyhow!(
                "{sentence}\nIts log is {}; `countersign doctor` says more",
                path.display()
            ));
        }
        if Instant::now() >= deadline {
            drop(server.start_kill());
            return Err(anyhow::anyhow!(
                "a server was started in the background and did not serve within {} s; its log is {}",
                PATIENCE.as_secs(),
                path.display()
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What Claude Code puts into the environment of its commands: whose session it is, and the keys to it.
const OF_THE_CALLERS_SESSION: [&str; 14] = [
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
];

fn spawn(program: &Path, data: &Path, log: File) -> anyhow::Result<Child> {
    let errors = log.try_clone().context("failed to open the server's log")?;
    let mut server = Command::new(program);
    // The server belongs to no session, and a Claude Code that it runs is not to speak for the one that called.
    for name in OF_THE_CALLERS_SESSION {
        server.env_remove(name);
    }
    server
        .args(["serve", "--in-background"])
        // It outlives the folder that the command was called in, and nobody's token is its business.
        .current_dir(data)
        .env_remove("COUNTERSIGN_TOKEN")
        .env_remove(crate::variables::SESSION)
        .env_remove("COUNTERSIGN_URL")
        .env("COUNTERSIGN_DATA", data)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .context("failed to start a server in the background")
}

fn private(_: &Path) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options
}

fn open_log(data: &Path) -> std::io::Result<(File, PathBuf)> {
    let path = data.join(LOG);
    if path.metadata().is_ok_and(|found| found.len() > LONGEST_LOG) {
        std::fs::rename(&path, data.join(OLDER_LOG))?;
    }
    let file = private(&path).open(&path)?;
    Ok((file, path))
}

/// The last line that was written behind `begun_at`.
fn last_words(path: &Path, begun_at: u64) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(begun_at.max(end.saturating_sub(TAIL))))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    let last = last.unwrap_or_default().trim();
    let last = last.strip_prefix("countersign: ").unwrap_or(last);
    countersign_core::visible::visible(last).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn surroundings(data: &Path, script: &str) -> Surroundings {
        let program = data.join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Surroundings {
            data: Some(data.to_owned()),
            program: Some(program),
            ..Surroundings::default()
        }
    }

    #[tokio::test]
    async fn a_server_that_does_not_start_says_why() {
        let data = tempfile::tempdir().unwrap();
        let script = "echo 'countersign: port 1 is taken' >&2; exit 1";
        let error = ensure(&surroundings(data.path(), script))
            .await
            .unwrap_err();
        let sentence = format!("{error:#}");
        assert!(sentence.contains("port 1 is taken"), "{sentence}");
        assert!(sentence.contains(LOG), "{sentence}");
        let mode = data.path().join(LOG).metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn where_no_program_is_known_none_is_started() {
        let data = tempfile::tempdir().unwrap();
        let surroundings = Surroundings {
            data: Some(data.path().to_owned()),
            ..Surroundings::default()
        };
        let error = ensure(&surroundings).await.unwrap_err();
        assert!(format!("{error:#}").contains("no server is running"));
        assert!(!data.path().join(LOG).exists());
    }
}
