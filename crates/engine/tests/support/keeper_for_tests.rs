//! The processes that the keeper's tests need: a keeper, servers that can be killed, a caller at the socket, an engine.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use countersign_engine::keeper::{Attach, HeldOutput, Keeper, KeeperSpec, run_keeper};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let word = arguments.next().unwrap_or_default();
    let rest: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    match (word.as_str(), rest.as_slice()) {
        ("keeper", [_, run_directory]) => Ok(run_keeper(run_directory)?),
        ("server", [run_directory, spec]) => serve(run_directory, spec),
        ("feed", [run_directory, heard]) => feed(run_directory, heard),
        ("call", [socket, answer]) => {
            let words = b"{\"hello\":\"server\"}\n{\"stop\":{\"grace_ms\":0}}\n";
            call(socket, answer, words)
        }
        ("call-streams", [socket, answer]) => {
            let words = b"{\"hello\":{\"streams\":{\"from\":0}}}\n";
            call(socket, answer, words)
        }
        ("look-at-stdout", []) => look_at_stdout(),
        (word, _) => Err(format!("`{word}` is not understood").into()),
    }
}

/// Starts a keeper as a server does, says so, and waits to be killed.
#[tokio::main(flavor = "current_thread")]
async fn serve(run_directory: &Path, spec: &Path) -> Outcome {
    let spec: KeeperSpec = serde_json::from_slice(&std::fs::read(spec)?)?;
    let _keeper = Keeper::spawn(&std::env::current_exe()?, run_directory, &spec).await?;
    writeln!(std::io::stdout(), "connected")?;
    std::future::pending().await
}

/// Takes up the streams of a run from where `heard` ends, sends numbered lines without end, and writes what comes back
/// to the end of `heard` before it acknowledges it. To be killed at any moment.
#[tokio::main(flavor = "current_thread")]
async fn feed(run_directory: &Path, heard: &Path) -> Outcome {
    let Attach::Live(keeper) = Keeper::attach(run_directory).await? else {
        return Err("there is no keeper".into());
    };
    let mut heard = OpenOptions::new().append(true).create(true).open(heard)?;
    let from = heard.metadata()?.len();
    let streams = keeper.streams(from).await?;
    let (mut output, input) = (streams.output, streams.input);
    let send = async {
        for number in 0u64.. {
            let line = format!("{number}\n").into();
            input.write(Some(&number.to_string()), line).await?;
        }
        Outcome::Ok(())
    };
    let receive = async {
        while let Some(chunk) = HeldOutput::next(&mut output).await? {
            heard.write_all(&chunk.bytes)?;
            input.acknowledge(chunk.end()).await?;
        }
        Outcome::Ok(())
    };
    tokio::try_join!(send, receive)?;
    Ok(())
}

/// Says whether standard output looks as if the other side had closed it, to somebody who watches it being read from.
fn look_at_stdout() -> Outcome {
    let stdout = std::io::stdout();
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let seen = {
        let mut watched = [PollFd::new(&stdout, PollFlags::IN | PollFlags::RDHUP)];
        poll(&mut watched, Some(&now))?
    };
    writeln!(&stdout, "{seen}")?;
    Ok(())
}

/// Says `words` to whoever listens on `socket`, and writes what came back to `answer`.
fn call(socket: &Path, answer: &Path, words: &[u8]) -> Outcome {
    let mut stream = UnixStream::connect(socket)?;
    // The keeper may have hung up already; what it said can still be read.
    drop(stream.write_all(words));
    let mut heard = Vec::new();
    drop(stream.read_to_end(&mut heard));
    let draft = answer.with_extension("draft");
    std::fs::write(&draft, heard)?;
    Ok(std::fs::rename(draft, answer)?)
}
