//! What a record says is true stands on the disk before the record does.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Something that has to be on the disk before what is recorded of it is: a file in its new place, say.
///
/// It is laid once, by whoever needs it first; whoever comes meanwhile waits.
#[derive(Clone)]
pub struct Ground(Arc<Mutex<Option<Laying>>>);

/// Has it on the disk, and returns what is not needed any more.
type Laying = Box<dyn FnOnce() -> Box<dyn Send> + Send>;

impl Ground {
    /// Ground that `lay` has on the disk, and waits for that. What it returns is let go when nobody waits any more.
    pub fn new<T: Send + 'static>(lay: impl FnOnce() -> T + Send + 'static) -> Self {
        let laying: Laying = Box::new(move || Box::new(lay()));
        Self(Arc::new(Mutex::new(Some(laying))))
    }

    /// Has it on the disk, if it is not.
    pub fn lay(&self) {
        let mut laying = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = laying.take().map(|lay| lay());
        drop(laying);
        drop(left);
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ground").finish_non_exhaustive()
    }
}
