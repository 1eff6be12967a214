//! Changes of bytes: nothing is known of what they mean.

use std::ops::Range;

use rand::RngExt as _;
use rand::rngs::StdRng;

use super::words;

/// The longest piece that is moved, copied or taken out.
const PIECE: usize = 64;

/// Makes one change.
pub(super) fn change(bytes: &mut Vec<u8>, dice: &mut StdRng) {
    match dice.random_range(0..9) {
        0 => {
            if let Some(byte) = any_byte(bytes, dice) {
                *byte ^= 1 << dice.random_range(0..8);
            }
        }
        1 => {
            let new = dice.random();
            if let Some(byte) = any_byte(bytes, dice) {
                *byte = new;
            }
        }
        2 => insert(bytes, words::bytes(dice), dice),
        3 => insert(bytes, words::word(dice).as_bytes(), dice),
        4 => insert(bytes, words::raw(dice).as_bytes(), dice),
        5 => drop(bytes.drain(piece(bytes, dice))),
        6 => {
            let copy = bytes[piece(bytes, dice)].to_vec();
            insert(bytes, &copy, dice);
        }
        7 => bytes.truncate(dice.random_range(0..=bytes.len())),
        _ => {
            let (one, other) = (place(bytes, dice), place(bytes, dice));
            if one < bytes.len() && other < bytes.len() {
                bytes.swap(one, other);
            }
        }
    }
}

fn any_byte<'a>(bytes: &'a mut [u8], dice: &mut StdRng) -> Option<&'a mut u8> {
    let place = place(bytes, dice);
    bytes.get_mut(place)
}

fn place(bytes: &[u8], dice: &mut StdRng) -> usize {
    dice.random_range(0..=bytes.len())
}

fn piece(bytes: &[u8], dice: &mut StdRng) -> Range<usize> {
    let start = place(bytes, dice);
    let length = dice.random_range(0..=PIECE).min(bytes.len() - start);
    start..start + length
}

fn insert(bytes: &mut Vec<u8>, new: &[u8], dice: &mut StdRng) {
    let place = place(bytes, dice);
    drop(bytes.splice(place..place, new.iter().copied()));
}
