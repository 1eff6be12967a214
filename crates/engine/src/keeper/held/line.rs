//! What carries a server's frames and acknowledgements to the keeper, and the engine's output back.

use std::io;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};

use super::client::{End, Inbox};
use super::wire::{Frame, Messages, ToKeeper, ToServer};
use crate::keeper::error::KeeperError;

/// How much output is taken in before anybody wants it.
const WINDOW: u64 = 256 * 1024;

/// Something to be done to the engine's input.
#[derive(Debug)]
pub(super) enum Order {
    Write {
        frame: Frame,
        done: oneshot::Sender<Result<(), KeeperError>>,
    },
    Close {
        done: oneshot::Sender<Result<(), KeeperError>>,
    },
}

/// The server's end of a stream connection.
pub(super) struct Line {
    inbox: watch::Sender<Inbox>,
    out: BytesMut,
    /// What the keeper was sent and has not confirmed.
    pending: Option<Order>,
    /// What was put into `out`: up to where the keeper may send, and up to where it may forget.
    room: u64,
    acknowledged: u64,
}

impl Line {
    pub(super) fn new(inbox: watch::Sender<Inbox>) -> Self {
        let acknowledged = inbox.borrow().acknowledged;
        Self {
            inbox,
            out: BytesMut::new(),
            pending: None,
            room: 0,
            acknowledged,
        }
    }

    /// Carries until the connection is over.
    pub(super) async fn carry(
        mut self,
        messages: Messages<OwnedReadHalf>,
        writer: OwnedWriteHalf,
        mut orders: mpsc::Receiver<Order>,
    ) {
        let end = match self.converse(messages, writer, &mut orders).await {
            Ok(end) => end,
            Err(error) => {
                tracing::debug!(error = %error, "the conversation about an engine's streams broke off");
                End::Lost
            }
        };
        // Those whose orders are dropped, here and with the channel, look for the reason.
        self.inbox.send_modify(|inbox| inbox.end = Some(end));
    }

    async fn converse(
        &mut self,
        mut messages: Messages<OwnedReadHalf>,
        mut writer: OwnedWriteHalf,
        orders: &mut mpsc::Receiver<Order>,
    ) -> io::Result<End> {
        let mut changes = self.inbox.subscribe();
        let mut may_order = true;
        loop {
            let (taken, acknowledge) = {
                let inbox = changes.borrow_and_update();
                (inbox.taken, inbox.acknowledge)
            };
            self.put_offsets(taken, acknowledge);
            // All arms are cancel-safe: what was read of a message and what is left to be written stay where they are.
            tokio::select! {
                message = messages.next_of_keeper() => match message? {
                    Some(ToServer::Displaced) => return Ok(End::Displaced),
                    Some(message) => self.hear(message)?,
                    None => return Ok(End::Lost),
                },
                written = writer.write_buf(&mut self.out), if !self.out.is_empty() => {
                    written?;
                    self.note_written();
                }
                order = orders.recv(), if may_order && self.pending.is_none() => match order {
                    Some(order) => self.put_order(order),
                    None => may_order = false,
                },
                Ok(()) = changes.changed() => {}
            }
        }
    }

    /// Puts how much the keeper may send and forget, if that is worth a message and the last was written.
    fn put_offsets(&mut self, taken: u64, acknowledge: u64) {
        if !self.out.is_empty() {
            return;
        }
        if acknowledge > self.acknowledged {
            ToKeeper::Acknowledge(acknowledge).put(&mut self.out);
            self.acknowledged = acknowledge;
        }
        if taken + WINDOW / 2 >= self.room {
            self.room = taken + WINDOW;
            ToKeeper::Take(self.room).put(&mut self.out);
        }
    }

    fn put_order(&mut self, order: Order) {
        match &order {
            Order::Write { frame, .. } => ToKeeper::Frame(frame.clone()).put(&mut self.out),
            Order::Close { .. } => ToKeeper::Close.put(&mut self.out),
        }
        self.pending = Some(order);
    }

    /// Once all is written, whoever waits for an acknowledgement has it.
    fn note_written(&self) {
        if self.out.is_empty() {
            let told = self.acknowledged;
            self.inbox.send_if_modified(|inbox| {
                let more = told > inbox.acknowledged;
                inbox.acknowledged = told;
                more
            });
        }
    }

    fn hear(&mut self, message: ToServer) -> io::Result<()> {
        match message {
            ToServer::Chunk { offset, bytes } => {
                let in_order = self.inbox.send_if_modified(|inbox| {
                    let in_order = offset == inbox.taken + inbox.bytes.len() as u64;
                    if in_order {
                        inbox.bytes.extend_from_slice(&bytes);
                    }
                    in_order
                });
                if !in_order {
                    return Err(unexpected("output from another place"));
                }
            }
            ToServer::OutputOver => self.inbox.send_modify(|inbox| inbox.output_over = true),
            ToServer::Confirmed => self.settle(Ok(()))?,
            ToServer::InputOver => self.settle(Err(KeeperError::InputOver))?,
            ToServer::Tag(_) | ToServer::Displaced => return Err(unexpected("a greeting")),
        }
        Ok(())
    }

    /// Tells whoever gave the order that waits what became of it.
    fn settle(&mut self, outcome: Result<(), KeeperError>) -> io::Result<()> {
        let done = match self.pending.take() {
            Some(Order::Write { frame, done }) => {
                if outcome.is_ok()
                    && let Some(tag) = frame.tag
                {
                    self.inbox.send_modify(|inbox| inbox.tags.insert(tag));
                }
                done
            }
            Some(Order::Close { done }) => done,
            None => return Err(unexpected("an answer to nothing")),
        };
        // Whoever gave the order may not wait any more.
        drop(done.send(outcome));
        Ok(())
    }
}

impl Drop for Line {
    /// Nobody waits for a line that is no more, whatever ended it.
    fn drop(&mut self) {
        self.inbox.send_if_modified(|inbox| {
            let unknown = inbox.end.is_none();
            inbox.end.get_or_insert(End::Lost);
            unknown
        });
    }
}

fn unexpected(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the keeper sent {what}"),
    )
}
