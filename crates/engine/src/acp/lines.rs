//! Lines out of bytes: an agent's output, cut anywhere, becomes the lines that it wrote.
//!
//! However the bytes are cut, the same lines come out. No line is longer than the limit: of a longer one
//! nothing is kept but its length. Offsets count the bytes of the agent's whole output.

use std::mem;
use std::ops::Range;

use memchr::{memchr, memchr_iter};
use serde::de::IgnoredAny;

/// The longest line that is read, in bytes.
pub const LINE_LIMIT: usize = 8 * 1024 * 1024;

/// The most values that a line is taken apart into; what follows them stays together and is no message.
const VALUES: usize = 1_000;

/// The mark that some programs begin their output with.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Something that was found in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A line that is not blank, or one of several values on a line.
    Line(Line),
    /// A line that was too long to be read.
    TooLong {
        /// Where it began.
        start: u64,
        /// Where the next one begins.
        end: u64,
    },
    /// Bytes that never came.
    Gap {
        /// Where they would have begun.
        start: u64,
        /// Where the output goes on.
        end: u64,
    },
}

impl Piece {
    /// Where the next piece can begin: everything before has been read.
    pub const fn end(&self) -> u64 {
        match self {
            Self::Line(line) => line.end,
            Self::TooLong { end, .. } | Self::Gap { end, .. } => *end,
        }
    }
}

/// A line of output, without what ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it began: no other line has the same beginning.
    pub start: u64,
    /// Where the next one begins.
    pub end: u64,
    /// Its text; what is not UTF-8 is U+FFFD.
    pub text: String,
}

/// Cuts output into lines.
#[derive(Debug, Clone)]
pub struct LineReader {
    limit: usize,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// Where that line began.
    start: u64,
    /// Where the next byte belongs.
    next: u64,
    /// What is known of the line that has begun.
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It can be read so far.
    Readable,
    /// It is too long already.
    TooLong,
    /// Bytes of it are missing.
    Torn,
}

impl LineReader {
    /// A reader of output from `offset` on, which has to be where a line begins.
    pub const fn new(offset: u64) -> Self {
        Self::with_limit(offset, LINE_LIMIT)
    }

    /// A reader that takes lines of at most `limit` bytes.
    pub const fn with_limit(offset: u64, limit: usize) -> Self {
        Self {
            limit,
            begun: Vec::new(),
            start: offset,
            next: offset,
            state: State::Readable,
        }
    }

    /// Takes the bytes that stand at `offset` in the output, and returns what they complete.
    ///
    /// What was taken before is left out. If bytes are missing, the lines that they belonged to are lost,
    /// up to the next line break, and that is said.
    pub fn push(&mut self, offset: u64, bytes: &[u8]) -> Vec<Piece> {
        let mut found = Vec::new();
        let known = self.next.saturating_sub(offset);
        let Some(mut rest) = usize::try_from(known)
            .ok()
            .and_then(|known| bytes.get(known..))
        else {
            return found;
        };
        if offset > self.next {
            self.begun = Vec::new();
            self.next = offset;
            self.state = State::Torn;
        }
        while let Some(length) = memchr(b'\n', rest) {
            let (line, after) = rest.split_at(length + 1);
            self.next += line.len() as u64;
            self.end_line(&line[..length], &mut found);
            rest = after;
        }
        self.next += rest.len() as u64;
        self.keep(rest);
        found
    }

    /// Ends the output: what it stopped with counts as a line.
    pub fn finish(&mut self) -> Vec<Piece> {
        let mut found = Vec::new();
        if self.next > self.start {
            self.end_line(&[], &mut found);
        }
        found
    }

    /// Where the line begins whose end has not come: everything before has been handed out.
    pub const fn line_start(&self) -> u64 {
        self.start
    }

    fn keep(&mut self, bytes: &[u8]) {
        match self.state {
            State::Readable if self.begun.len() + bytes.len() <= self.limit => {
                self.begun.extend_from_slice(bytes);
            }
            State::Readable => {
                self.begun = Vec::new();
                self.state = State::TooLong;
            }
            State::TooLong | State::Torn => {}
        }
    }

    /// Ends the line that has begun with `last`.
    fn end_line(&mut self, last: &[u8], found: &mut Vec<Piece>) {
        self.keep(last);
        let (start, end) = (mem::replace(&mut self.start, self.next), self.next);
        let line = mem::take(&mut self.begun);
        match mem::replace(&mut self.state, State::Readable) {
            State::Readable => take_line(&line, &(start..end), found),
            State::TooLong => found.push(Piece::TooLong { start, end }),
            State::Torn => found.push(Piece::Gap { start, end }),
        }
    }
}

/// Takes one line's bytes apart into the values that stand on it; most hold one.
fn take_line(bytes: &[u8], place: &Range<u64>, found: &mut Vec<Piece>) {
    let unmarked = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut rest = unmarked.trim_ascii();
    if rest.is_empty() {
        return;
    }
    let ending = unmarked.len() - unmarked.trim_ascii_end().len();
    let mut start = place.start;
    for _ in 0..VALUES {
        let Some(length) = first_value(rest) else {
            break;
        };
        let (value, after) = rest.split_at(length);
        let after = after.trim_ascii_start();
        if after.is_empty() {
            break;
        }
        // The last value alone ends where the line does: until then the line is not done with.
        found.push(Piece::Line(Line {
            start,
            end: place.start,
            text: lossy(value),
        }));
        start = place.start + (bytes.len() - ending - after.len()) as u64;
        rest = after;
    }
    found.push(Piece::Line(Line {
        start,
        end: place.end,
        text: lossy(rest),
    }));
}

/// The length of the first value of a line that may hold several; nothing if it holds one at most.
///
/// Only what looks as if it could be several is read: outside of strings, JSON never has `}` before `{`.
fn first_value(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let suspicious = bytes.last() != Some(&b'}')
        || memchr_iter(b'}', bytes).any(|place| {
            let mut after = bytes[place + 1..].iter();
            after.find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
        });
    if !suspicious {
        return None;
    }
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
