//! What is left when a keeper was killed outright: found by descent and by the run's mark, and ended.

use std::io;
use std::time::Duration;

use super::error::KeeperError;
use crate::process::{ProcessIdentity, tree};

/// What a keeper that was killed left behind.
#[derive(Debug)]
pub struct Orphan {
    pub(super) engine: Option<ProcessIdentity>,
    pub(super) mark: Option<(String, String)>,
}

impl Orphan {
    /// Returns the engine's first process, which may be gone while others are left.
    pub fn engine(&self) -> Option<ProcessIdentity> {
        self.engine
    }

    /// Returns the processes that are left.
    pub fn members(&self) -> Result<Vec<ProcessIdentity>, KeeperError> {
        self.find().map_err(KeeperError::Processes)
    }

    /// Ends all that is left. Returns what could not be ended: nothing, unless the system refuses.
    pub async fn end(&self, grace: Duration) -> Result<Vec<ProcessIdentity>, KeeperError> {
        tree::end_all(|| self.find(), grace)
            .await
            .map_err(KeeperError::Processes)
    }

    fn find(&self) -> io::Result<Vec<ProcessIdentity>> {
        let mut members = match self.engine {
            Some(engine) => tree::with_descendants(engine)?,
            None => Vec::new(),
        };
        if let Some((name, value)) = &self.mark {
            for marked in tree::started_with(name, value)? {
                if !members.contains(&marked) {
                    members.push(marked);
                }
            }
        }
        Ok(members)
    }
}
