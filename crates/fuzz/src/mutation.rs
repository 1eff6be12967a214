//! Streams that no agent would write: recorded messages, changed as JSON and as bytes, and cut where lines are not.

mod bytes;
mod json;
mod words;

use rand::RngExt as _;
use rand::rngs::StdRng;

use crate::corpus::Corpus;

/// The most messages that a stream is made of.
const MESSAGES: usize = 6;
/// The most changes that are made to one message.
const CHANGES: usize = 4;
/// One stream in so many is swollen: what takes too much memory or time shows only when there is much of it.
const SWOLLEN: u32 = 1_000;
/// The most bytes of one thing said over and over.
const REPEATED: usize = 1_000_000;

/// A stream of changed messages.
pub fn stream(corpus: &Corpus, dice: &mut StdRng) -> Vec<u8> {
    let mut stream = Vec::new();
    if dice.random_ratio(1, SWOLLEN) {
        let word = words::repeated(dice);
        stream = word.repeat(dice.random_range(0..REPEATED / word.len()));
    }
    for _ in 0..dice.random_range(1..=MESSAGES) {
        stream.extend(message(corpus, dice));
        stream.extend_from_slice(words::line_end(dice));
    }
    if dice.random_ratio(1, 4) {
        bytes::change(&mut stream, dice);
    }
    stream
}

/// A message that was changed; one in ten is as it was recorded.
pub fn message(corpus: &Corpus, dice: &mut StdRng) -> Vec<u8> {
    let mut value = corpus.pick(dice).clone();
    if dice.random_ratio(1, SWOLLEN) {
        json::swell(&mut value, dice);
        return value.to_string().into_bytes();
    }
    if dice.random_ratio(1, 10) {
        return value.to_string().into_bytes();
    }
    for _ in 0..dice.random_range(0..=CHANGES) {
        json::change(&mut value, corpus, dice);
    }
    let mut text = value.to_string();
    if dice.random_ratio(1, 8) {
        json::change_text(&mut text, dice);
    }
    let mut bytes = text.into_bytes();
    if dice.random_ratio(1, 3) {
        for _ in 0..dice.random_range(1..=CHANGES) {
            bytes::change(&mut bytes, dice);
        }
    }
    bytes
}

/// Where `length` bytes are cut, ascending, with both ends.
pub fn cuts(length: usize, dice: &mut StdRng) -> Vec<usize> {
    let mut cuts = vec![0, length];
    for _ in 0..dice.random_range(0..=8) {
        cuts.push(dice.random_range(0..=length));
    }
    cuts.sort_unstable();
    cuts
}
