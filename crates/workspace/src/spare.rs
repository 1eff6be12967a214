//! A folder for files that are not in their place yet: nobody else's business, and of one process at a time.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use crate::beneath::{BeneathError, Root};

/// A folder for files that are not in their place yet.
#[derive(Debug)]
pub struct Spare(Root);

impl Spare {
    /// Opens the folder `path`, and makes it if it is not there. What is in it was left by a process that was killed, and goes.
    pub fn open(path: &Path) -> Result<Self, BeneathError> {
        let root = match Root::open(path) {
            Err(BeneathError::Missing) => {
                let made = DirBuilder::new().mode(0o700).create(path);
                made.map_err(BeneathError::System)?;
                Root::open(path)?
            }
            opened => opened?,
        };
        root.discard_fresh();
        Ok(Self(root))
    }

    pub(crate) fn root(&self) -> &Root {
        &self.0
    }
}
