//! An engine's standard input and output, held by the keeper for whichever server is there.
//!
//! The keeper alone reads what the engine prints ([`spool`]) and writes what it is told ([`stdio`]). A server attaches
//! to both on a connection of its own ([`attachment`]; at its end [`client`] and [`mod@line`]): it reads from any offset that
//! it has not acknowledged, and what it sends reaches the engine whole, in order, and once for each tag. This module
//! knows the state that all of them share; each change of it wakes whoever waits for one.

mod attachment;
mod client;
mod line;
mod memory;
mod spool;
mod stdio;
mod tags;
mod wire;

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(super) use attachment::attend;
pub use client::{Chunk, HeldInput, HeldOutput, HeldStreams};
pub(super) use client::{Greeted, take_up};
use spool::Spool;
use tags::AcceptedTags;
use wire::Frame;

/// The keeper's ends of a held engine's input and output.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) stdin: UnixStream,
    pub(super) stdout: UnixStream,
}

/// What a server that attaches is told first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Greeting {
    /// The oldest offset that is still held.
    pub(super) oldest: u64,
    /// The offset of what the engine prints next.
    pub(super) end: u64,
    /// Whether the engine prints no more.
    pub(super) output_over: bool,
    /// How many tags follow.
    pub(super) tags: usize,
}

/// Output that a server wants and the keeper does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutOfReach {
    pub(super) oldest: u64,
    pub(super) end: u64,
}

/// A hold on the streams of one engine. Clones are of the same.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    state: watch::Sender<State>,
}

#[derive(Debug)]
struct State {
    spool: Spool,
    output: Flow,
    tree: Tree,
    input: Flow,
    tags: AcceptedTags,
    /// The frame that is being written. There is never another that was accepted.
    frame: Option<Frame>,
    /// How many frames were accepted, and how many of them written.
    accepted: u64,
    written: u64,
    /// The number of the newest attachment, which is the only one.
    attachment: u64,
}

/// Whether bytes still come or go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Open,
    /// What was accepted is still written.
    Closing,
    Over,
}

/// Whether any process of the engine can still print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tree {
    Alive,
    Over,
}

/// What became of a frame that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    /// It is being written, as the frame with this number.
    Accepted(u64),
    /// A frame with its tag was written before.
    Known,
    /// The frame before it is not written yet: it is to be offered again.
    Wait,
    /// The engine takes no more input.
    Over,
    /// The attachment is no longer the newest: its frame is dropped.
    Displaced,
}

/// An attachment that has just begun.
#[derive(Debug)]
struct Attached {
    number: u64,
    greeting: Greeting,
    tags: Vec<Arc<str>>,
}

impl Hold {
    /// Takes hold of an engine's streams; what that takes to do goes on in `tasks`.
    pub(super) fn take(
        ends: Ends,
        spool_limit: usize,
        tasks: &mut JoinSet<()>,
    ) -> std::io::Result<Self> {
        let hold = Self::new(spool_limit, Flow::Open);
        let Ends { stdin, stdout } = ends;
        let stdin = stdio::our_end(stdin)?;
        let stdout = stdio::our_end(stdout)?;
        tasks.spawn(stdio::read_output(stdout, hold.clone()));
        tasks.spawn(stdio::write_input(stdin, hold.clone()));
        Ok(hold)
    }

    /// Returns the hold on the streams of an engine that could not be started.
    pub(super) fn of_nothing() -> Self {
        Self::new(0, Flow::Over)
    }

    fn new(spool_limit: usize, flow: Flow) -> Self {
        let state = State {
            spool: Spool::new(spool_limit),
            output: flow,
            tree: Tree::Alive,
            input: flow,
            tags: AcceptedTags::default(),
            frame: None,
            accepted: 0,
            written: 0,
            attachment: 0,
        };
        Self {
            state: watch::Sender::new(state),
        }
    }

    /// Returns a view of the state that tells of every change.
    fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Returns what tells that anything about the streams changed.
    pub(super) fn progress(&self) -> Progress {
        Progress(self.watch())
    }

    /// Tells whether a server has acknowledged all that the engine ever printed.
    pub(super) fn is_output_taken(&self) -> bool {
        self.state.borrow().is_output_taken()
    }

    /// Closes the engine's input once what was accepted is written.
    pub(super) fn close_input(&self) {
        self.state.send_if_modified(State::close_input);
    }

    /// Does the same for a server, if its attachment is the newest.
    fn close_input_for(&self, attachment: u64) {
        self.state
            .send_if_modified(|state| state.attachment == attachment && state.close_input());
    }

    /// Says that nobody is left who could print: what is not there now will not come.
    pub(super) fn tree_is_over(&self) {
        self.state.send_modify(|state| state.tree = Tree::Over);
    }

    /// Begins an attachment that reads from `from` on. An older one is over.
    fn attach(&self, from: u64) -> Result<Attached, OutOfReach> {
        let mut attached = Err(OutOfReach { oldest: 0, end: 0 });
        self.state.send_if_modified(|state| {
            attached = state.attach(from);
            attached.is_ok()
        });
        attached
    }

    fn offer(&self, attachment: u64, frame: &Frame) -> Offer {
        let mut offer = Offer::Displaced;
        self.state.send_if_modified(|state| {
            offer = state.offer(attachment, frame);
            matches!(offer, Offer::Accepted(_))
        });
        offer
    }

    /// Lets go of the output before `offset`, if the attachment is the newest.
    fn acknowledge(&self, attachment: u64, offset: u64) {
        self.state.send_if_modified(|state| {
            state.attachment == attachment && state.spool.acknowledge(offset)
        });
    }

    /// Says that the frame is written, or that it cannot be.
    fn settle_frame(&self, written: std::io::Result<()>) {
        self.state.send_modify(|state| state.settle_frame(written));
    }
}

/// Tells that anything about the streams changed.
pub(super) struct Progress(watch::Receiver<State>);

impl Progress {
    /// Waits for a change. Cancel-safe.
    pub(super) async fn made(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl State {
    fn is_output_taken(&self) -> bool {
        self.output == Flow::Over && self.spool.oldest() == self.spool.end()
    }

    fn close_input(&mut self) -> bool {
        let open = self.input == Flow::Open;
        if open {
            self.input = Flow::Closing;
        }
        open
    }

    fn attach(&mut self, from: u64) -> Result<Attached, OutOfReach> {
        let (oldest, end) = (self.spool.oldest(), self.spool.end());
        if !(oldest..=end).contains(&from) {
            return Err(OutOfReach { oldest, end });
        }
        self.attachment += 1;
        Ok(Attached {
            number: self.attachment,
            greeting: Greeting {
                oldest,
                end,
                output_over: self.output == Flow::Over,
                tags: self.tags.iter().len(),
            },
            tags: self.tags.iter().map(Arc::clone).collect(),
        })
    }

    fn offer(&mut self, attachment: u64, frame: &Frame) -> Offer {
        if attachment != self.attachment {
            return Offer::Displaced;
        }
        // Even a frame that is known waits: it may be the very one that is being written.
        if self.frame.is_some() {
            return Offer::Wait;
        }
        if let Some(tag) = &frame.tag
            && self.tags.contains(tag)
        {
            return Offer::Known;
        }
        if self.input != Flow::Open {
            return Offer::Over;
        }
        if let Some(tag) = &frame.tag {
            self.tags.insert(Arc::clone(tag));
        }
        self.accepted += 1;
        self.frame = Some(frame.clone());
        Offer::Accepted(self.accepted)
    }

    fn settle_frame(&mut self, written: std::io::Result<()>) {
        let Some(frame) = self.frame.take() else {
            return;
        };
        match written {
            Ok(()) => self.written = self.accepted,
            Err(error) => {
                tracing::info!(error = %error, "the engine takes no more input");
                self.input = Flow::Over;
                // It is the newest, and it was not taken after all. Nothing will be, so it is not taken twice.
                if frame.tag.is_some() {
                    self.tags.forget_newest();
                }
            }
        }
    }

    /// Copies output from `offset` on into `into`, at most `most` bytes.
    fn copy_output(&self, offset: u64, most: usize, into: &mut BytesMut) -> usize {
        let mut copied = 0;
        while copied < most {
            match self.spool.copy(offset + copied as u64, most - copied, into) {
                0 => break,
                more => copied += more,
            }
        }
        copied
    }

    fn frame_bytes(&self) -> Option<Bytes> {
        self.frame.as_ref().map(|frame| frame.bytes.clone())
    }
}

#[cfg(test)]
mod tests;
