//! The two directions of an agent's streams: pieces of output as they come, and frames of input one after the
//! other. Neither ever waits for the other: an agent that does not read must not keep us from reading.

use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;
use countersign_core::id::{AskId, TurnId};
use countersign_engine::acp::lines::{LINE_LIMIT, LineReader, Piece};
use countersign_engine::keeper::{HeldInput, HeldOutput, HeldStreams, KeeperError};

/// An agent that has more replies waiting than this, because it does not read them, is not read any more either.
const ROOM: usize = 256;
/// The same in bytes.
const ROOM_BYTES: usize = 4 * 1024 * 1024;

/// What came next from an agent.
#[derive(Debug)]
pub(super) enum Heard {
    /// A piece of output.
    Piece(Piece),
    /// More of a line that is too long to be read.
    Skipped,
}

/// What an agent says.
#[derive(Debug)]
pub(super) struct Incoming {
    output: HeldOutput,
    reader: LineReader,
    found: VecDeque<Piece>,
    /// Up to where output has come.
    received: u64,
    is_over: bool,
}

impl Incoming {
    /// Reads on at `from`, and returns the other direction as well.
    pub(super) fn new(streams: HeldStreams, from: u64) -> (Self, HeldInput) {
        let incoming = Self {
            output: streams.output,
            reader: LineReader::new(from),
            found: VecDeque::new(),
            received: from,
            is_over: false,
        };
        (incoming, streams.input)
    }

    /// What comes next, nothing when there will be nothing. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(piece) = self.found.pop_front() {
                return Some(Heard::Piece(piece));
            }
            if self.is_over {
                return None;
            }
            match self.output.next().await {
                Ok(Some(chunk)) => {
                    self.received = chunk.end();
                    self.found
                        .extend(self.reader.push(chunk.offset, &chunk.bytes));
                    // The keeper holds no more than it is let forget, and the end of this line is far.
                    if self.found.is_empty() && self.is_skipping() {
                        return Some(Heard::Skipped);
                    }
                }
                Ok(None) => self.end(),
                Err(error) => {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "an agent's output broke off"
                    );
                    self.end();
                }
            }
        }
    }

    /// A piece that has come already.
    pub(super) fn at_hand(&mut self) -> Option<Piece> {
        self.found.pop_front()
    }

    /// Hands `piece` out again next.
    pub(super) fn put_back(&mut self, piece: Piece) {
        self.found.push_front(piece);
    }

    fn end(&mut self) {
        self.is_over = true;
        self.found.extend(self.reader.finish());
    }

    /// Whether everything that has come so far was handed out.
    pub(super) fn is_drained(&self) -> bool {
        self.found.is_empty()
    }

    /// Up to where everything was handed out. Of a line that is too long to be read nothing is waited for.
    pub(super) fn handed_out(&self) -> u64 {
        if let Some(next) = self.found.front() {
            return start_of(next);
        }
        if self.is_skipping() {
            self.received
        } else {
            self.reader.line_start()
        }
    }

    /// Whether the line that is under way is too long to be read.
    fn is_skipping(&self) -> bool {
        self.received - self.reader.line_start() > LINE_LIMIT as u64
    }

    /// Up to where output has come.
    pub(super) fn received(&self) -> u64 {
        self.received
    }
}

fn start_of(piece: &Piece) -> u64 {
    match piece {
        Piece::Line(line) => line.start,
        Piece::TooLong { start, .. } | Piece::Gap { start, .. } => *start,
    }
}

/// What a frame of input is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The answer to an ask.
    Answer(AskId),
    /// The prompt of a turn.
    Prompt(TurnId),
    /// The reply to a request that is in no outbox: what the agent wrote from there on is not let go before it is
    /// written, so that the next server makes it again.
    Reply {
        /// Where the request began.
        start: u64,
    },
    /// Anything else: nobody waits for it.
    Other,
}

#[derive(Debug)]
struct Frame {
    purpose: Purpose,
    tag: String,
    bytes: Vec<u8>,
}

type Writing = Pin<Box<dyn Future<Output = Result<(), KeeperError>> + Send>>;

/// What an agent is told, in order.
pub(super) struct Outgoing {
    input: HeldInput,
    waiting: VecDeque<Frame>,
    writing: Option<(Purpose, Writing)>,
    acknowledging: Option<Writing>,
}

impl Outgoing {
    pub(super) fn new(input: HeldInput) -> Self {
        Self {
            input,
            waiting: VecDeque::new(),
            writing: None,
            acknowledging: None,
        }
    }

    /// Whether a frame with this tag reached the agent, now or under an earlier server.
    pub(super) fn was_accepted(&self, tag: &str) -> bool {
        self.input.was_accepted(tag)
    }

    /// Puts a line at the end; the same tag is written once in the life of the agent.
    pub(super) fn push(&mut self, purpose: Purpose, tag: String, bytes: Vec<u8>) {
        self.waiting.push_back(Frame {
            purpose,
            tag,
            bytes,
        });
    }

    /// Takes the answer to `ask` back, if it has not begun to leave.
    pub(super) fn take_back(&mut self, ask: AskId) {
        self.waiting
            .retain(|frame| frame.purpose != Purpose::Answer(ask));
    }

    /// Whether the answer to `ask` is on its way.
    pub(super) fn is_answering(&self, ask: AskId) -> bool {
        let wanted = Purpose::Answer(ask);
        self.purposes().any(|purpose| purpose == wanted)
    }

    /// Whether the answer to `ask` has begun to leave.
    pub(super) fn is_leaving(&self, ask: AskId) -> bool {
        let mut writing = self.writing.iter().map(|(purpose, _)| *purpose);
        writing.any(|purpose| purpose == Purpose::Answer(ask))
    }

    /// Whether an answer to any ask is on its way.
    pub(super) fn is_answering_any(&self) -> bool {
        self.purposes()
            .any(|purpose| matches!(purpose, Purpose::Answer(_)))
    }

    /// Where the first request began whose reply has not been written.
    pub(super) fn first_unanswered(&self) -> Option<u64> {
        self.purposes()
            .filter_map(|purpose| match purpose {
                Purpose::Reply { start } => Some(start),
                Purpose::Answer(_) | Purpose::Prompt(_) | Purpose::Other => None,
            })
            .min()
    }

    fn purposes(&self) -> impl Iterator<Item = Purpose> + '_ {
        let writing = self.writing.iter().map(|(purpose, _)| *purpose);
        writing.chain(self.waiting.iter().map(|frame| frame.purpose))
    }

    pub(super) fn has_room(&self) -> bool {
        let bytes: usize = self.waiting.iter().map(|frame| frame.bytes.len()).sum();
        self.waiting.len() < ROOM && bytes < ROOM_BYTES
    }

    /// Whether there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.writing.is_none() && self.acknowledging.is_none()
    }

    /// Lets the keeper forget the output before `offset`.
    pub(super) fn acknowledge(&mut self, offset: u64) {
        let input = self.input.clone();
        self.acknowledging = Some(Box::pin(async move { input.acknowledge(offset).await }));
    }

    /// Goes on, and returns what became of a frame. Cancel-safe. Only to be called while there is something to do.
    pub(super) async fn progress(&mut self) -> Option<(Purpose, Result<(), KeeperError>)> {
        if self.writing.is_none()
            && let Some(Frame {
                purpose,
                tag,
                bytes,
            }) = self.waiting.pop_front()
        {
            let input = self.input.clone();
            let writing = async move { input.write(Some(tag.as_str()), Bytes::from(bytes)).await };
            self.writing = Some((purpose, Box::pin(writing)));
        }
        let Self {
            writing,
            acknowledging,
            ..
        } = self;
        let written = async {
            match writing.as_mut() {
                Some((purpose, writing)) => (*purpose, writing.await),
                None => std::future::pending().await,
            }
        };
        let acknowledged = async {
            match acknowledging.as_mut() {
                Some(acknowledging) => acknowledging.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            done = written => {
                self.writing = None;
                Some(done)
            }
            done = acknowledged => {
                self.acknowledging = None;
                if let Err(error) = done {
                    tracing::debug!(error = &error as &dyn std::error::Error, "output was not acknowledged");
                }
                None
            }
        }
    }
}
