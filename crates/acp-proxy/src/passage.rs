//! The two ways through: every byte of the editor to the agent and back, in order and unchanged.
//!
//! Between lines our own replies go to the agent, and to the editor that an ask of its is over. Neither way waits for
//! the other, or for the server; who does not read is not written to, and then the other end is not read either.

use std::io;
use std::sync::Arc;

use countersign_engine::acp::lines::{LINE_LIMIT, LineReader, Piece};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use crate::asked::{Asked, Over};
use crate::conversation::{Conversation, Passage};
use crate::lines::{Cutter, Part};

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// A reply of ours on its way to the agent.
pub(crate) struct OurReply {
    pub(crate) asked: Arc<Asked>,
    /// The line, with its end.
    pub(crate) line: Vec<u8>,
    /// Told when it has been written; dropped unused if it never will be.
    pub(crate) done: oneshot::Sender<Carried>,
}

/// What became of a reply of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    /// It was written to the agent's input, whole.
    Written,
    /// The ask was over, and nothing was written.
    TooLate,
}

/// Carries what the editor says to the agent, until one of them ends it.
pub(crate) async fn to_agent(
    mut editor: impl AsyncRead + Unpin,
    mut agent: impl AsyncWrite + Unpin,
    conversation: &Conversation,
    mut replies: mpsc::Receiver<OurReply>,
) -> io::Result<()> {
    let mut lines = Cutter::new(LINE_LIMIT);
    let mut chunk = vec![0; CHUNK];
    let mut goes_on = true;
    while goes_on {
        // Both are cancel-safe: what was not taken is there the next time.
        tokio::select! {
            read = editor.read(&mut chunk) => {
                let length = read?;
                goes_on = length > 0;
                for part in lines.cut(&chunk[..length]) {
                    let (Part::Line(bytes) | Part::Piece(bytes)) = &part;
                    let passage = match &part {
                        Part::Line(line) => conversation.hear_editor(line),
                        Part::Piece(_) => Passage::Pass,
                    };
                    match passage {
                        Passage::Pass => agent.write_all(bytes).await?,
                        Passage::Drop => {}
                    }
                }
            }
            Some(reply) = replies.recv(), if lines.is_between_lines() => {
                let carried = if conversation.take(&reply.asked) {
                    agent.write_all(&reply.line).await?;
                    Carried::Written
                } else {
                    Carried::TooLate
                };
                // The one who waits for it may have ended with the agent.
                let _unheard = reply.done.send(carried);
            }
        }
    }
    agent.write_all(&lines.rest()).await?;
    conversation.end_all(&Over::Gone);
    agent.shutdown().await
}

/// Carries what the agent says to the editor, until one of them ends it.
pub(crate) async fn to_editor(
    mut agent: impl AsyncRead + Unpin,
    mut editor: impl AsyncWrite + Unpin,
    conversation: &Conversation,
    mut ours: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut lines = LineReader::new(0);
    let mut chunk = vec![0; CHUNK];
    let mut offset = 0;
    let mut is_between_lines = true;
    loop {
        tokio::select! {
            read = agent.read(&mut chunk) => {
                let bytes = &chunk[..read?];
                let Some(last) = bytes.last() else { break };
                // What is asked is known here before the editor can answer it.
                hear(conversation, lines.push(offset, bytes));
                offset += bytes.len() as u64;
                is_between_lines = *last == b'\n';
                editor.write_all(bytes).await?;
                editor.flush().await?;
            }
            Some(line) = ours.recv(), if is_between_lines => {
                editor.write_all(&line).await?;
                editor.flush().await?;
            }
        }
    }
    hear(conversation, lines.finish());
    Ok(())
}

fn hear(conversation: &Conversation, pieces: Vec<Piece>) {
    for piece in pieces {
        match piece {
            Piece::Line(line) => conversation.hear_agent(&line.text),
            Piece::TooLong { start, end } => conversation.miss(end - start),
            // Nothing is lost between the agent and us.
            Piece::Gap { .. } => {}
        }
    }
}
