//! Lines that an agent writes and that are no messages: counted, and the first one kept to be shown.

use countersign_engine::acp::message::Noise;

/// The longest part of a line that is kept, in characters.
const SHOWN: usize = 500;

/// When something is said about noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// There is the first of it.
    TheFirst,
    /// Something has come to an end.
    TheEnd,
}

/// How many lines were no messages, and what the first one was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Noises {
    count: u64,
    first: String,
    /// How many there were when it was last said.
    told: u64,
}

impl Noises {
    /// Counts one more.
    pub(super) fn take(&mut self, noise: &Noise) {
        self.count += 1;
        if self.first.is_empty() {
            let text: String = noise.text.chars().take(SHOWN).collect();
            self.first = format!("{noise}: {text}");
        }
    }

    /// What is to be said about them, if that is news. The first is said at once, how many there were when a turn or
    /// the life ends.
    pub(super) fn news(&mut self, when: Moment) -> Option<String> {
        let is_due = self.told == 0 || when == Moment::TheEnd;
        if self.count == self.told || !is_due {
            return None;
        }
        self.told = self.count;
        Some(match self.count {
            1 => self.first.clone(),
            count => format!(
                "The agent wrote {count} lines that are no messages. The first: {}",
                self.first
            ),
        })
    }

    /// The first one, if there was any.
    pub(super) fn first(&self) -> Option<&str> {
        (self.count > 0).then_some(self.first.as_str())
    }
}
