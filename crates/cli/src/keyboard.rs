//! The person's keyboard: single keys without echo, or whole lines.
//!
//! The terminal gets its own settings back when the keyboard is dropped.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The keyboard of the terminal that this process belongs to.
pub(crate) struct Keyboard {
    terminal: AsyncFd<OwnedFd>,
    original: Termios,
}

impl Keyboard {
    /// Opens it, if there is one and this process is in its foreground.
    pub(crate) fn open() -> Option<Self> {
        // Opened anew: making standard input non-blocking would do so for the shell as well.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
        if rustix::termios::tcgetpgrp(&terminal).ok()? != rustix::process::getpgrp() {
            return None;
        }
        let original = rustix::termios::tcgetattr(&terminal).ok()?;
        let terminal = watch(terminal).ok()?;
        Some(Self { terminal, original })
    }

    /// From now on every key counts by itself and is not echoed.
    ///
    /// What was typed before is thrown away: it was not meant for what is asked now.
    pub(crate) fn read_keys(&mut self) -> io::Result<()> {
        let mut settings = self.original.clone();
        settings.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        rustix::termios::tcsetattr(&self.terminal, OptionalActions::Now, &settings)?;
        rustix::termios::tcflush(&self.terminal, QueueSelector::IFlush)?;
        Ok(())
    }

    /// From now on a line counts when it is ended, and is seen while it is typed.
    pub(crate) fn read_lines(&mut self) -> io::Result<()> {
        rustix::termios::tcsetattr(&self.terminal, OptionalActions::Now, &self.original)?;
        Ok(())
    }

    /// What was typed: a key, or a line with its end. Safe to cancel.
    pub(crate) async fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; 4096];
        let count = self
            .terminal
            .async_io(Interest::READABLE, |terminal| {
                Ok(rustix::io::read(terminal, &mut buffer)?)
            })
            .await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(buffer[..count].to_vec())
    }
}

#[expect(
    unsafe_code,
    reason = "tokio watches a file descriptor only on the word that it stays open"
)]
fn watch(terminal: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned, open, and neither replaced nor closed before it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(terminal, Interest::READABLE) }?)
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // Nothing is left to be done about a terminal that is gone.
        drop(self.read_lines());
    }
}
