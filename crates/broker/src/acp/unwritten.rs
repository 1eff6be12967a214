//! Items that are known and not written down yet: those of many messages become one write to the ledger.
//!
//! None of them is durable, so the keeper must not be let forget what they were made of until they are written.

use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_core::session::Item;

/// So many are written at the latest.
const MANY: usize = 512;

/// Items in the order of their places, each by its name.
#[derive(Debug, Default)]
pub(super) struct Unwritten(Mutex<Vec<(String, Item)>>);

impl Unwritten {
    /// Adds an item, or puts it in the place of what it was before; says whether it is time to write.
    pub(super) fn put(&self, key: &str, item: &Item) -> bool {
        let mut items = self.lock();
        match items.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => known.clone_from(item),
            None => items.push((key.to_owned(), item.clone())),
        }
        items.len() >= MANY
    }

    /// Takes all of them, to be written.
    pub(super) fn take(&self) -> Vec<(String, Item)> {
        std::mem::take(&mut self.lock())
    }

    /// Puts back what could not be written.
    pub(super) fn put_back(&self, mut unwritten: Vec<(String, Item)>) {
        let mut items = self.lock();
        unwritten.append(&mut items);
        *items = unwritten;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, Item)>> {
        // A panic elsewhere leaves items behind that are still items.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(text: &str) -> Item {
        Item::Notice {
            text: text.to_owned(),
        }
    }

    #[test]
    fn an_item_keeps_its_place_when_it_changes_and_when_it_could_not_be_written() {
        let unwritten = Unwritten::default();
        for (key, text) in [("a", "1"), ("b", "2"), ("a", "3")] {
            assert!(!unwritten.put(key, &notice(text)));
        }
        let taken = unwritten.take();
        assert!(unwritten.take().is_empty());
        unwritten.put("c", &notice("4"));
        unwritten.put_back(taken);
        let expected = [("a", "3"), ("b", "2"), ("c", "4")];
        let expected = expected.map(|(key, text)| (key.to_owned(), notice(text)));
        assert_eq!(unwritten.take(), expected);
    }

    #[test]
    fn many_are_written_at_the_latest() {
        let unwritten = Unwritten::default();
        let full = (0..MANY).map(|number| unwritten.put(&number.to_string(), &notice("")));
        assert_eq!(full.filter(|full| *full).count(), 1);
    }
}
