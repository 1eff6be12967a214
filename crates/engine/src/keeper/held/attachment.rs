//! A server's connection to a held engine's streams, at the keeper's end.
//!
//! There is one at a time: a newer one ends an older, whose frame, if it was not accepted yet, is dropped whole.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::timeout;

use super::wire::{Frame, LONGEST_CHUNK, Messages, ToKeeper, ToServer, put_chunk};
use super::{Attached, Flow, Hold, Offer, State};
use crate::keeper::state::Stopped;
use crate::keeper::wire::{Lines, Notice, put_line, say};

/// How long a server that was displaced may take to hear of it.
const DISPLACED_LIMIT: Duration = Duration::from_secs(5);

/// Serves the streams to one server, from the offset `from` on, until it leaves, another comes, or all is said.
pub(in crate::keeper) async fn attend(
    lines: Lines,
    mut writer: OwnedWriteHalf,
    from: u64,
    hold: Hold,
    stopped: watch::Receiver<Option<Stopped>>,
) {
    let attached = match hold.attach(from) {
        Ok(attached) => attached,
        Err(out_of_reach) => {
            // Who is gone by now needs no answer.
            drop(say(&mut writer, &Notice::OutOfReach(out_of_reach)).await);
            return;
        }
    };
    let (reader, read) = lines.into_rest();
    let mut out = BytesMut::new();
    if let Err(error) = put_line(&mut out, &Notice::Streams(attached.greeting)) {
        tracing::error!(error = %error, "the greeting cannot be said");
        return;
    }
    for tag in &attached.tags {
        ToServer::Tag(Arc::clone(tag)).put(&mut out);
    }
    let state = hold.watch();
    let attachment = Attachment::new(&attached, from, hold, out);
    let outcome = attachment
        .serve(Messages::new(reader, &read), writer, state, stopped)
        .await;
    if let Err(error) = outcome {
        tracing::warn!(error = %error, "a server is not understood");
    }
}

/// One attachment.
struct Attachment {
    number: u64,
    hold: Hold,
    /// The frame or the request to close that the server waits for.
    wanted: Wanted,
    /// How far output was put into `out`, and up to where the server has room for it.
    sent: u64,
    room: u64,
    told_output_over: bool,
    out: BytesMut,
}

/// What the server waits for. It sends nothing more to be written meanwhile.
#[derive(Debug)]
enum Wanted {
    Nothing,
    /// It is not accepted yet.
    Frame(Frame),
    /// It is the frame with this number.
    Written(u64),
    Closed,
}

/// Whether there is more to say or to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    /// A newer attachment has taken over.
    Displaced,
    /// The server has acknowledged everything that there ever was.
    Over,
}

impl Attachment {
    fn new(attached: &Attached, from: u64, hold: Hold, out: BytesMut) -> Self {
        Self {
            number: attached.number,
            hold,
            wanted: Wanted::Nothing,
            sent: from,
            room: from,
            told_output_over: false,
            out,
        }
    }

    async fn serve(
        mut self,
        mut messages: Messages<OwnedReadHalf>,
        mut writer: OwnedWriteHalf,
        mut state: watch::Receiver<State>,
        mut stopped: watch::Receiver<Option<Stopped>>,
    ) -> io::Result<()> {
        let mut listens = true;
        loop {
            self.advance();
            let leaving = stopped.borrow_and_update().is_some();
            let goes = self.speak(&state.borrow_and_update(), leaving);
            match goes {
                Goes::On => {}
                Goes::Over => return Ok(()),
                Goes::Displaced => {
                    ToServer::Displaced.put(&mut self.out);
                    drop(timeout(DISPLACED_LIMIT, writer.write_all(&self.out)).await);
                    return Ok(());
                }
            }
            // A server that no longer listens may have said something before it went.
            if !listens {
                self.out.clear();
            }
            // All arms are cancel-safe: what was read of a message and what is left to be written stay where they are.
            tokio::select! {
                message = messages.next_of_server() => match message {
                    Ok(Some(message)) => self.hear(message)?,
                    Ok(None) => return Ok(()),
                    Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                    Err(error) => return Err(error),
                },
                written = writer.write_buf(&mut self.out), if !self.out.is_empty() => {
                    listens = written.is_ok();
                }
                changed = state.changed() => if changed.is_err() { return Ok(()) },
                Ok(()) = stopped.changed() => {}
            }
        }
    }

    fn hear(&mut self, message: ToKeeper) -> io::Result<()> {
        match (message, &self.wanted) {
            (ToKeeper::Frame(frame), Wanted::Nothing) => self.wanted = Wanted::Frame(frame),
            (ToKeeper::Close, Wanted::Nothing) => {
                self.hold.close_input_for(self.number);
                self.wanted = Wanted::Closed;
            }
            (ToKeeper::Frame(_) | ToKeeper::Close, _) => {
                return Err(invalid("a frame was sent before the last was confirmed"));
            }
            (ToKeeper::Acknowledge(offset), _) if offset > self.sent => {
                return Err(invalid("output was acknowledged before it was sent"));
            }
            (ToKeeper::Acknowledge(offset), _) => self.hold.acknowledge(self.number, offset),
            (ToKeeper::Take(offset), _) => self.room = self.room.max(offset),
        }
        Ok(())
    }

    /// Offers the frame that the server sent, if there is one.
    fn advance(&mut self) {
        let Wanted::Frame(frame) = &self.wanted else {
            return;
        };
        let answer = match self.hold.offer(self.number, frame) {
            // Whoever displaced this attachment is seen in the state.
            Offer::Wait | Offer::Displaced => return,
            Offer::Accepted(number) => {
                self.wanted = Wanted::Written(number);
                return;
            }
            Offer::Known => ToServer::Confirmed,
            Offer::Over => ToServer::InputOver,
        };
        answer.put(&mut self.out);
        self.wanted = Wanted::Nothing;
    }

    /// Puts what there is to say into `out`.
    fn speak(&mut self, state: &State, leaving: bool) -> Goes {
        if state.attachment != self.number {
            return Goes::Displaced;
        }
        let done = match self.wanted {
            Wanted::Nothing | Wanted::Frame(_) => None,
            Wanted::Written(number) if state.written >= number => Some(ToServer::Confirmed),
            Wanted::Written(_) => (state.input == Flow::Over).then_some(ToServer::InputOver),
            Wanted::Closed => (state.input == Flow::Over).then_some(ToServer::Confirmed),
        };
        if let Some(done) = done {
            done.put(&mut self.out);
            self.wanted = Wanted::Nothing;
        }
        // One chunk at a time: a server that takes nothing costs no more than that.
        if self.out.is_empty() {
            let room = usize::try_from(self.room.saturating_sub(self.sent)).unwrap_or(usize::MAX);
            let room = room.min(LONGEST_CHUNK);
            if room > 0 && self.sent < state.spool.end() {
                let (offset, mut copied) = (self.sent, 0);
                put_chunk(&mut self.out, offset, |out| {
                    copied = state.copy_output(offset, room, out);
                });
                self.sent += copied as u64;
            }
        }
        let all_sent = state.output == Flow::Over && self.sent == state.spool.end();
        if all_sent && !self.told_output_over {
            ToServer::OutputOver.put(&mut self.out);
            self.told_output_over = true;
        }
        if leaving && self.told_output_over && self.out.is_empty() && state.is_output_taken() {
            return Goes::Over;
        }
        Goes::On
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
