//! What a record says is true stands on the disk before the record does.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Something that has to be on the disk before what is recorded of it is: a file in its new place, say.
///
/// It is laid once, by whoever needs it first; whoever comes meanwhile waits.
#[derive(Clone)]
pub struct Ground(Arc<Mutex<Option<Laying>>>);

/// Has it on the disk.
type Laying = Box<dyn FnOnce() + Send>;

impl Ground {
    /// Ground that `lay` has on the disk, and waits for that.
    pub fn new(lay: impl FnOnce() + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(lay)))))
    }

    /// Has it on the disk, if it is not.
    pub fn lay(&self) {
        let mut laying = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lay) = laying.take() {
            lay();
        }
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ground").finish_non_exhaustive()
    }
}
