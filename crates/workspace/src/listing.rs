//! A list of what was found, which is the same list as long as the same is found.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// What was found, in order. Clones are of the same list.
#[derive(Debug)]
pub struct Listing<T>(Arc<[Arc<T>]>);

impl<T> Listing<T> {
    pub(crate) fn new(items: Vec<Arc<T>>) -> Self {
        Self(items.into())
    }

    /// Whether it is the very list that `other` is: whoever made something of that need not make it again.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Clone for Listing<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<T> Deref for Listing<T> {
    type Target = [Arc<T>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: Serialize> Serialize for Listing<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|item| &**item))
    }
}
