//! The processes that the keeper's tests need: a keeper, a server that can be killed, and a caller at the socket.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use countersign_engine::keeper::{Keeper, KeeperSpec, run_keeper};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let word = arguments.next().unwrap_or_default();
    let rest: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    match (word.as_str(), rest.as_slice()) {
        ("keeper", [_, run_directory]) => Ok(run_keeper(run_directory)?),
        ("server", [run_directory, spec]) => serve(run_directory, spec),
        ("call", [socket, answer]) => call(socket, answer),
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

/// Says hello and stop to whoever listens on `socket`, and writes what came back to `answer`.
fn call(socket: &Path, answer: &Path) -> Outcome {
    let mut stream = UnixStream::connect(socket)?;
    // The keeper may have hung up already; what it said can still be read.
    drop(stream.write_all(b"{\"hello\":\"server\"}\n{\"stop\":{\"grace_ms\":0}}\n"));
    let mut heard = Vec::new();
    drop(stream.read_to_end(&mut heard));
    let draft = answer.with_extension("draft");
    std::fs::write(&draft, heard)?;
    Ok(std::fs::rename(draft, answer)?)
}
