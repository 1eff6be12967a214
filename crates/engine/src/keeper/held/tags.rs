//! The tags of the frames that an engine's input took: what was taken once is not taken again.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// How many are remembered. A server repeats what it does not know to be taken, which is far less.
const REMEMBERED: usize = 16_384;

/// The newest tags.
#[derive(Debug, Default)]
pub(super) struct AcceptedTags {
    in_order: VecDeque<Arc<str>>,
    known: HashSet<Arc<str>>,
}

impl AcceptedTags {
    pub(super) fn contains(&self, tag: &str) -> bool {
        self.known.contains(tag)
    }

    pub(super) fn insert(&mut self, tag: Arc<str>) {
        if !self.known.insert(Arc::clone(&tag)) {
            return;
        }
        self.in_order.push_back(tag);
        if self.in_order.len() > REMEMBERED
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Forgets the tag that was inserted last.
    pub(super) fn forget_newest(&mut self) {
        if let Some(newest) = self.in_order.pop_back() {
            self.known.remove(&newest);
        }
    }

    /// Returns all that are remembered, the oldest first.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.in_order.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_remembered_and_no_more() {
        let mut tags = AcceptedTags::default();
        for number in 0..REMEMBERED + 10 {
            tags.insert(number.to_string().into());
            tags.insert(number.to_string().into());
        }
        assert_eq!(tags.iter().len(), REMEMBERED);
        assert!(!tags.contains("9") && tags.contains("10"));
        assert_eq!(tags.known.len(), REMEMBERED);

        let newest = (REMEMBERED + 9).to_string();
        assert!(tags.contains(&newest));
        tags.forget_newest();
        assert!(!tags.contains(&newest));
    }
}
