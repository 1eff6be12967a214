//! The stub model as a program, for tests that are not written in Rust.
//!
//! Prints its base URL as the first line and ends when its standard input does, so that it never outlives
//! whoever started it. `--requests FILE` appends the body of every completion request to a file, one a line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::process::ExitCode;

use countersign_testkit::StubModel;
use serde_json::Value;
use tokio::sync::{oneshot, watch};

const USAGE: &str = "usage: stub-model [--requests FILE]";

#[tokio::main]
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its address is told on stdout, what went wrong on stderr"
)]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let record = match arguments.as_slice() {
        [] => None,
        ["--requests", path] => match OpenOptions::new().create(true).append(true).open(path) {
            Ok(file) => Some(file),
            Err(error) => {
                eprintln!("failed to open `{path}`: {error}");
                return ExitCode::FAILURE;
            }
        },
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    let model = StubModel::start().await;
    println!("{}", model.base_url());
    let recorded = async {
        match record {
            Some(file) => write_down(file, model.watch_requests()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = end_of_input() => ExitCode::SUCCESS,
        Err(error) = recorded => {
            eprintln!("failed to write down a request: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Waits until the standard input is closed. In a thread of its own, which nothing waits for: a read of it
/// cannot be called off.
async fn end_of_input() {
    let (open, closed) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        // However it ends, there is nobody any more who wants the model.
        drop(io::copy(&mut io::stdin(), &mut io::sink()));
        drop(open);
    });
    drop(closed.await);
}

/// Writes every request to `file` as it comes.
async fn write_down(mut file: File, mut requests: watch::Receiver<Vec<Value>>) -> io::Result<()> {
    let mut written = 0;
    while requests.changed().await.is_ok() {
        let fresh = requests.borrow_and_update()[written..].to_vec();
        for request in fresh {
            file.write_all(format!("{request}\n").as_bytes())?;
            written += 1;
        }
    }
    Ok(())
}
