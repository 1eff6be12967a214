//! An agent that is run for an editor, with its streams in our hands: it ends with this process, and its whole tree with it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::process::Command;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::Instant;

use crate::keeper::ExitStatus;
use crate::keeper::brood::Brood;
use crate::process::{self, ProcessIdentity};

/// The longest time for which an agent may end by itself once its input is closed.
const END_OF_INPUT_LIMIT: Duration = Duration::from_secs(2);

/// A running agent, and everything that came of it.
pub struct ProxiedAgent {
    brood: Brood,
}

/// The agent's input and output. They are sockets: unlike a pipe's, nobody can open the other end of one by way of the
/// process table, and so no tool of the agent can write into its input.
#[derive(Debug)]
pub struct AgentStreams {
    /// What is written here the agent reads.
    pub stdin: UnixStream,
    /// What the agent writes.
    pub stdout: UnixStream,
}

impl ProxiedAgent {
    /// Starts `program` with exactly `environment`. What it says on its standard error goes where ours does.
    ///
    /// Call it on the main thread, in a runtime of that thread: the agent dies with the thread that started it. From
    /// then on this process is the parent of every orphan among its descendants, and no child may be waited for by
    /// other means.
    pub fn start(
        program: &OsStr,
        arguments: &[OsString],
        environment: Vec<(OsString, OsString)>,
    ) -> io::Result<(Self, AgentStreams)> {
        process::stand_before_an_agent()?;
        let mut brood = Brood::of_this_process()?;
        let (stdin, agents_stdin) = Pair::pair()?;
        let (stdout, agents_stdout) = Pair::pair()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(environment)
            .stdin(OwnedFd::from(agents_stdin))
            .stdout(OwnedFd::from(agents_stdout));
        process::die_with_parent(&mut command);
        let child = command.spawn()?;
        // The agent's ends are in the command, and would keep its streams open after it.
        drop(command);
        let agent = ProcessIdentity::of(child.id())
            .ok_or_else(|| io::Error::other("the process table does not show the agent"))?;
        brood.add_engine(agent);
        for stream in [&stdin, &stdout] {
            stream.set_nonblocking(true)?;
        }
        let streams = AgentStreams {
            stdin: UnixStream::from_std(stdin)?,
            stdout: UnixStream::from_std(stdout)?,
        };
        Ok((Self { brood }, streams))
    }

    /// Waits until the agent itself is over. Cancel-safe.
    pub async fn exited(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.brood.engine_status() {
                return status;
            }
            self.brood.changed().await;
        }
    }

    /// Ends whatever is left, whose input has been closed: what does not end by itself is asked to, and after `grace`
    /// killed. Returns how the agent ended.
    pub async fn end(&mut self, grace: Duration) -> ExitStatus {
        let kill_at = Instant::now() + grace;
        let patience = END_OF_INPUT_LIMIT.min(grace / 2);
        self.brood.engine_over(Instant::now() + patience).await;
        let grace = kill_at.saturating_duration_since(Instant::now());
        let left = self.brood.end(grace).await;
        if left > 0 {
            tracing::error!(
                left,
                "processes of an agent that is over could not be ended"
            );
        }
        self.brood.engine_status().unwrap_or(ExitStatus::Unknown)
    }
}
