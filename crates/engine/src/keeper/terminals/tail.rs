//! The newest of what a command prints, within a limit: whole characters, and it is said if something is missing.

use std::collections::VecDeque;

/// Bytes, of which the oldest go when there are too many.
#[derive(Debug)]
pub(super) struct Tail {
    limit: usize,
    bytes: VecDeque<u8>,
    truncated: bool,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: VecDeque::new(),
            truncated: false,
        }
    }

    pub(super) fn push(&mut self, printed: &[u8]) {
        let kept = &printed[printed.len().saturating_sub(self.limit)..];
        let over = (self.bytes.len() + kept.len()).saturating_sub(self.limit);
        self.truncated |= over > 0 || kept.len() < printed.len();
        self.bytes.drain(..over);
        self.bytes.extend(kept);
    }

    /// The text, and whether there was more before it. What is no UTF-8 is replaced; while more may come, a character
    /// that is not complete yet is left for then.
    pub(super) fn text(&self, is_over: bool) -> (String, bool) {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let mut rest = bytes.as_slice();
        if self.truncated {
            // What is left of a character whose beginning is gone.
            let begins = rest.iter().take(3).position(|byte| !is_inner(*byte));
            rest = &rest[begins.unwrap_or(rest.len().min(3))..];
        }
        if !is_over {
            rest = &rest[..complete(rest)];
        }
        let text = String::from_utf8_lossy(rest).into_owned();
        // A replacement is longer than what it replaces.
        let over = text.len().saturating_sub(self.limit);
        let start = text.ceil_char_boundary(over);
        (text[start..].to_owned(), self.truncated || start > 0)
    }
}

/// Whether a byte continues a character.
const fn is_inner(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Up to where all characters are complete, or cannot become so.
fn complete(bytes: &[u8]) -> usize {
    let mut checked = bytes;
    // At most the last three bytes can be the beginning of a character.
    let from = bytes.len().saturating_sub(3);
    for start in from..bytes.len() {
        checked = &bytes[start..];
        match std::str::from_utf8(checked) {
            Err(error) if error.error_len().is_none() => {
                return start + error.valid_up_to();
            }
            Ok(_) => return bytes.len(),
            Err(_) => {}
        }
    }
    debug_assert!(checked.len() <= 3);
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tail(limit: usize, pieces: &[&[u8]]) -> Tail {
        let mut tail = Tail::new(limit);
        for piece in pieces {
            tail.push(piece);
        }
        tail
    }

    #[test]
    fn the_beginning_goes_first_and_it_is_said() {
        let all = tail(8, &[b"abc", b"def"]);
        assert_eq!(all.text(true), ("abcdef".to_owned(), false));
        let cut = tail(4, &[b"abc", b"def"]);
        assert_eq!(cut.text(true), ("cdef".to_owned(), true));
        assert_eq!(tail(0, &[b"a"]).text(true), (String::new(), true));
        assert_eq!(tail(0, &[]).text(true), (String::new(), false));
    }

    #[test]
    fn a_character_is_never_cut() {
        // The euro sign has three bytes.
        for limit in 0..=6 {
            let (text, truncated) = tail(limit, &["€€".as_bytes()]).text(true);
            assert_eq!(text, "€".repeat(limit / 3));
            assert_eq!(truncated, limit < 6);
        }
        let half = tail(9, &["€".as_bytes(), &"€".as_bytes()[..2]]);
        assert_eq!(half.text(false), ("€".to_owned(), false));
        assert_eq!(half.text(true), ("€\u{fffd}".to_owned(), false));
    }

    proptest! {
        #[test]
        fn text_in_any_pieces_is_the_newest_whole_characters_within_the_limit(
            text in "\\PC{0,60}",
            cuts in proptest::collection::vec(0_usize..200, 0..6),
            limit in 0_usize..90,
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let mut tail = Tail::new(limit);
            let mut from = 0;
            for cut in cuts {
                tail.push(&bytes[from..cut]);
                from = cut;
            }
            let (kept, truncated) = tail.text(true);
            prop_assert!(kept.len() <= limit);
            prop_assert!(text.ends_with(&kept));
            prop_assert_eq!(truncated, kept.len() < text.len());
            // No more than one character less than there is room for.
            prop_assert!(!truncated || limit - kept.len() < 4);
        }

        #[test]
        fn any_bytes_are_a_text_within_the_limit(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..8),
            limit in 0_usize..40,
            is_over: bool,
        ) {
            let mut tail = Tail::new(limit);
            for piece in &pieces {
                tail.push(piece);
            }
            prop_assert!(tail.bytes.len() <= limit);
            let (kept, truncated) = tail.text(is_over);
            prop_assert!(kept.len() <= limit);
            let all: usize = pieces.iter().map(Vec::len).sum();
            prop_assert!(truncated || all <= limit);
        }
    }
}
