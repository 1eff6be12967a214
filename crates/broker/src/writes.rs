//! Workspace writes: a client proposes one, somebody else answers, and only then are the bytes written.
//!
//! A write is an ask like any other: in the ledger before anybody hears of it, in the same inbox, answered once. What is
//! different is who waits: the request that proposed it. If that ends first, its client went away, and the ask is withdrawn;
//! the end of the server withdraws it too.

mod awaited;
mod earlier;
mod leave;
mod proposal;
mod unannounced;
mod waiting;

pub use leave::Leave;
pub use proposal::{Proposal, ProposedFile};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, Door, Withdrawal};
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{ActorId, AskId, WorkspaceId};
use countersign_core::session::Workspace;
use countersign_store::{Answered, StoreError, Writer};
use tokio_util::sync::CancellationToken;

use crate::Broker;
use crate::error::BrokerError;
use crate::unstoppable::to_the_end;
use crate::writes::awaited::Awaited;
use crate::writes::unannounced::Unannounced;
use crate::writes::waiting::Written;

/// What was said to a proposal.
#[derive(Debug)]
pub enum Verdict {
    /// It may be written now.
    Allowed(Leave),
    /// Somebody denied it; nothing is written.
    Denied {
        /// The ask, with who denied it and why.
        ask: Ask,
    },
    /// Nobody answered in time; nothing is written.
    Expired {
        /// The ask.
        ask: Ask,
    },
}

/// Who proposed writes in this life of the server, and when no more are taken.
#[derive(Clone)]
pub(crate) struct Writers {
    known: Arc<Mutex<HashMap<(WorkspaceId, ActorId), Writer>>>,
    /// What they wait for.
    pub(crate) awaited: Awaited,
    unannounced: Unannounced,
    /// Where they write. What is kept here of a workspace never changes.
    workspaces: Arc<Mutex<HashMap<WorkspaceId, Workspace>>>,
    ending: CancellationToken,
}

impl Writers {
    /// Nobody yet; all ends at the latest with `ending`.
    pub(crate) fn new(ending: &CancellationToken) -> Self {
        Self {
            known: Arc::default(),
            awaited: Awaited::default(),
            unannounced: Unannounced::default(),
            workspaces: Arc::default(),
            ending: ending.child_token(),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(WorkspaceId, ActorId), Writer>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workspaces(&self) -> MutexGuard<'_, HashMap<WorkspaceId, Workspace>> {
        let workspaces = self.workspaces.lock();
        workspaces.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Broker {
    /// Proposes a write and waits for what is said to it, at most as long as the proposal stays open. `on_its_way` is
    /// dropped when the ask is open for everybody to see, or never will be.
    ///
    /// Dropping the future withdraws the ask: the client went away. An answer that comes later writes nothing.
    pub async fn propose(
        &self,
        caller: &Caller,
        proposal: Proposal,
        on_its_way: impl Send + 'static,
    ) -> Result<Verdict, BrokerError> {
        self.propose_telling(caller, proposal, move |_| drop(on_its_way))
            .await
    }

    /// The same; `opened` is told of the ask when it is open for everybody to see.
    pub(crate) async fn propose_telling(
        &self,
        caller: &Caller,
        proposal: Proposal,
        opened: impl FnOnce(&Ask) + Send + 'static,
    ) -> Result<Verdict, BrokerError> {
        caller.require_in(Grant::Propose, proposal.workspace)?;
        let workspace = self.writing_in(proposal.workspace).await?;
        if self.writers.ending.is_cancelled() {
            return Err(BrokerError::Stopping);
        }
        // From before it can be seen: an answer cannot come too early to be noticed.
        let head = self.store.head();
        let by = caller.actor().clone();
        let opening = Box::pin(self.clone().open_write(workspace, by, proposal, opened));
        // To its end: nobody can go away between its being in the ledger and somebody's seeing to it.
        let written = to_the_end(&self.tasks, opening).await;
        let Written {
            waiting,
            ask,
            answered,
        } = written.ok_or(BrokerError::Stopping)??;
        let verdict = Box::pin(self.await_verdict(ask, answered, head)).await?;
        waiting.end();
        Ok(verdict)
    }

    /// The workspace of a write.
    async fn writing_in(&self, id: WorkspaceId) -> Result<Workspace, BrokerError> {
        let known = self.writers.workspaces().get(&id).cloned();
        if let Some(workspace) = known {
            return Ok(workspace);
        }
        let workspace = self.store.workspace(id).await?;
        let workspace = workspace.ok_or_else(|| BrokerError::missing("workspace", id))?;
        self.writers.workspaces().insert(id, workspace.clone());
        Ok(workspace)
    }

    /// The writes that wait for an answer and that the caller may see, oldest first. Whoever proposed one waits here: a
    /// server that begins ends those of the one before.
    pub fn open_writes(&self, caller: &Caller) -> Result<Vec<Arc<Ask>>, BrokerError> {
        caller.require(Grant::Read)?;
        let now = self.clock.now();
        let mut open = self.writers.awaited.all_open();
        open.retain(|ask| caller.sees(ask.workspace) && ask.expires_at.is_none_or(|end| end > now));
        Ok(open)
    }

    /// Answers a write; an ask of another kind does not exist here.
    pub async fn answer_write(
        &self,
        caller: &Caller,
        id: AskId,
        choice: Choice,
    ) -> Result<Answered, BrokerError> {
        // What is asked never changes; whether it is still open is for the ledger to say.
        let awaited = self.writers.awaited.open(id);
        let ask = match awaited.filter(|ask| caller.sees(ask.workspace)) {
            Some(ask) => ask,
            None => Arc::new(self.answerable(caller, id).await?),
        };
        if ask.door != Door::Workspace {
            return Err(BrokerError::missing("workspace write", id));
        }
        self.answer(caller, &ask, choice).await
    }

    /// Ends every proposal of a workspace that waits, because it is removed.
    pub(crate) async fn withdraw_writes(&self, workspace: WorkspaceId) -> Result<(), StoreError> {
        let now = self.clock.now();
        for ask in self.store.open_writes(Some(workspace)).await? {
            let why = Withdrawal::WorkspaceRemoved;
            self.store.withdraw(ask.id, &why, now).await?;
        }
        self.writers.known().retain(|(of, _), _| *of != workspace);
        self.writers.workspaces().remove(&workspace);
        Ok(())
    }

    /// Ends every proposal that waits, because the server is about to stop, and takes no more.
    pub fn stop_writes(&self) {
        self.writers.ending.cancel();
    }
}

#[cfg(test)]
mod tests;
