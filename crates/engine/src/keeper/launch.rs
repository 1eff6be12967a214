//! Starts the engine's first process: exactly the environment it is given, its streams as they are to be treated.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use super::held::Ends;
use super::output::Outputs;
use super::spec::{KeeperSpec, ReadyRule, Streams};
use crate::process::{self, ProcessIdentity};

/// An engine that was just started.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) identity: ProcessIdentity,
    /// What is logged.
    pub(super) outputs: Outputs,
    /// What is held.
    pub(super) held: Option<Ends>,
}

/// Starts the engine. It dies with the calling thread, which therefore has to be the one that keeps it.
///
/// Its end is seen by the caller's reaping alone: nobody waits for it here.
pub(super) fn launch(spec: &KeeperSpec) -> io::Result<Launched> {
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .current_dir(&spec.working_directory)
        .env_clear()
        .envs(&spec.environment)
        .stderr(Stdio::piped());
    let held = match (spec.streams, &spec.ready) {
        (Streams::Logged, _) => {
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            None
        }
        (Streams::Held { .. }, ReadyRule::Started) => Some(hold(&mut command)?),
        (Streams::Held { .. }, ReadyRule::StdoutLine(_)) => {
            return Err(io::Error::other(
                "its output is held, and cannot be searched for a line",
            ));
        }
    };
    process::die_with_parent(&mut command);
    let mut child = command.spawn()?;
    // The engine's ends are in the command, and would keep its streams open after it.
    drop(command);
    let identity = ProcessIdentity::of(child.id())
        .ok_or_else(|| io::Error::other("the process table does not show the engine"))?;
    let stdout = child.stdout.take().map(OwnedFd::from);
    let stderr = child
        .stderr
        .take()
        .map(OwnedFd::from)
        .ok_or_else(|| io::Error::other("the engine's output is not captured"))?;
    Ok(Launched {
        identity,
        outputs: Outputs::new(stdout, stderr)?,
        held,
    })
}

/// Gives the engine sockets for its input and output: unlike a pipe's, nobody can open the other end of one by way of
/// the process table, and so no tool of the engine can write into its input.
///
/// They are two pairs: an engine that ends with input unread would take its last output with it if they were one.
fn hold(command: &mut Command) -> io::Result<Ends> {
    let (stdin, engines_stdin) = UnixStream::pair()?;
    let (stdout, engines_stdout) = UnixStream::pair()?;
    command
        .stdin(OwnedFd::from(engines_stdin))
        .stdout(OwnedFd::from(engines_stdout));
    Ok(Ends { stdin, stdout })
}
