//! The supervisors of all workspaces, which come and go while the server runs.

use std::sync::{Arc, PoisonError, RwLock};

use countersign_core::id::WorkspaceId;
use tokio::sync::{Mutex, MutexGuard};

use super::Supervisor;

/// The supervisors of all workspaces, in the order in which these came.
#[derive(Clone, Default)]
pub(crate) struct Supervisors(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// A new list with each one that comes or goes: whoever looks is never held up.
    list: RwLock<Arc<[Supervisor]>>,
    adding: Mutex<()>,
}

/// The right to add one or to take one out, which only one has at a time.
pub(crate) struct Adding<'a> {
    inner: &'a Inner,
    _alone: MutexGuard<'a, ()>,
}

impl Supervisors {
    /// All of them.
    pub(crate) fn all(&self) -> Arc<[Supervisor]> {
        let list = self.0.list.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&list)
    }

    /// The one of `workspace`.
    pub(crate) fn of(&self, workspace: WorkspaceId) -> Option<Supervisor> {
        let all = self.all();
        let found = all.iter().find(|it| it.workspace().id == workspace);
        found.cloned()
    }

    /// Waits for the right to add one or to take one out.
    pub(crate) async fn adding(&self) -> Adding<'_> {
        Adding {
            _alone: self.0.adding.lock().await,
            inner: &self.0,
        }
    }
}

impl Adding<'_> {
    /// Adds one.
    pub(crate) fn push(&mut self, supervisor: Supervisor) {
        let mut list = self
            .inner
            .list
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *list = list.iter().cloned().chain([supervisor]).collect();
    }

    /// Takes the one of `workspace` out.
    pub(crate) fn take_out(&mut self, workspace: WorkspaceId) -> Option<Supervisor> {
        let mut list = self
            .inner
            .list
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let is_it = |it: &&Supervisor| it.workspace().id == workspace;
        let taken = list.iter().find(is_it).cloned()?;
        *list = list.iter().filter(|it| !is_it(it)).cloned().collect();
        Some(taken)
    }
}
