//! What servers and keepers say to each other: one JSON value a line, of bounded length.

use std::io;
use std::time::Duration;

use bytes::{BufMut as _, BytesMut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use super::held::{Greeting, OutOfReach};
use super::state::{Phase, Stopped};

/// The longest line that is read.
const LONGEST_LINE: usize = 64 * 1024;

/// How long the other side may take to take a line.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// What a server says to the keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// Who it is. Said first.
    Hello(Role),
    /// The tree is to be ended, with so much time to do it in order.
    Stop { grace_ms: u64 },
}

/// Who talks to a keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    /// A server that wants to hear how the engine fares, and may end it.
    Server,
    /// A server that wants the engine's streams, with its output from this offset on.
    ///
    /// What follows the keeper's answer is not in lines.
    Streams { from: u64 },
    /// A server that has a wish about the commands that run beside the engine; it follows.
    Terminals,
}

/// What the keeper says to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Notice {
    /// How the engine fares: after hello, and whenever it changes.
    Phase(Phase),
    /// The tree is ended, and the keeper leaves.
    Stopped(Stopped),
    /// The engine's streams are the caller's.
    Streams(Greeting),
    /// The engine's output cannot be had from where the caller wants it.
    OutOfReach(OutOfReach),
    /// The keeper does not talk to this caller, and why.
    Refused(String),
}

/// Reads one value a line.
#[derive(Debug)]
pub(super) struct Lines {
    reader: BufReader<OwnedReadHalf>,
    line: Vec<u8>,
    longest: usize,
}

impl Lines {
    pub(super) fn new(reader: OwnedReadHalf) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            longest: LONGEST_LINE,
        }
    }

    /// Reads lines of up to `longest` bytes from here on.
    pub(super) fn within(mut self, longest: usize) -> Self {
        self.longest = longest;
        self
    }

    /// Returns the next value, `None` at the end of the conversation.
    ///
    /// Cancel-safe: what was read of a line is kept for the next call.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let room = (self.longest - self.line.len()) as u64;
        (&mut self.reader)
            .take(room)
            .read_until(b'\n', &mut self.line)
            .await?;
        if self.line.last() == Some(&b'\n') {
            let value = serde_json::from_slice(&self.line)?;
            self.line.clear();
            return Ok(Some(value));
        }
        if self.line.len() >= self.longest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the line is too long",
            ));
        }
        Ok(None)
    }

    /// Ends the conversation in lines. Returns what was read beyond it, too.
    pub(super) fn into_rest(self) -> (OwnedReadHalf, Vec<u8>) {
        let read = self.reader.buffer().to_vec();
        (self.reader.into_inner(), read)
    }
}

/// Writes one value as a line.
pub(super) async fn say<T: Serialize>(writer: &mut OwnedWriteHalf, value: &T) -> io::Result<()> {
    let mut line = BytesMut::new();
    put_line(&mut line, value)?;
    timeout(WRITE_LIMIT, writer.write_all(&line)).await?
}

/// Puts one value as a line.
pub(super) fn put_line<T: Serialize>(out: &mut BytesMut, value: &T) -> io::Result<()> {
    serde_json::to_writer(out.writer(), value)?;
    out.put_u8(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::state::{Exit, ExitCause, ExitStatus};

    #[test]
    fn the_words_on_the_wire_stay_the_same() {
        let exit = Exit {
            status: ExitStatus::Code(0),
            cause: ExitCause::Stopped,
        };
        let spoken = [
            serde_json::to_string(&Request::Hello(Role::Server)).unwrap(),
            serde_json::to_string(&Request::Stop { grace_ms: 5 }).unwrap(),
            serde_json::to_string(&Notice::Phase(Phase::Starting)).unwrap(),
            serde_json::to_string(&Notice::Phase(Phase::Ready {
                line: Some("up".into()),
            }))
            .unwrap(),
            serde_json::to_string(&Notice::Phase(Phase::Exited(exit.clone()))).unwrap(),
            serde_json::to_string(&Notice::Stopped(Stopped { exit, left: 0 })).unwrap(),
            serde_json::to_string(&Request::Hello(Role::Streams { from: 7 })).unwrap(),
            serde_json::to_string(&Notice::Streams(Greeting {
                oldest: 1,
                end: 2,
                output_over: false,
                tags: 3,
            }))
            .unwrap(),
            serde_json::to_string(&Notice::OutOfReach(OutOfReach { oldest: 1, end: 2 })).unwrap(),
        ];
        assert_eq!(
            spoken,
            [
                r#"{"hello":"server"}"#,
                r#"{"stop":{"grace_ms":5}}"#,
                r#"{"phase":"starting"}"#,
                r#"{"phase":{"ready":{"line":"up"}}}"#,
                r#"{"phase":{"exited":{"status":{"code":0},"cause":"stopped"}}}"#,
                r#"{"stopped":{"exit":{"status":{"code":0},"cause":"stopped"},"left":0}}"#,
                r#"{"hello":{"streams":{"from":7}}}"#,
                r#"{"streams":{"oldest":1,"end":2,"output_over":false,"tags":3}}"#,
                r#"{"out_of_reach":{"oldest":1,"end":2}}"#,
            ]
        );
    }

    #[tokio::test]
    async fn a_line_that_never_ends_is_cut_off() {
        let (ours, theirs) = tokio::net::UnixStream::pair().unwrap();
        let (_, mut writer) = theirs.into_split();
        let (reader, _keep) = ours.into_split();
        let mut lines = Lines::new(reader);
        let (read, _) = tokio::join!(lines.next::<Request>(), async {
            drop(writer.write_all(&vec![b'x'; 2 * LONGEST_LINE]).await);
            writer
        });
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
