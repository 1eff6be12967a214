//! How much Telegram lets a bot say in a group: twenty messages a minute, changes of them among those. Whoever says more
//! is told to be silent for longer than it would have taken to wait.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::adapter::Failure;

const WINDOW: Duration = Duration::from_mins(1);
/// What may be said in a window.
const MOST: usize = 20;
/// What changes of messages may take of it: words that grow must not keep a card from coming.
const MOST_WITH_CHANGES: usize = 14;
/// More groups than this are forgotten once they are silent.
const GROUPS: usize = 500;

/// What is done in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Something new is said.
    Say,
    /// Something that was said is changed.
    Change,
}

/// When something was said in each group, as far as it still counts.
#[derive(Debug, Default)]
pub(super) struct Pace {
    said: Mutex<HashMap<i64, VecDeque<Instant>>>,
}

impl Pace {
    /// Counts something that is about to be done, or says how long to wait with it.
    pub(super) fn begin(&self, chat: i64, act: Act, now: Instant) -> Result<(), Failure> {
        // People alone with the bot have ids above zero, and no such limit.
        if chat > 0 {
            return Ok(());
        }
        let mut groups = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if groups.len() > GROUPS {
            groups.retain(|_, said| said.back().is_some_and(|last| now - *last < WINDOW));
        }
        let said = groups.entry(chat).or_default();
        while said.front().is_some_and(|first| now - *first >= WINDOW) {
            said.pop_front();
        }
        let most = match act {
            Act::Say => MOST,
            Act::Change => MOST_WITH_CHANGES,
        };
        if said.len() < most {
            said.push_back(now);
            return Ok(());
        }
        let frees = said.get(said.len() - most).copied().unwrap_or(now) + WINDOW;
        Err(Failure::Later {
            after: frees - now,
            problem: "as much was said in the group as Telegram allows in a minute".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_told_twenty_things_a_minute_and_changes_leave_room_for_cards() {
        let pace = Pace::default();
        let first = Instant::now();
        let then = first + Duration::from_secs(20);
        for _ in 0..MOST_WITH_CHANGES {
            pace.begin(-5, Act::Change, first).unwrap();
        }
        assert!(pace.begin(-5, Act::Change, first).is_err());
        for _ in MOST_WITH_CHANGES..MOST {
            pace.begin(-5, Act::Say, first).unwrap();
        }
        let Err(Failure::Later { after, .. }) = pace.begin(-5, Act::Say, then) else {
            panic!("it has to wait")
        };
        assert_eq!(after, Duration::from_secs(40));
        pace.begin(-6, Act::Say, then).unwrap();
        pace.begin(5, Act::Say, then).unwrap();
        pace.begin(-5, Act::Say, then + after).unwrap();
    }
}
