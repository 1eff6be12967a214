//! One life of the agent: reads lines until its input ends or it is told to end, and leaves nothing behind.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::agent::Agent;
use crate::archive::Archive;
use crate::connection::Connection;

/// Lines that may wait for a client that reads slowly; who says more waits.
const QUEUE: usize = 64;

/// How long what was said last may take to be written when the input has ended.
const FAREWELL: Duration = Duration::from_secs(1);

/// Runs the agent on standard input and output until the input ends.
pub fn run() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(serve());
    // A read of standard input cannot be taken back; the process ends without waiting for it.
    runtime.shutdown_background();
    outcome
}

async fn serve() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let (lines, queue) = mpsc::channel(QUEUE);
    let mut writing = std::pin::pin!(write(queue));
    {
        let mut agent = Agent::new(Connection::new(lines), Archive::of_this_user());
        let talking = async {
            let mut input = BufReader::new(tokio::io::stdin());
            let mut line = Vec::new();
            while input.read_until(b'\n', &mut line).await? > 0 {
                agent.take(&line).await;
                line.clear();
            }
            io::Result::Ok(())
        };
        tokio::select! {
            ended = talking => ended,
            // Nobody hears what is said any more.
            failed = &mut writing => return failed,
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
            _ = hang_up.recv() => Ok(()),
        }?;
        // Turns that still run end here, and the commands that they run with them.
        agent.stop().await;
    }
    match tokio::time::timeout(FAREWELL, writing).await {
        Ok(written) => written,
        Err(_nobody_reads) => Ok(()),
    }
}

async fn write(mut queue: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut output = tokio::io::stdout();
    let mut waiting = Vec::with_capacity(QUEUE);
    while queue.recv_many(&mut waiting, QUEUE).await > 0 {
        output.write_all(&waiting.concat()).await?;
        output.flush().await?;
        waiting.clear();
    }
    Ok(())
}
