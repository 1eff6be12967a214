//! The two ends that the keeper holds: it alone reads what the engine prints, and it alone writes what it is told.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd as _;

use rustix::io::Errno;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;

use super::{Flow, Hold, State, Tree};

/// How much is read at a time.
const PIECE: usize = 16 * 1024;

/// What one attempt to read came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    Some,
    /// The spool is full.
    NoRoom,
    /// Nothing is there now.
    NotYet,
    Over,
}

/// Makes the keeper's end of a pair of sockets ready for use.
///
/// Both directions stay open: an engine that sees its standard output become readable takes that for its end (asyncio
/// does), and one that writes to its input, for whatever reason, writes to nobody.
pub(super) fn our_end(end: std::os::unix::net::UnixStream) -> io::Result<UnixStream> {
    end.set_nonblocking(true)?;
    UnixStream::from_std(end)
}

/// Reads what the engine prints into the spool while there is room, until it is over.
pub(super) async fn read_output(stdout: UnixStream, hold: Hold) {
    let mut state = hold.watch();
    loop {
        // The state is looked at before the read, so that a change during it is not missed.
        let tree = state.borrow_and_update().tree;
        let waited = match read_some(&stdout, &hold, tree) {
            Read::Over => break,
            Read::Some => {
                // Others have their turn, however fast the engine prints.
                tokio::task::yield_now().await;
                continue;
            }
            Read::NoRoom => state.changed().await.map(|()| Ok(())),
            // Both are cancel-safe: they tell that it is time to look again.
            Read::NotYet => tokio::select! {
                readable = stdout.readable() => Ok(readable),
                changed = state.changed() => changed.map(|()| Ok(())),
            },
        };
        match waited {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "the engine's output can no longer be read");
                break;
            }
            Err(_) => break,
        }
    }
    hold.state.send_modify(|state| state.output = Flow::Over);
}

fn read_some(stdout: &UnixStream, hold: &Hold, tree: Tree) -> Read {
    let mut read = Read::NotYet;
    hold.state.send_if_modified(|state| {
        read = read_into(stdout, state, tree);
        read == Read::Some
    });
    read
}

fn read_into(stdout: &UnixStream, state: &mut State, tree: Tree) -> Read {
    let mut piece = [0; PIECE];
    let room = state.spool.room().min(PIECE);
    let Some(room) = piece.get_mut(..room).filter(|room| !room.is_empty()) else {
        return Read::NoRoom;
    };
    let read = match tree {
        Tree::Alive => stdout.try_read(room),
        // The system is asked itself: what tokio knows may be older than the last words.
        Tree::Over => rustix::io::read(stdout.as_fd(), &mut *room).map_err(io::Error::from),
    };
    match read {
        Ok(0) => Read::Over,
        Ok(length) => {
            state.spool.append(room.get(..length).unwrap_or_default());
            Read::Some
        }
        Err(error) if error.raw_os_error() == Some(Errno::INTR.raw_os_error()) => Read::Some,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => match tree {
            Tree::Alive => Read::NotYet,
            // Somebody outside the tree has the other end. Nothing of the engine's comes from there.
            Tree::Over => Read::Over,
        },
        Err(error) => {
            tracing::warn!(error = %error, "the engine's output can no longer be read");
            Read::Over
        }
    }
}

/// Writes each frame that is accepted to the engine's input, whole, until it is closed or the engine takes no more.
pub(super) async fn write_input(mut stdin: UnixStream, hold: Hold) {
    let mut state = hold.watch();
    loop {
        let (frame, input) = {
            let state = state.borrow_and_update();
            (state.frame_bytes(), state.input)
        };
        match (frame, input) {
            (Some(frame), _) => {
                let written = stdin.write_all(&frame).await;
                hold.settle_frame(written);
            }
            (None, Flow::Open) => {
                if state.changed().await.is_err() {
                    return;
                }
            }
            (None, Flow::Closing | Flow::Over) => break,
        }
    }
    // Others may have the engine's end too, its children for instance: closing ours alone is the same to all.
    if let Ok(stdin) = stdin.into_std()
        && let Err(error) = stdin.shutdown(Shutdown::Write)
    {
        tracing::debug!(error = %error, "the engine's input was closed already");
    }
    hold.state.send_modify(|state| state.input = Flow::Over);
}
