//! Lines as they are, byte for byte: whole ones to be looked at, and pieces of those that are too long for that.

use std::mem;

/// What was read from the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// A whole line with what ends it.
    Line(Vec<u8>),
    /// A piece of a line that is too long to be held.
    Piece(Vec<u8>),
}

/// Cuts bytes into lines; put together again, the parts are the very same bytes.
#[derive(Debug)]
pub(crate) struct Cutter {
    limit: usize,
    begun: Vec<u8>,
    /// Whether the beginning of the line has been handed out.
    in_long_line: bool,
}

impl Cutter {
    /// A cutter that holds lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            begun: Vec::new(),
            in_long_line: false,
        }
    }

    /// Whether what was handed out so far ends with the end of a line.
    pub(crate) fn is_between_lines(&self) -> bool {
        !self.in_long_line
    }

    /// Takes `bytes` in, and hands out what they complete.
    pub(crate) fn cut(&mut self, mut bytes: &[u8]) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end + 1);
            self.begun.extend_from_slice(line);
            let whole = mem::take(&mut self.begun);
            parts.push(if mem::take(&mut self.in_long_line) {
                Part::Piece(whole)
            } else {
                Part::Line(whole)
            });
            bytes = rest;
        }
        self.begun.extend_from_slice(bytes);
        if self.begun.len() > self.limit || (self.in_long_line && !self.begun.is_empty()) {
            self.in_long_line = true;
            parts.push(Part::Piece(mem::take(&mut self.begun)));
        }
        parts
    }

    /// What is left when nothing more comes.
    pub(crate) fn rest(self) -> Vec<u8> {
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(part: &Part) -> &[u8] {
        match part {
            Part::Line(bytes) | Part::Piece(bytes) => bytes,
        }
    }

    #[test]
    fn a_long_line_passes_in_pieces_and_the_next_one_whole() {
        let mut cutter = Cutter::new(4);
        assert_eq!(cutter.cut(b"ab\nlon"), [Part::Line(b"ab\n".to_vec())]);
        assert!(cutter.is_between_lines());
        assert_eq!(cutter.cut(b"ger"), [Part::Piece(b"longer".to_vec())]);
        assert!(!cutter.is_between_lines());
        let rest = cutter.cut(b" one\ncd\n");
        assert_eq!(
            rest,
            [
                Part::Piece(b" one\n".to_vec()),
                Part::Line(b"cd\n".to_vec())
            ]
        );
        assert!(cutter.is_between_lines());
    }

    proptest! {
        #[test]
        fn not_a_byte_is_changed(pieces in proptest::collection::vec("[ab\n]{0,9}", 0..12)) {
            let mut cutter = Cutter::new(5);
            let mut out = Vec::new();
            for piece in &pieces {
                for part in cutter.cut(piece.as_bytes()) {
                    if let Part::Line(line) = &part {
                        prop_assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
                    }
                    out.extend_from_slice(bytes(&part));
                }
            }
            out.extend(cutter.rest());
            prop_assert_eq!(out, pieces.concat().into_bytes());
        }
    }
}
