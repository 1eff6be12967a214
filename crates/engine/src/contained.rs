//! Runs a program that may start what an agent configured, such as git with the filters of a repository, so that nothing
//! of it can speak for a person.
//!
//! The program is the child of a process of ours that is known by its command line, adopts whatever the program leaves
//! behind, and ends all of it. The server refuses everything that descends from such a process, as it refuses agents.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::process::{self, ProcessIdentity, tree};

/// The word that such a process has right after its program's name.
pub const CONTAINED: &str = "contained";

/// How long what is left of the program gets to end in order.
const GRACE: Duration = Duration::from_secs(1);
/// What is said when the program ended by a signal, or not at all.
const FAILED: u8 = 1;

/// A command that runs `program` contained, by way of `own_program`, which is this program.
///
/// It ends when its standard input does: whoever starts it keeps that open, and so leaves nothing behind when it is killed.
pub fn command(own_program: &Path, program: &str) -> Command {
    let mut command = Command::new(own_program);
    command
        .args([CONTAINED, "--", program])
        .stdin(Stdio::piped());
    command
}

/// Runs the program that `words` name, with the output of this process, and ends everything that it leaves behind.
///
/// Call it on the main thread, outside any runtime.
pub fn run(words: &[OsString]) -> io::Result<ExitCode> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::Error::other("no program was named"));
    };
    process::stand_before_an_agent()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let code = runtime.block_on(async {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .spawn()?;
        let code = tokio::select! {
            ended = child.wait() => ended?.code().and_then(|code| u8::try_from(code).ok()),
            () = end_of_input() => None,
        };
        end_descendants().await?;
        Ok::<_, io::Error>(code.unwrap_or(FAILED))
    });
    // A thread may still wait for input that nobody will send.
    runtime.shutdown_background();
    code.map(ExitCode::from)
}

async fn end_of_input() {
    let mut input = tokio::io::stdin();
    let mut byte = [0];
    // Nothing is ever sent: whatever this returns, nobody is there any more.
    while matches!(input.read(&mut byte).await, Ok(1..)) {}
}

async fn end_descendants() -> io::Result<()> {
    let own = ProcessIdentity::own()?;
    let left = tree::end_all(|| tree::descendants(own.pid), GRACE).await?;
    if left.is_empty() {
        Ok(())
    } else {
        Err(io::Error::other("a process could not be ended"))
    }
}
