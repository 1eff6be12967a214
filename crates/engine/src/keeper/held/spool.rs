//! What an engine printed and no server has acknowledged yet, by absolute offset.
//!
//! Takes memory for what it holds and little more, however small the pieces in which it came, and gives it back.

use std::collections::VecDeque;

use bytes::BytesMut;

use super::memory;

/// How much one block holds. All but the last are full, so that an offset's place can be computed.
const BLOCK: usize = 64 * 1024;

/// What the first bytes of a block take: most of what engines print is short and soon acknowledged.
const SMALLEST_BLOCK: usize = 1024;

/// From how many blocks on it is worth while to see that their memory does not stay with the allocator.
const MANY_BLOCKS: usize = 16;

/// A bounded window into an engine's output.
#[derive(Debug)]
pub(super) struct Spool {
    limit: usize,
    blocks: VecDeque<Vec<u8>>,
    /// The offset of the first block's first byte.
    base: u64,
    oldest: u64,
    end: u64,
    /// The most blocks there were since there were none.
    most_blocks: usize,
}

impl Spool {
    /// Holds at most `limit` bytes that were not acknowledged.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            blocks: VecDeque::new(),
            base: 0,
            oldest: 0,
            end: 0,
            most_blocks: 0,
        }
    }

    /// Returns the offset of the oldest byte that is held.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Returns the offset of the byte to come.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns how many bytes may be appended.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(length(self.oldest, self.end))
    }

    /// Takes what the engine printed, which is not more than there is room for.
    pub(super) fn append(&mut self, mut printed: &[u8]) {
        self.end += printed.len() as u64;
        while !printed.is_empty() {
            let block = match self.blocks.back_mut() {
                Some(block) if block.len() < BLOCK => block,
                Some(_) | None => self.blocks.push_back_mut(Vec::new()),
            };
            let (now, later) = printed.split_at(printed.len().min(BLOCK - block.len()));
            grow(block, block.len() + now.len());
            block.extend_from_slice(now);
            printed = later;
        }
        self.most_blocks = self.most_blocks.max(self.blocks.len());
    }

    /// Lets go of everything before `offset`. Returns whether there was anything to let go.
    pub(super) fn acknowledge(&mut self, offset: u64) -> bool {
        if offset <= self.oldest || offset > self.end {
            return false;
        }
        self.oldest = offset;
        if self.oldest == self.end {
            self.blocks = VecDeque::new();
            self.base = self.end;
            if self.most_blocks >= MANY_BLOCKS {
                memory::give_back();
            }
            self.most_blocks = 0;
        }
        while self.blocks.len() > 1 && length(self.base, self.oldest) >= BLOCK {
            self.blocks.pop_front();
            self.base += BLOCK as u64;
        }
        true
    }

    /// Copies at most `most` bytes from `offset` on, as far as they lie in one block. Returns how many.
    pub(super) fn copy(&self, offset: u64, most: usize, into: &mut BytesMut) -> usize {
        if offset < self.oldest {
            return 0;
        }
        let place = length(self.base, offset);
        let held = self.blocks.get(place / BLOCK);
        let held = held.and_then(|block| block.get(place % BLOCK..));
        let bytes = held.map_or(&[][..], |held| held.get(..most).unwrap_or(held));
        into.extend_from_slice(bytes);
        bytes.len()
    }
}

/// Makes room for `wanted` bytes, twice as much as there was at a time and never more than a block.
fn grow(block: &mut Vec<u8>, wanted: usize) {
    if wanted > block.capacity() {
        let capacity = (2 * block.capacity())
            .clamp(SMALLEST_BLOCK, BLOCK)
            .max(wanted);
        block.reserve_exact(capacity - block.len());
    }
}

/// Returns how many bytes there are from one offset to another in memory, where it fits.
fn length(from: u64, to: u64) -> usize {
    usize::try_from(to - from).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn memory(spool: &Spool) -> usize {
        spool.blocks.iter().map(Vec::capacity).sum()
    }

    fn read(spool: &Spool, mut offset: u64) -> Vec<u8> {
        let mut bytes = BytesMut::new();
        loop {
            let copied = spool.copy(offset, 1_000, &mut bytes);
            if copied == 0 {
                return bytes.to_vec();
            }
            offset += copied as u64;
        }
    }

    #[test]
    fn output_that_comes_byte_by_byte_takes_no_more_memory_than_it_is_long() {
        let mut spool = Spool::new(10 * BLOCK);
        for _ in 0..3 * BLOCK {
            spool.append(b"x");
        }
        assert_eq!(memory(&spool), 3 * BLOCK);
        spool.acknowledge(2 * BLOCK as u64 + 1);
        assert_eq!(memory(&spool), BLOCK);
        spool.acknowledge(3 * BLOCK as u64);
        assert_eq!(memory(&spool), 0);
        spool.append(b"x");
        assert_eq!(memory(&spool), SMALLEST_BLOCK);
    }

    #[test]
    fn an_acknowledgement_from_the_past_or_the_future_changes_nothing() {
        let mut spool = Spool::new(100);
        spool.append(b"0123456789");
        assert!(spool.acknowledge(4));
        assert!(!spool.acknowledge(4) && !spool.acknowledge(3) && !spool.acknowledge(11));
        assert_eq!((spool.oldest(), spool.end(), spool.room()), (4, 10, 94));
        assert_eq!(read(&spool, 4), b"456789");
        assert_eq!(read(&spool, 3), b"", "what was let go is not held");
        assert_eq!(read(&spool, 10), b"");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_byte_is_where_its_offset_says(
            steps in proptest::collection::vec((0usize..100_000, 0u64..=100, 0u64..=100), 1..12),
        ) {
            let mut spool = Spool::new(4 * BLOCK);
            let mut printed: Vec<u8> = Vec::new();
            for (length, acknowledged, looked_at) in steps {
                let piece: Vec<u8> = (0..length.min(spool.room()))
                    .map(|place| u8::try_from((printed.len() + place) % 251).unwrap())
                    .collect();
                spool.append(&piece);
                printed.extend(&piece);
                prop_assert_eq!(spool.end(), printed.len() as u64);

                let part = |share: u64| spool.oldest() + (spool.end() - spool.oldest()) * share / 100;
                let from = part(looked_at);
                prop_assert_eq!(read(&spool, from), &printed[usize::try_from(from).unwrap()..]);
                let until = part(acknowledged);
                spool.acknowledge(until);
                prop_assert!(memory(&spool) <= length_of(&spool) + 2 * BLOCK);
            }
        }
    }

    fn length_of(spool: &Spool) -> usize {
        length(spool.oldest(), spool.end())
    }
}
