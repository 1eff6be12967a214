//! When tokens were last used, roughly: noted in memory with every request, and written down every few minutes at most.
//!
//! It tells people where somebody is signed in. Nothing is decided by it, so that losing a few minutes in a crash is
//! better than a write with every request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::id::TokenId;
use countersign_core::time::Timestamp;
use countersign_store::Store;
use tokio_util::sync::CancellationToken;

/// How often it is looked whether there is something to write.
const LOOK: Duration = Duration::from_mins(1);
/// What was written is left as it is for so long.
const COARSE: Duration = Duration::from_mins(5);

/// When tokens were last used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sightings(Arc<Mutex<HashMap<TokenId, Sighting>>>);

#[derive(Debug, Clone, Copy)]
struct Sighting {
    seen: Timestamp,
    written: Option<Timestamp>,
}

impl Sightings {
    /// Notes that a token was used.
    pub(crate) fn note(&self, token: TokenId, now: Timestamp) {
        let mut sightings = self.lock();
        let sighting = sightings.entry(token).or_insert(Sighting {
            seen: now,
            written: None,
        });
        sighting.seen = sighting.seen.max(now);
    }

    /// When a token was last used, if that was in the life of this server.
    pub(crate) fn of(&self, token: TokenId) -> Option<Timestamp> {
        self.lock().get(&token).map(|sighting| sighting.seen)
    }

    /// Writes them down until `ending`, and once more then.
    pub(crate) async fn keep(self, store: Store, ending: CancellationToken) {
        loop {
            let is_ending = tokio::select! {
                () = ending.cancelled() => true,
                () = tokio::time::sleep(LOOK) => false,
            };
            let coarse = if is_ending { Duration::ZERO } else { COARSE };
            let due = self.due(coarse);
            if !due.is_empty() {
                match store.note_seen(&due).await {
                    Ok(()) => self.mark_written(&due),
                    Err(error) => tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "when tokens were last used was not written down"
                    ),
                }
            }
            if is_ending {
                return;
            }
        }
    }

    /// What is to be written: what was never, or was long before it was seen last.
    fn due(&self, coarse: Duration) -> Vec<(TokenId, Timestamp)> {
        let sightings = self.lock();
        let is_due = |sighting: &Sighting| {
            sighting.written.is_none_or(|written| {
                sighting.seen > written && sighting.seen.since(written) >= coarse
            })
        };
        let due = sightings.iter().filter(|(_, sighting)| is_due(sighting));
        due.map(|(token, sighting)| (*token, sighting.seen))
            .collect()
    }

    fn mark_written(&self, written: &[(TokenId, Timestamp)]) {
        let mut sightings = self.lock();
        for (token, at) in written {
            if let Some(sighting) = sightings.get_mut(token) {
                sighting.written = Some(*at);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TokenId, Sighting>> {
        // Nothing in here is ever half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_always_used_is_written_down_every_few_minutes_alone() {
        let start = Timestamp::from_micros(1_800_000_000_000_000);
        let (sightings, token) = (Sightings::default(), TokenId::generate(start));
        let mut writes = 0;
        for second in 0..3600 {
            let now = start.after(Duration::from_secs(second));
            sightings.note(token, now);
            if second % 60 == 0 {
                let due = sightings.due(COARSE);
                writes += due.len();
                sightings.mark_written(&due);
            }
            assert_eq!(sightings.of(token), Some(now));
        }
        assert_eq!(writes, 12);
        assert_eq!(
            sightings.due(Duration::ZERO).len(),
            1,
            "what is left at the end"
        );
    }

    #[test]
    fn what_was_not_used_again_is_not_written_again() {
        let start = Timestamp::from_micros(1_800_000_000_000_000);
        let (sightings, token) = (Sightings::default(), TokenId::generate(start));
        sightings.note(token, start);
        let due = sightings.due(COARSE);
        sightings.mark_written(&due);
        assert_eq!(sightings.due(Duration::ZERO), []);
        sightings.note(token, start.before(Duration::from_secs(9)));
        assert_eq!(
            sightings.of(token),
            Some(start),
            "a clock that was set back"
        );
    }
}
