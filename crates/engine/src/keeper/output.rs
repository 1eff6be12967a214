//! What an engine prints: kept in a log that cannot grow without bound, and searched for the line that says "ready".

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use super::directory::RunDirectory;

const LOG: &str = "engine.log";
const PREVIOUS_LOG: &str = "engine.log.1";

/// How large one log file gets before it becomes the previous one.
const LOG_LIMIT: u64 = 1024 * 1024;

/// How much of a line is looked at.
const LINE_LIMIT: usize = 4096;

/// Returns the last `limit` bytes that the engine of `run_directory` printed, for a person to read.
pub fn engine_log_tail(run_directory: &Path, limit: u64) -> io::Result<String> {
    tail(&run_directory.join(LOG), limit)
}

/// Returns the last `limit` bytes of a text file.
pub(super) fn tail(path: &Path, limit: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The outputs of an engine that are logged: both, or only the second if the first is held.
#[derive(Debug)]
pub(super) struct Outputs {
    stdout: Option<pipe::Receiver>,
    stderr: pipe::Receiver,
}

impl Outputs {
    pub(super) fn new(stdout: Option<OwnedFd>, stderr: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stdout: stdout.map(pipe::Receiver::from_owned_fd).transpose()?,
            stderr: pipe::Receiver::from_owned_fd(stderr)?,
        })
    }

    /// Logs both outputs until nobody can write to them any more, and tells `ready` the first line that starts as
    /// `ready_line` says.
    pub(super) async fn capture(
        mut self,
        mut log: Log,
        ready_line: Option<ReadyLine>,
        ready: oneshot::Sender<String>,
    ) {
        let mut search = ready_line.map(|line| (line, ready));
        let (mut from_stdout, mut from_stderr) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        let (mut stdout_open, mut stderr_open) = (self.stdout.is_some(), true);
        while stdout_open || stderr_open {
            // Both reads are cancel-safe: bytes are taken only by the one that completes.
            let printed = tokio::select! {
                read = read(&mut self.stdout, &mut from_stdout), if stdout_open => {
                    let printed = from_stdout.get(..read.unwrap_or(0)).unwrap_or_default();
                    stdout_open = !printed.is_empty();
                    if let Some(line) = search.as_mut().and_then(|(line, _)| line.find_in(printed))
                        && let Some((_, ready)) = search.take()
                    {
                        // The keeper that no longer wants to know is about to leave.
                        drop(ready.send(line));
                    }
                    printed
                }
                read = self.stderr.read(&mut from_stderr), if stderr_open => {
                    let printed = from_stderr.get(..read.unwrap_or(0)).unwrap_or_default();
                    stderr_open = !printed.is_empty();
                    printed
                }
            };
            if let Err(error) = log.append(printed) {
                tracing::warn!(error = %error, "the engine's output could not be logged");
            }
        }
    }
}

/// Reads what there is, which is nothing of an output that is not there.
async fn read(from: &mut Option<pipe::Receiver>, into: &mut [u8]) -> io::Result<usize> {
    match from {
        Some(from) => from.read(into).await,
        None => Ok(0),
    }
}

/// The search for a line with a certain beginning.
#[derive(Debug)]
pub(super) struct ReadyLine {
    beginning: String,
    line: Vec<u8>,
}

impl ReadyLine {
    pub(super) fn new(beginning: String) -> Self {
        Self {
            beginning,
            line: Vec::new(),
        }
    }

    /// Takes more output and returns the line when it is complete.
    fn find_in(&mut self, printed: &[u8]) -> Option<String> {
        for &byte in printed {
            if byte != b'\n' {
                if self.line.len() < LINE_LIMIT {
                    self.line.push(byte);
                }
                continue;
            }
            let line = String::from_utf8_lossy(&self.line).trim_end().to_owned();
            self.line.clear();
            if line.starts_with(&self.beginning) {
                return Some(line);
            }
        }
        None
    }
}

/// The engine's log: at most two files of [`LOG_LIMIT`].
#[derive(Debug)]
pub(super) struct Log {
    directory: RunDirectory,
    file: File,
    length: u64,
}

impl Log {
    pub(super) fn start(directory: RunDirectory) -> io::Result<Self> {
        let file = directory.start_file(LOG)?;
        Ok(Self {
            directory,
            file,
            length: 0,
        })
    }

    fn append(&mut self, printed: &[u8]) -> io::Result<()> {
        if self.length + printed.len() as u64 > LOG_LIMIT {
            let path = self.directory.path();
            fs::rename(path.join(LOG), path.join(PREVIOUS_LOG))?;
            self.file = self.directory.start_file(LOG)?;
            self.length = 0;
        }
        self.file.write_all(printed)?;
        self.length += printed.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_log_keeps_the_end_and_never_more_than_twice_its_limit() {
        let parent = tempfile::tempdir().unwrap();
        let mut log = Log::start(RunDirectory::open(parent.path()).unwrap()).unwrap();
        let mut line = vec![b'x'; 9_999];
        line.push(b'\n');
        for _ in 0..500 {
            log.append(&line).unwrap();
        }
        log.append(b"the end\n").unwrap();
        let size = |name| fs::metadata(parent.path().join(name)).unwrap().len();
        assert!(size(LOG) <= LOG_LIMIT && size(PREVIOUS_LOG) <= LOG_LIMIT);
        assert!(size(LOG) + size(PREVIOUS_LOG) >= LOG_LIMIT);
        assert_eq!(engine_log_tail(parent.path(), 8).unwrap(), "the end\n");
    }

    #[test]
    fn a_line_longer_than_is_looked_at_is_still_recognised_by_its_beginning() {
        let mut search = ReadyLine::new("up".to_owned());
        let long = format!("up{}", "p".repeat(3 * LINE_LIMIT));
        assert_eq!(search.find_in(long.as_bytes()), None);
        assert_eq!(
            search.find_in(b"\n").map(|line| line.len()),
            Some(LINE_LIMIT)
        );
    }

    proptest! {
        #[test]
        fn the_ready_line_is_found_however_the_output_is_cut(
            before in "([a-z ]{0,20}\n){0,4}",
            cuts in proptest::collection::vec(1usize..9, 1..60),
        ) {
            let printed = format!("{before}READY at 1\r\nREADY at 2\n");
            let mut search = ReadyLine::new("READY".to_owned());
            let (mut rest, mut found) = (printed.as_bytes(), None);
            for cut in cuts.iter().cycle() {
                let (piece, remainder) = rest.split_at((*cut).min(rest.len()));
                found = search.find_in(piece);
                rest = remainder;
                if found.is_some() || rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found.as_deref(), Some("READY at 1"));
        }
    }
}
