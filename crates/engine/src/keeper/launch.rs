//! Starts the engine's first process: exactly the environment it is given, no input, both outputs captured.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use super::output::Outputs;
use super::spec::KeeperSpec;
use crate::process::{self, ProcessIdentity};

/// An engine that was just started.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) identity: ProcessIdentity,
    pub(super) outputs: Outputs,
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
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    process::die_with_parent(&mut command);
    let mut child = command.spawn()?;
    let identity = ProcessIdentity::of(child.id())
        .ok_or_else(|| io::Error::other("the process table does not show the engine"))?;
    let stdout = child
        .stdout
        .take()
        .map(OwnedFd::from)
        .ok_or_else(not_captured)?;
    let stderr = child
        .stderr
        .take()
        .map(OwnedFd::from)
        .ok_or_else(not_captured)?;
    Ok(Launched {
        identity,
        outputs: Outputs::new(stdout, stderr)?,
    })
}

fn not_captured() -> io::Error {
    io::Error::other("the engine's output is not captured")
}
