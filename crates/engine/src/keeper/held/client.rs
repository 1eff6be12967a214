//! The server's end of a held engine's streams: what the engine prints, what it is told, and what is acknowledged.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::Greeting;
use super::line::{Line, Order};
use super::tags::AcceptedTags;
use super::wire::{Frame, LONGEST_FRAME, LONGEST_TAG, Messages, ToServer};
use crate::keeper::error::KeeperError;

/// How many frames wait for their turn before a writer waits too.
const WAITING_FRAMES: usize = 16;

/// The streams of a held engine, as the keeper has them now.
#[derive(Debug)]
pub struct HeldStreams {
    /// What the engine prints.
    pub output: HeldOutput,
    /// What the engine is told.
    pub input: HeldInput,
    /// The oldest offset of output that is not acknowledged yet.
    pub oldest: u64,
    /// The offset up to which the engine has printed.
    pub end: u64,
    /// Whether the engine prints no more.
    pub output_over: bool,
}

/// What a held engine prints. Dropping it stops reading; the keeper holds the rest.
#[derive(Debug)]
pub struct HeldOutput {
    ours: Arc<Ours>,
    changes: watch::Receiver<Inbox>,
}

/// The input of a held engine. Clones are of the same, and their frames arrive in the order in which they are sent.
#[derive(Debug, Clone)]
pub struct HeldInput {
    ours: Arc<Ours>,
    orders: mpsc::Sender<Order>,
}

/// A piece of what an engine printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where its first byte is in all that the engine ever printed.
    pub offset: u64,
    /// The bytes, at least one.
    pub bytes: Bytes,
}

impl Chunk {
    /// Returns the offset after the last byte: what to acknowledge once this and all before it is safe.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// A stream connection whose greeting was heard.
#[derive(Debug)]
pub(in crate::keeper) struct Greeted {
    pub(in crate::keeper) reader: OwnedReadHalf,
    pub(in crate::keeper) read: Vec<u8>,
    pub(in crate::keeper) writer: OwnedWriteHalf,
    pub(in crate::keeper) greeting: Greeting,
    pub(in crate::keeper) from: u64,
}

/// What both handles share.
#[derive(Debug)]
struct Ours {
    inbox: watch::Sender<Inbox>,
    /// Carries everything, and ends with the last handle.
    _line: JoinSet<()>,
}

/// What came in, and what is known of the connection.
#[derive(Debug)]
pub(super) struct Inbox {
    /// Output that nobody took yet.
    pub(super) bytes: BytesMut,
    /// The offset of the first of them, and so of what was taken.
    pub(super) taken: u64,
    pub(super) output_over: bool,
    /// Up to where output is to be acknowledged, and up to where the keeper was told so.
    pub(super) acknowledge: u64,
    pub(super) acknowledged: u64,
    pub(super) tags: AcceptedTags,
    /// Why nothing comes any more.
    pub(super) end: Option<End>,
}

/// Why a stream connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A newer one took over.
    Displaced,
    /// The keeper is gone, or not understood.
    Lost,
}

impl From<End> for KeeperError {
    fn from(end: End) -> Self {
        match end {
            End::Displaced => Self::Displaced,
            End::Lost => Self::Lost,
        }
    }
}

/// Takes up the streams on a connection that was greeted.
pub(in crate::keeper) async fn take_up(greeted: Greeted) -> Result<HeldStreams, KeeperError> {
    let Greeted {
        reader,
        read,
        writer,
        greeting,
        from,
    } = greeted;
    let mut messages = Messages::new(reader, &read);
    let mut tags = AcceptedTags::default();
    for _ in 0..greeting.tags {
        let message = messages.next_of_keeper().await;
        match message.map_err(KeeperError::Connection)? {
            Some(ToServer::Tag(tag)) => tags.insert(tag),
            Some(ToServer::Displaced) => return Err(KeeperError::Displaced),
            Some(_) | None => return Err(KeeperError::Lost),
        }
    }
    let inbox = watch::Sender::new(Inbox {
        bytes: BytesMut::new(),
        taken: from,
        output_over: false,
        acknowledge: greeting.oldest,
        acknowledged: greeting.oldest,
        tags,
        end: None,
    });
    let changes = inbox.subscribe();
    let (orders, ordered) = mpsc::channel(WAITING_FRAMES);
    let mut line = JoinSet::new();
    line.spawn(Line::new(inbox.clone()).carry(messages, writer, ordered));
    let ours = Arc::new(Ours { inbox, _line: line });
    Ok(HeldStreams {
        output: HeldOutput {
            ours: Arc::clone(&ours),
            changes,
        },
        input: HeldInput { ours, orders },
        oldest: greeting.oldest,
        end: greeting.end,
        output_over: greeting.output_over,
    })
}

impl HeldOutput {
    /// Returns what the engine printed next, `None` when it prints no more. Cancel-safe.
    ///
    /// Waits for as long as the engine is silent; it ends with the connection. What is not taken is not sent, and what
    /// is not acknowledged ([`HeldInput::acknowledge`]) is held: an engine whose output nobody takes has to wait.
    pub async fn next(&mut self) -> Result<Option<Chunk>, KeeperError> {
        loop {
            let (output_over, end) = {
                let inbox = self.changes.borrow_and_update();
                (inbox.output_over, inbox.end)
            };
            let mut chunk = None;
            self.ours.inbox.send_if_modified(|inbox| {
                chunk = inbox.take();
                chunk.is_some()
            });
            match (chunk, output_over, end) {
                (Some(chunk), _, _) => return Ok(Some(chunk)),
                (None, true, _) => return Ok(None),
                (None, false, Some(end)) => return Err(end.into()),
                (None, false, None) => {}
            }
            self.changes
                .changed()
                .await
                .map_err(|_| KeeperError::Lost)?;
        }
    }
}

impl HeldInput {
    /// Writes `frame` to the engine's input, whole, and returns when all of it is written.
    ///
    /// A frame with a `tag` that was accepted before in this life of the engine, from this server or another, is not
    /// written again. Waits for as long as the engine does not read; it ends with the connection. If it fails, or is
    /// cancelled, the frame was written whole or will be, or not at all: send it again with the same tag.
    pub async fn write(&self, tag: Option<&str>, frame: Bytes) -> Result<(), KeeperError> {
        let tag_length = tag.map_or(1, str::len);
        if !(1..=LONGEST_TAG).contains(&tag_length) {
            return Err(KeeperError::TooLarge {
                what: "tag",
                length: tag_length,
                limit: LONGEST_TAG,
            });
        }
        if frame.len() > LONGEST_FRAME {
            return Err(KeeperError::TooLarge {
                what: "frame",
                length: frame.len(),
                limit: LONGEST_FRAME,
            });
        }
        let frame = Frame {
            tag: tag.map(Into::into),
            bytes: frame,
        };
        self.order(|done| Order::Write { frame, done }).await
    }

    /// Tells whether a frame with this tag was accepted in this life of the engine, as far as this connection knows.
    ///
    /// It is then written, or will be as soon as the engine reads.
    pub fn was_accepted(&self, tag: &str) -> bool {
        self.ours.inbox.borrow().tags.contains(tag)
    }

    /// Closes the engine's input, behind all frames that were sent before. Returns when it is closed.
    pub async fn close(&self) -> Result<(), KeeperError> {
        self.order(|done| Order::Close { done }).await
    }

    /// Lets the keeper forget all output before `offset`, which was taken. Returns when the keeper was told.
    ///
    /// Acknowledge what is safe elsewhere: it cannot be had again. Cancel-safe.
    pub async fn acknowledge(&self, offset: u64) -> Result<(), KeeperError> {
        let mut known = Ok(());
        self.ours.inbox.send_if_modified(|inbox| {
            if offset > inbox.taken {
                known = Err(KeeperError::OutOfReach {
                    asked: offset,
                    oldest: inbox.acknowledge,
                    end: inbox.taken,
                });
                return false;
            }
            let more = offset > inbox.acknowledge;
            inbox.acknowledge = inbox.acknowledge.max(offset);
            more
        });
        known?;
        let mut changes = self.ours.inbox.subscribe();
        let told = changes
            .wait_for(|inbox| inbox.acknowledged >= offset || inbox.end.is_some())
            .await
            .map_err(|_| KeeperError::Lost)?;
        match told.end {
            Some(end) if told.acknowledged < offset => Err(end.into()),
            Some(_) | None => Ok(()),
        }
    }

    async fn order(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<(), KeeperError>>) -> Order,
    ) -> Result<(), KeeperError> {
        let (done, outcome) = oneshot::channel();
        self.orders
            .send(order(done))
            .await
            .map_err(|_| self.why_not())?;
        outcome.await.map_err(|_| self.why_not())?
    }

    /// Returns why the connection does nothing any more.
    fn why_not(&self) -> KeeperError {
        self.ours.inbox.borrow().end.unwrap_or(End::Lost).into()
    }
}

impl Inbox {
    /// Takes all output that is there.
    fn take(&mut self) -> Option<Chunk> {
        if self.bytes.is_empty() {
            return None;
        }
        let chunk = Chunk {
            offset: self.taken,
            bytes: self.bytes.split().freeze(),
        };
        self.taken = chunk.end();
        Some(chunk)
    }
}
