//! The supervisors of all workspaces. They come and go while the server runs.

use std::sync::{Arc, PoisonError, RwLock};

use countersign_core::id::WorkspaceId;
use countersign_core::session::Workspace;
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

/// The right to change which there are, which only one has at a time.
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

    /// Waits for the right to change which there are.
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
        self.change(|list| list.iter().cloned().chain([supervisor]).collect());
    }

    /// Takes one out. It goes on until it is stopped.
    pub(crate) fn take(&mut self, workspace: WorkspaceId) {
        let stays = |it: &&Supervisor| it.workspace().id != workspace;
        self.change(|list| list.iter().filter(stays).cloned().collect());
    }

    /// Has the one of `workspace` know it as that.
    pub(crate) fn rename(&mut self, workspace: &Workspace) {
        let renamed = |it: &Supervisor| {
            if it.workspace().id == workspace.id {
                it.renamed(workspace.clone())
            } else {
                it.clone()
            }
        };
        self.change(|list| list.iter().map(renamed).collect());
    }

    fn change(&mut self, change: impl FnOnce(&[Supervisor]) -> Arc<[Supervisor]>) {
        let list = self.inner.list.write();
        let mut list = list.unwrap_or_else(PoisonError::into_inner);
        *list = change(&list);
    }
}
